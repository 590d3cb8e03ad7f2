package io.collectives.testkit;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import java.nio.ByteBuffer;

/**
 * A sink that copies what comes as a view, so that the other one gets bytes only, as from a
 * transport that shares no memory: then any body may be sent, not only those of an engine.
 */
public class CopyingSink extends ForwardingSink {
  private FrameBytes copy = new FrameBytes(ByteBuffer.allocate(0));

  /** Forwards to {@code inner}. */
  public CopyingSink(FrameSink inner) {
    super(inner);
  }

  @Override
  public void view(Link link, FrameBody source) {
    int length = source.length();
    if (copy.bytes().capacity() < length) {
      copy = new FrameBytes(ByteBuffer.allocate(length));
    }
    source.store(copy, 0);
    source.release();
    bytes(link, copy, 0, length);
  }
}
