package io.collectives.engine.run;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import io.collectives.testkit.ForwardingLink;
import io.collectives.testkit.ForwardingTransport;
import org.jspecify.annotations.Nullable;

/** Counts the bytes of the bodies that a rank sends in frames. Has all that the other one has. */
final class CountingTransport extends ForwardingTransport {
  private final long[] sent;

  CountingTransport(Transport inner) {
    super(inner);
    sent = new long[inner.size()];
  }

  long sentTo(int peer) {
    return sent[peer];
  }

  @Override
  public <C> @Nullable C capability(Class<C> kind) {
    return inner.capability(kind);
  }

  @Override
  public Link link(int peer) {
    return new ForwardingLink(inner.link(peer)) {
      @Override
      public boolean trySend(FrameHeader header, FrameBody body) {
        int length = header.length;
        boolean taken = inner.trySend(header, body);
        sent[peer] += taken ? length : 0;
        return taken;
      }
    };
  }
}
