package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.CollectivesContractTest;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.io.TempDir;

/** Collectives over shared memory, between threads of one JVM that join a job. */
abstract class SharedMemoryCollectives extends CollectivesContractTest {
  @TempDir private Path directory;

  /** Fewer than in one process, where the plans are the same. */
  static IntStream ranks() {
    return IntStream.of(4);
  }

  @Override
  protected final List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return SharedMemoryJobs.join(ranks, directory, calls);
  }
}
