package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.CollectivesContractTest;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.io.TempDir;

/** Collectives over Unix-domain sockets, between threads of one JVM that join a job. */
abstract class UnixCollectives extends CollectivesContractTest {
  @TempDir private Path directory;

  /** Fewer than in one process, where the plans are the same. */
  static IntStream ranks() {
    return IntStream.of(4);
  }

  @Override
  protected final List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return UnixJobs.join(ranks, directory, calls);
  }
}
