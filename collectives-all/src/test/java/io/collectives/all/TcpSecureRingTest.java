package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.Security;
import io.collectives.TlsFiles;
import io.collectives.testkit.Certificates;
import io.collectives.testkit.FailureContractTest;
import io.collectives.testkit.FreePort;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/**
 * Failures with a secret, TLS and checksums; meets at a port. What else a call does, it does over a
 * link; links are tried with all of these by the contract of transports.
 */
@Tag("once")
@Tag("long")
final class TcpSecureRingTest extends FailureContractTest {
  private static @TempDir Path directory;
  private static @Nullable TlsFiles files;

  /** Makes one certificate that is good for all ranks. */
  @BeforeAll
  static void certify() {
    files =
        new Certificates(directory)
            .certify(
                IntStream.range(0, 16)
                    .mapToObj(rank -> TlsFiles.identity("default", rank))
                    .toArray(String[]::new));
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }

  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    URI place = URI.create("tcp://localhost:" + FreePort.find());
    Security security =
        Security.none()
            .withSecret(JobSecret.of("a secret of the contract test"))
            .withTls(Objects.requireNonNull(files))
            .withChecksums(true);
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<Future<Communicator>> joining = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        JobSettings settings =
            JobSettings.of(rank, ranks, place)
                .withTransport("tcp")
                .withCalls(calls)
                .withSecurity(security);
        joining.add(threads.submit(() -> Collectives.join(settings)));
      }
      List<Communicator> worlds = new ArrayList<>();
      for (Future<Communicator> joined : joining) {
        worlds.add(joined.get(70, TimeUnit.SECONDS));
      }
      return worlds;
    } finally {
      threads.shutdown();
    }
  }
}
