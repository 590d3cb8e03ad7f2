package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.collectives.CallSettings;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Link;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("once")
class PathsLinkTest {
  private static final int LENGTH = PathsLink.WINDOW * PathsLink.SEGMENT_LENGTH * 3 / 2 + 5;

  /** Counts bytes that are where they belong. */
  private static final class Sink implements FrameSink {
    int frames;
    int right;
    int received;

    @Override
    public void header(Link link, FrameHeader header) {
      frames++;
      received = 0;
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {
      for (int i = 0; i < length; i++) {
        right += source.bytes().get(at + i) == value(received + i) ? 1 : 0;
      }
      received += length;
    }

    @Override
    public void lost(Link link, @Nullable Throwable cause) {
      throw new AssertionError(cause);
    }
  }

  private static byte value(int at) {
    return (byte) (at * 31 + at / PathsLink.SEGMENT_LENGTH);
  }

  private static final FrameBody BODY =
      new FrameBody() {
        @Override
        public int length() {
          return LENGTH;
        }

        @Override
        public void store(FrameBytes target, int at) {
          for (int i = 0; i < LENGTH; i++) {
            target.bytes().put(at + i, value(i));
          }
        }

        @Override
        public void release() {}
      };

  @Test
  void framesMayBeLongerThanTheWindow() {
    CallSettings calls = CallSettings.defaults().withFrameLength(16 << 20);
    List<TransportProvider.Endpoint> endpoints =
        IntStream.range(0, 2)
            .mapToObj(
                rank ->
                    new TcpTransportProvider()
                        .listen(TcpJob.settings(rank, 2, "127.0.0.1", calls).withPaths(2)))
            .toList();
    Roster roster =
        new Roster(
            JobEpoch.draw(), endpoints.stream().map(TransportProvider.Endpoint::address).toList());
    Sink sink = new Sink();
    try (Transport sender = endpoints.get(0).open(roster);
        Transport receiver = endpoints.get(1).open(roster)) {
      Link link = sender.link(1);
      receiver.link(0);
      FrameHeader header = new FrameHeader();
      header.length = LENGTH;
      assertTimeoutPreemptively(
          Duration.ofSeconds(30),
          () -> {
            int sent = 0;
            while (sink.frames < 2 || sink.received < LENGTH) {
              sent += sent < 2 && link.trySend(header, BODY) ? 1 : 0;
              sender.poll(new Sink());
              receiver.poll(sink);
            }
          });
    }
    assertEquals(2 * LENGTH, sink.right);
  }
}
