package io.collectives.testkit;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Link;

/**
 * A link that does what another one does, for tests that change some of it. May be used by the
 * threads that may use the other one.
 */
public abstract class ForwardingLink implements Link {
  /** The link to which this one forwards, except in methods that a subclass overrides. */
  protected final Link inner;

  /** Forwards to {@code inner}. */
  protected ForwardingLink(Link inner) {
    this.inner = inner;
  }

  @Override
  public int peer() {
    return inner.peer();
  }

  @Override
  public boolean trySend(FrameHeader header, FrameBody body) {
    return inner.trySend(header, body);
  }
}
