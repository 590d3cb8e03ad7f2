package io.collectives.netty;

import io.collectives.CallSettings;
import io.collectives.JobSecret;
import io.collectives.Security;
import io.collectives.TlsFiles;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import io.collectives.testkit.Certificates;
import io.collectives.testkit.TransportContractTest;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The contract of transports over several connections for each pair, with each kind of security.
 */
@Tag("once")
@Execution(ExecutionMode.CONCURRENT)
class PathsTransportContractTest {
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
    private final int paths;

    Contract(SocketKind kind, int paths) {
      this.kind = kind;
      this.paths = paths;
    }

    @Override
    protected List<Transport> open(int ranks, CallSettings calls) {
      TransportProvider provider = new TcpTransportProvider(kind, 2);
      List<TransportProvider.Endpoint> endpoints = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        endpoints.add(
            provider.listen(
                TcpJob.settings(rank, ranks, "127.0.0.1", calls)
                    .withPaths(paths)
                    .withSecurity(security())));
      }
      Roster roster =
          new Roster(
              JobEpoch.draw(),
              endpoints.stream().map(TransportProvider.Endpoint::address).toList());
      return endpoints.stream().map(endpoint -> endpoint.open(roster)).toList();
    }

    Security security() {
      return Security.none();
    }

    @Override
    protected void kill(Transport transport) {
      ((PathsTransport) transport).kill();
    }
  }

  @Nested
  class Two extends Contract {
    Two() {
      super(SocketKind.best(), 2);
    }
  }

  @Nested
  @Tag("long")
  class ThreeOfNio extends Contract {
    ThreeOfNio() {
      super(SocketKind.NIO, 3);
    }
  }

  @Nested
  @Tag("long") // Each path is a transport that passes with them.
  class WithSecretAndChecksums extends Contract {
    WithSecretAndChecksums() {
      super(SocketKind.best(), 2);
    }

    @Override
    Security security() {
      return Security.none()
          .withSecret(JobSecret.of("a secret of the contract test"))
          .withChecksums(true);
    }
  }

  @Nested
  @Tag("long")
  class WithTls extends Contract {
    WithTls() {
      super(SocketKind.best(), 2);
    }

    @Override
    Security security() {
      return Security.none().withTls(Objects.requireNonNull(files));
    }
  }
}
