package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.CallSettings;
import io.collectives.JobSecret;
import io.collectives.Security;
import io.collectives.TlsFiles;
import io.collectives.spi.Transport;
import io.collectives.testkit.Certificates;
import io.collectives.testkit.TransportContractTest;
import io.netty.channel.epoll.Epoll;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The contract of transports, for each kind of socket and address, and each kind of security; not
 * each with each. Two slots, so that queues are full soon.
 */
@Execution(ExecutionMode.CONCURRENT)
class TcpTransportContractTest {
  // Of all nested classes, which run side by side: one of them would delete its own too early.
  private static @TempDir Path certificates;
  private static @Nullable TlsFiles files;

  @BeforeAll
  static void certify() {
    files =
        new Certificates(certificates)
            .certify(
                IntStream.range(0, 8)
                    .mapToObj(rank -> TlsFiles.identity("default", rank))
                    .toArray(String[]::new));
  }

  abstract static class Contract extends TransportContractTest {
    private final SocketKind kind;
    private @TempDir Path directory;
    private final String host;
    private final List<TcpTransport> opened = new ArrayList<>();

    Contract(SocketKind kind, String host) {
      this.kind = kind;
      this.host = host;
    }

    @Override
    protected List<Transport> open(int ranks, CallSettings calls) {
      Assumptions.assumeTrue(!kind.isNative() || Epoll.isAvailable(), "epoll is for Linux");
      Assumptions.assumeTrue(canListen(host), host + " is no address of this host");
      String place = kind.isUnix() ? directory.toString() : host;
      List<TcpTransport> job = TcpJob.open(kind, 2, place, ranks, calls, security());
      opened.addAll(job);
      return List.copyOf(job);
    }

    Security security() {
      return Security.none();
    }

    @Override
    protected void kill(Transport transport) {
      ((TcpTransport) transport).kill();
    }

    @Override
    @AfterEach
    protected void closeAll() {
      super.closeAll();
      for (TcpTransport transport : opened) {
        assertEquals(
            0, transport.directMemoryLength(), "direct memory left by rank " + transport.rank());
      }
      assertNothingIsLeft();
    }

    /** Asserts that nothing is left: ranks that live clean up after those that were killed. */
    private void assertNothingIsLeft() {
      try (Stream<Path> left = Files.list(directory)) {
        assertEquals(List.of(), left.toList());
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    private static boolean canListen(String host) {
      try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName(host))) {
        return socket.isBound();
      } catch (IOException e) {
        return false;
      }
    }
  }

  @Nested
  @Tag("long")
  class EpollIpv4 extends Contract {
    EpollIpv4() {
      super(SocketKind.EPOLL, "127.0.0.1");
    }
  }

  @Nested
  @Tag("long")
  class EpollIpv6 extends Contract {
    EpollIpv6() {
      super(SocketKind.EPOLL, "::1");
    }
  }

  @Nested
  @Tag("long")
  class NioIpv4 extends Contract {
    NioIpv4() {
      super(SocketKind.NIO, "127.0.0.1");
    }
  }

  @Nested
  @Tag("long")
  class NioIpv6 extends Contract {
    NioIpv6() {
      super(SocketKind.NIO, "::1");
    }
  }

  @Nested
  class EpollUnix extends Contract {
    EpollUnix() {
      super(SocketKind.EPOLL_UNIX, "127.0.0.1");
    }
  }

  @Nested
  class NioUnix extends Contract {
    NioUnix() {
      super(SocketKind.NIO_UNIX, "127.0.0.1");
    }
  }

  @Nested
  class WithSecretAndChecksums extends Contract {
    WithSecretAndChecksums() {
      super(SocketKind.best(), "127.0.0.1");
    }

    @Override
    Security security() {
      return Security.none()
          .withSecret(JobSecret.of("a secret of the contract test"))
          .withChecksums(true);
    }
  }

  /** All ranks show the same certificate, which is good for each of them. */
  abstract static class TlsContract extends Contract {
    TlsContract(SocketKind kind) {
      super(kind, "127.0.0.1");
    }

    @Override
    Security security() {
      return Security.none().withTls(Objects.requireNonNull(files));
    }
  }

  @Nested
  class BestTls extends TlsContract {
    BestTls() {
      super(SocketKind.best());
    }

    @Override
    Security security() {
      return super.security().withSecret(JobSecret.of("a secret of the contract test"));
    }
  }

  @Nested
  @Tag("long")
  class NioUnixTls extends TlsContract {
    NioUnixTls() {
      super(SocketKind.NIO_UNIX);
    }
  }
}
