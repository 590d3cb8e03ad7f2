package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.AllReduceContractTest;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;

/** All-reduce over Unix-domain sockets, between threads of one JVM that join a job. */
abstract class UnixAllReduce extends AllReduceContractTest {
  @TempDir private Path directory;

  @Override
  protected final List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return UnixJobs.join(ranks, directory, calls);
  }
}
