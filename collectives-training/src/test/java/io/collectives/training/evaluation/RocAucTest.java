package io.collectives.training.evaluation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.training.Jobs;
import io.collectives.training.TrainingException;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class RocAucTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_124L);

  /** All pairs, one by one. */
  private static double area(float[] scores, boolean[] positives) {
    long twice = 0;
    long pairs = 0;
    for (int i = 0; i < scores.length; i++) {
      for (int j = 0; j < scores.length; j++) {
        if (positives[i] && !positives[j]) {
          pairs++;
          twice += scores[i] > scores[j] ? 2 : scores[i] == scores[j] ? 1 : 0;
        }
      }
    }
    return twice / (2.0 * pairs);
  }

  /** A rank's share: the more the higher it is, none for rank 1. */
  private static int from(int count, int rank, int ranks) {
    if (rank == 2) {
      return from(count, 1, ranks);
    }
    return (int) ((long) count * rank * rank / (ranks * ranks));
  }

  private static float score(Random random, int kind) {
    return switch (kind) {
      case 0 -> (float) random.nextGaussian();
      case 1 -> random.nextInt(5) - 2;
      case 2 -> 7;
      case 3 -> Float.intBitsToFloat(random.nextInt() & ~0x40000000) * (random.nextInt(3) - 1);
      default -> random.nextInt(4) == 0 ? Float.NEGATIVE_INFINITY : Float.POSITIVE_INFINITY;
    };
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 8})
  void countsAllPairs(int ranks) throws Exception {
    for (int kind = 0; kind < 5; kind++) {
      for (int count : new int[] {2, 10, 700}) {
        Random random = new Random(SEED + 10 * kind + count);
        float[] scores = new float[count];
        boolean[] positives = new boolean[count];
        for (int i = 0; i < count; i++) {
          scores[i] = score(random, kind);
          positives[i] = i == 0 || i > 1 && random.nextInt(3) == 0;
        }
        double expected = area(scores, positives);
        String message = "kind " + kind + ", " + count + " scores";
        Jobs.run(
            ranks,
            world -> {
              int from = world.rank() == 0 ? 0 : from(count, world.rank(), ranks);
              int to = world.rank() + 1 == ranks ? count : from(count, world.rank() + 1, ranks);
              float[] mine = Arrays.copyOfRange(scores, from, to + 3); // And what is none.
              boolean[] which = Arrays.copyOfRange(positives, from, to + 3);
              Pending<Double> later = RocAuc.exactAsync(world, mine, which, to - from);
              assertEquals(expected, RocAuc.exact(world, mine, which, to - from), message);
              assertEquals(expected, later.await(), message);
              for (int bins : new int[] {1, 7, 1000}) {
                ScoreHistogram histogram = ScoreHistogram.of(-2, 2, bins);
                histogram.add(mine, which, to - from);
                ScoreHistogram.Area area = histogram.reduceAsync(world).await();
                assertEquals(expected, area.value(), area.bound() + 1e-15, message);
                assertTrue(area.bound() <= 0.5);
              }
            });
      }
    }
  }

  /** A million scores, which no rank has most of after the exchange. */
  @Test
  void manyScoresAreOrderedByAllRanks() throws Exception {
    int count = 1_000_000;
    double[] areas = new double[5];
    for (int ranks : new int[] {1, 4}) {
      Jobs.run(
          ranks,
          CallSettings.defaults(),
          world -> {
            float[] scores = new float[count / ranks];
            boolean[] positives = new boolean[count / ranks];
            for (int i = 0; i < scores.length; i++) {
              Random random = new Random(world.rank() * (count / ranks) + i + SEED);
              positives[i] = random.nextBoolean();
              scores[i] = (float) (random.nextGaussian() + (positives[i] ? 1 : 0));
            }
            double area = RocAuc.exact(world, scores, positives, scores.length);
            areas[ranks] = area;
            ScoreHistogram histogram = ScoreHistogram.of(-4, 5, 1 << 12);
            histogram.add(scores, positives, scores.length);
            ScoreHistogram.Area binned = histogram.reduceAsync(world).await();
            assertEquals(area, binned.value(), binned.bound());
            assertTrue(binned.bound() < 1e-3);
          });
    }
    assertEquals(areas[1], areas[4], "bit by bit");
    assertEquals(0.7602, areas[1], 0.002); // Phi(1 / sqrt(2))
  }

  @Test
  void whatHasNoAreaIsTheSameOnAllRanks() throws Exception {
    Jobs.run(
        3,
        world -> {
          boolean[] none = new boolean[2];
          assertTrue(Double.isNaN(RocAuc.exact(world, new float[2], none, 2)));
          assertTrue(Double.isNaN(RocAuc.exact(world, new float[0], none, 0)));
          float[] scores = {1, world.rank() == 1 ? Float.NaN : 2};
          TrainingException error =
              assertThrows(TrainingException.class, () -> exact(world, scores, none));
          assertEquals("1 of 6 scores are not numbers, and have no order", error.getMessage());
          assertThrows(
              TrainingException.class, () -> RocAuc.exactAsync(world, scores, none, 2).await());
          ScoreHistogram histogram = ScoreHistogram.of(0, 1, 4);
          histogram.add(scores, none, 2);
          assertThrows(TrainingException.class, () -> histogram.reduceAsync(world).await());
          assertThrows(IllegalArgumentException.class, () -> RocAuc.exact(world, scores, none, 3));
          assertThrows(IllegalArgumentException.class, () -> ScoreHistogram.of(1, 1, 4));
        });
  }

  private static double exact(Communicator world, float[] scores, boolean[] positives) {
    return RocAuc.exact(world, scores, positives, scores.length);
  }
}
