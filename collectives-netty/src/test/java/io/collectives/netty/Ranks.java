package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.collectives.CallSettings;
import io.collectives.JobSettings;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Link;
import io.collectives.spi.Roster;
import io.collectives.spi.TransportProvider;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Some ranks of a job, all driven by the thread of the test. */
final class Ranks implements AutoCloseable {
  static final CallSettings CALLS = CallSettings.defaults().withFrameLength(64 * 1024);

  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(20);

  private final List<Rank> ranks = new ArrayList<>();

  /** Settings of a rank of a job of two on loopback. */
  static JobSettings settings(int rank) {
    return JobSettings.of(rank, 2, URI.create("tcp://localhost:1"))
        .withListen("127.0.0.1", 0)
        .withJoinTimeout(Duration.ofSeconds(20))
        .withCalls(CALLS);
  }

  /** Opens ranks that all know each other's addresses. */
  static Ranks open(JobSettings... all) {
    return open(addresses -> addresses, all);
  }

  /** Opens ranks that are told other addresses than their own. */
  static Ranks open(UnaryOperator<List<String>> told, JobSettings... all) {
    return open(new TcpTransportProvider(), told, all);
  }

  /** Opens ranks of a transport that are told other addresses than their own. */
  static Ranks open(
      TransportProvider provider, UnaryOperator<List<String>> told, JobSettings... all) {
    List<TransportProvider.Endpoint> endpoints = new ArrayList<>();
    for (JobSettings settings : all) {
      endpoints.add(provider.listen(settings));
    }
    List<String> addresses =
        told.apply(endpoints.stream().map(TransportProvider.Endpoint::address).toList());
    Roster roster = new Roster(JobEpoch.draw(), addresses);
    Ranks opened = new Ranks();
    for (TransportProvider.Endpoint endpoint : endpoints) {
      opened.ranks.add(new Rank((TcpTransport) endpoint.open(roster)));
    }
    return opened;
  }

  Rank get(int index) {
    return ranks.get(index);
  }

  /** Sends a frame from one to the other and waits for it. */
  void exchange(int from, int to) {
    long frames = get(to).frames;
    Rank sender = get(from);
    assertTrue(sender.transport.link(get(to).transport.rank()).trySend(sender.header(), sender));
    pumpUntil(() -> get(to).frames > frames);
  }

  void pump() {
    ranks.forEach(Rank::poll);
  }

  void pumpUntil(BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.getAsBoolean()) {
      pump();
      if (System.nanoTime() - end > 0) {
        fail("waited too long: " + ranks);
      }
    }
  }

  /** A connection to a rank. */
  Socket connect(int index) throws IOException {
    TcpTransport transport = get(index).transport;
    String address = transport.address(transport.rank());
    Socket socket =
        new Socket("127.0.0.1", Integer.parseInt(address.substring(address.indexOf(':') + 1)));
    socket.setSoTimeout(1);
    return socket;
  }

  /** Reads until there are {@code most} bytes or the other end closes, while the ranks poll. */
  byte[] read(Socket socket, int most) throws IOException {
    byte[] read = new byte[most];
    int length = 0;
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (length < most) {
      pump();
      assertTrue(System.nanoTime() - end < 0, "the connection is neither answered nor closed");
      try {
        int more = socket.getInputStream().read(read, length, most - length);
        if (more < 0) {
          break;
        }
        length += more;
      } catch (SocketTimeoutException e) {
        // Nothing yet.
      } catch (IOException e) {
        break; // Closed while it was still sending.
      }
    }
    return Arrays.copyOf(read, length);
  }

  @Override
  public void close() {
    ranks.forEach(rank -> rank.transport.kill());
  }

  /** Counts what arrives; is also the body that it sends, some bytes that are easily found. */
  static final class Rank implements FrameSink, FrameBody {
    static final byte[] CONTENT = "these bytes are easily found, 64".repeat(100).getBytes();

    final TcpTransport transport;
    private final byte[] arriving = new byte[CONTENT.length];
    private int arrived;
    long frames;
    int losses;
    @Nullable Throwable cause;

    Rank(TcpTransport transport) {
      this.transport = transport;
    }

    FrameHeader header() {
      FrameHeader header = new FrameHeader();
      header.length = CONTENT.length;
      return header;
    }

    void poll() {
      transport.poll(this);
    }

    String message() {
      return cause == null ? "nothing" : String.valueOf(cause.getMessage());
    }

    @Override
    public void header(Link link, FrameHeader header) {
      arrived = 0;
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {
      source.bytes().get(at, arriving, arrived, length);
      arrived += length;
      if (arrived == CONTENT.length) {
        frames++;
        assertTrue(Arrays.equals(arriving, CONTENT), "a frame that was damaged on its way");
      }
    }

    @Override
    public void lost(Link link, @Nullable Throwable why) {
      losses++;
      cause = why;
    }

    @Override
    public int length() {
      return CONTENT.length;
    }

    @Override
    public void store(FrameBytes target, int at) {
      ByteBuffer bytes = target.bytes();
      bytes.put(at, CONTENT);
    }

    @Override
    public void release() {}

    @Override
    public String toString() {
      return transport.rank() + ": " + frames + " frames, " + losses + " losses, " + cause;
    }
  }
}
