package io.collectives.bench.perf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.collectives.CallSettings;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class CaseRunTest {
  @Test
  void everyIterationTakesAsLongAsItsSlowestRank() throws Exception {
    try (ThreadRanks job = ThreadRanks.inProcess(3, CallSettings.defaults())) {
      for (int iterations : new int[] {1, 1_000, 1_001, 2_500}) {
        job.all(
            world -> {
              long[] nanos =
                  LongStream.range(0, iterations)
                      .map(i -> i % world.size() == world.rank() ? 1_000 + i : i)
                      .toArray();
              CaseRun.combine(world, nanos);
              assertArrayEquals(
                  LongStream.range(0, iterations).map(i -> 1_000 + i).toArray(), nanos);
              return world.rank();
            });
      }
    }
  }
}
