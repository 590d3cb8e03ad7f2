package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.collectives.BufferReduction;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.ps.ParameterServers;
import io.collectives.ps.Roles;
import io.collectives.testkit.Faults;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Servers of three proxies, which pass on what their workers send, while frames are late. */
@Timeout(60)
class ProxiesTest {
  private static final int WORKERS = 5;
  private static final int SERVERS = 2;
  private static final int PROXIES = 3;
  private static final int COUNT = 100_003;
  private static final int CALLS = 4;
  private static final long SEED = Long.getLong("collectives.seed", 20_261_126L);

  /** All contributions to an element meet at one rank, as without proxies. */
  @ParameterizedTest
  @EnumSource(Repeatability.class)
  void proxiesAddInTheOrderOfRanksAndExactly(Repeatability repeatability) throws Exception {
    int ranks = WORKERS + SERVERS * PROXIES;
    Roles roles = Roles.dedicated(ranks, SERVERS, PROXIES);
    float[][] results = new float[WORKERS][];
    Faults.seed(SEED)
        .delays(0.05, Duration.ofMillis(2))
        .run(
            ranks,
            world -> {
              try (ParameterServers servers =
                  ParameterServers.of(world.using(repeatability), roles)) {
                if (!servers.isWorker()) {
                  servers.serve();
                  return;
                }
                try (BufferReduction reduction = servers.reduction()) {
                  for (int call = 0; call < CALLS; call++) {
                    float[] values = values(world.rank());
                    reduction.reduce(call, Payload.of(values), ReduceOp.SUM).await();
                    results[world.rank()] = values;
                  }
                }
              }
            });
    float[] expected = new float[COUNT];
    double[] exact = new double[COUNT];
    for (int rank = 0; rank < WORKERS; rank++) {
      float[] values = values(rank);
      for (int i = 0; i < COUNT; i++) {
        expected[i] = rank == 0 ? values[i] : expected[i] + values[i];
        exact[i] += values[i];
      }
    }
    float near = repeatability.needsAllAtOnce() ? 0 : 1e-5f;
    for (float[] result : results) {
      if (repeatability == Repeatability.EXACT) {
        for (int i = 0; i < COUNT; i++) {
          expected[i] = (float) exact[i];
        }
      }
      assertArrayEquals(expected, result, near, "seed " + SEED);
      if (repeatability != Repeatability.ARRIVAL_ORDER) {
        assertArrayEquals(results[0], result, "seed " + SEED);
      }
    }
  }

  /** Numbers of 24 bits and exponents near each other, so that sums of five in double are exact. */
  private static float[] values(int rank) {
    Random random = new Random(SEED + rank);
    float[] values = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      values[i] = (random.nextFloat() - 0.5f) * (1 + rank);
    }
    return values;
  }
}
