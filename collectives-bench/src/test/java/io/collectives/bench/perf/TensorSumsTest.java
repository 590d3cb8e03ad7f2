package io.collectives.bench.perf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Baselines that have a protocol of their own. */
class TensorSumsTest {
  private static final Random RANDOM = new Random(Long.getLong("collectives.seed", 20_261_122L));

  @Test
  void tensorsBecomeReadyByTheirLengths() {
    BackwardPass backward =
        new BackwardPass(new int[] {3_599_999, 1}, Duration.ofHours(1).toNanos());
    backward.start();
    backward.awaitTensor(1);
    assertTrue(backward.isReady(1));
    assertFalse(backward.isReady(0));
    BackwardPass none = new BackwardPass(new int[] {5, 5}, 0);
    none.start();
    none.awaitEnd();
    assertTrue(none.isReady(0));
  }

  /** More tensors than an int has bits, which are ready at different times on different ranks. */
  @Test
  void nothingIsSummedBeforeAllRanksHaveIt() {
    int ranks = 3;
    int[] counts = RANDOM.ints(70, 1, 200).toArray();
    try (ThreadRanks job = ThreadRanks.inProcess(ranks, CallSettings.defaults())) {
      List<Long> messages =
          job.all(
              world -> {
                long nanos = world.rank() * Duration.ofMillis(100).toNanos();
                List<Payload> tensors = new ArrayList<>();
                List<float[]> values = new ArrayList<>();
                for (int count : counts) {
                  float[] tensor = new float[count];
                  values.add(tensor);
                  tensors.add(Payload.of(tensor));
                }
                try (NegotiatedSums sums =
                    new NegotiatedSums(
                        world, ReduceOp.SUM, tensors, new BackwardPass(counts, nanos))) {
                  for (int step = 0; step < 2; step++) {
                    for (int i = 0; i < counts.length; i++) {
                      Arrays.fill(values.get(i), 1_000 * step + (world.rank() + 1) * (i + 1));
                    }
                    sums.run();
                    for (int i = 0; i < counts.length; i++) {
                      float[] expected = new float[counts[i]];
                      Arrays.fill(expected, 1_000 * ranks * step + 6 * (i + 1));
                      assertArrayEquals(expected, values.get(i), "tensor " + i + ", step " + step);
                    }
                  }
                  return sums.negotiationMessages();
                }
              });
      // Two messages for each rank but rank 0 in a cycle; a step takes more than one.
      assertTrue(messages.get(0) >= 2 * 2 * 2 * (ranks - 1), messages.toString());
      assertEquals(0, messages.get(0) % (2 * (ranks - 1)));
    }
  }

  @Test
  void aServerWithoutATensorEndsWhenWorkersLeave() {
    try (ThreadRanks job = ThreadRanks.inProcess(4, CallSettings.defaults())) {
      job.all(
          world -> {
            float[] values = {world.rank() + 1};
            List<Payload> tensors = List.of(Payload.of(values));
            BackwardPass backward = new BackwardPass(new int[] {1}, 0);
            try (AtomicSums sums = new AtomicSums(world, 2, ReduceOp.SUM, tensors, backward)) {
              sums.run();
            }
            assertEquals(world.rank() < 2 ? 3 : world.rank() + 1, values[0]);
            return world;
          });
    }
  }

  @Test
  void countersAreSummedWithoutLoopback() {
    HostBytes bytes =
        HostBytes.of(
            List.of(
                "Inter-|   Receive                                                |  Transmit",
                " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets"
                    + " errs drop",
                "    lo: 7000 1 0 0 0 0 0 0 7000 1 0 0 0 0 0 0",
                "  eth0: 100 2 0 0 0 0 0 0 30 4 0 0 0 0 0 0",
                " wlan0:12345678901 2 0 0 0 0 0 0 5 4 0 0 0 0 0 0"));
    assertEquals(new HostBytes(35, 12_345_679_001L), bytes);
  }
}
