package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.JobSecret;
import io.collectives.Security;
import io.collectives.TlsFiles;
import io.collectives.testkit.AllReduceContractTest;
import io.collectives.testkit.Certificates;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** With TLS, which shared memory does not have: over Unix-domain sockets and TCP at once. */
final class MixedSecureDirectTest extends AllReduceContractTest {
  private static @TempDir Path directory;
  private static @Nullable TlsFiles files;

  /** One certificate that is good for all ranks. */
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
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    Security security =
        Security.none()
            .withSecret(JobSecret.of("a secret of the contract test"))
            .withTls(Objects.requireNonNull(files));
    return MixedJobs.join(ranks, directory, calls, job -> job.withSecurity(security));
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }
}
