package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.AllReduceContractTest;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** Over shared memory and TCP at once. */
@Tag("once")
final class MixedRingTest extends AllReduceContractTest {
  @TempDir private Path directory;

  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return MixedJobs.join(ranks, directory, calls);
  }

  static IntStream ranks() {
    return fewRanks();
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }
}
