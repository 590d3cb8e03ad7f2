package io.collectives.testkit;

import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import org.jspecify.annotations.Nullable;

/**
 * A sink that gives all that it gets to another one, for tests that change some of it. Used by the
 * thread that polls.
 */
public abstract class ForwardingSink implements FrameSink {
  /** The sink to which this one forwards, except in methods that a subclass overrides. */
  protected final FrameSink inner;

  /** Forwards to {@code inner}. */
  protected ForwardingSink(FrameSink inner) {
    this.inner = inner;
  }

  @Override
  public void header(Link link, FrameHeader header) {
    inner.header(link, header);
  }

  @Override
  public void bytes(Link link, FrameBytes source, int at, int length) {
    inner.bytes(link, source, at, length);
  }

  @Override
  public void lost(Link link, @Nullable Throwable cause) {
    inner.lost(link, cause);
  }
}
