package io.collectives.training.evaluation;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.training.Jobs;
import io.collectives.training.TrainingException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class EvaluationTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_124L);
  private static final int CLASSES = 7;
  private static final int EXAMPLES = 203;

  private final float[] scores = new float[EXAMPLES * CLASSES];
  private final int[] labels = new int[EXAMPLES];
  private final float[] losses = new float[EXAMPLES];

  EvaluationTest() {
    Random random = new Random(SEED);
    for (int i = 0; i < scores.length; i++) {
      scores[i] = random.nextInt(20); // With equal ones.
    }
    for (int i = 0; i < EXAMPLES; i++) {
      labels[i] = random.nextInt(CLASSES);
      losses[i] = (float) Math.exp(10 * random.nextGaussian());
    }
  }

  /** Evaluates this rank's share of the examples, padded by what must not be counted. */
  private Pending<Metrics> evaluate(Communicator world, int batchSize, int from) {
    EvenBatches batches = new EvenBatches(EXAMPLES - from, batchSize, world.size(), world.rank());
    Evaluation evaluation = Evaluation.withConfusion(CLASSES, 1, 3, 5);
    for (long step = 0; step < batches.steps(); step++) {
      float[] batchScores = new float[batchSize * CLASSES];
      int[] batchLabels = new int[batchSize];
      float[] batchLosses = new float[batchSize];
      Arrays.fill(batchScores, Float.NaN);
      Arrays.fill(batchLabels, -1);
      Arrays.fill(batchLosses, Float.POSITIVE_INFINITY);
      int first = from + (int) batches.first(step);
      int valid = batches.valid(step);
      System.arraycopy(scores, first * CLASSES, batchScores, 0, valid * CLASSES);
      System.arraycopy(labels, first, batchLabels, 0, valid);
      System.arraycopy(losses, first, batchLosses, 0, valid);
      evaluation.add(batchScores, batchLabels, batchLosses, valid);
    }
    return evaluation.reduceAsync(world);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5})
  void valuesDoNotDependOnTheNumberOfRanks(int ranks) throws Exception {
    long[][] confusion = new long[CLASSES][CLASSES];
    int[] hits = new int[CLASSES + 1];
    double loss = 0;
    for (int n = 0; n < EXAMPLES; n++) {
      Integer[] order = new Integer[CLASSES];
      Arrays.setAll(order, c -> c);
      int at = n * CLASSES;
      Arrays.sort(order, (a, b) -> Float.compare(scores[at + b], scores[at + a]));
      confusion[labels[n]][order[0]]++;
      for (int k = 1; k <= CLASSES; k++) {
        hits[k] += Arrays.asList(order).subList(0, k).contains(labels[n]) ? 1 : 0;
      }
      loss += losses[n];
    }
    double expectedLoss = loss / EXAMPLES;
    Metrics[] alone = new Metrics[1];
    Jobs.run(1, world -> alone[0] = evaluate(world, 50, 0).await());
    Jobs.run(
        ranks,
        world -> {
          for (int batchSize : new int[] {1, 10, 64, 1000}) {
            Metrics metrics = evaluate(world, batchSize, 0).await();
            assertEquals(EXAMPLES, metrics.examples());
            assertEquals(alone[0].meanLoss(), metrics.meanLoss(), "bit by bit");
            assertEquals(expectedLoss, metrics.meanLoss(), 1e-12 * expectedLoss);
            for (int k : new int[] {1, 3, 5}) {
              assertEquals((double) hits[k] / EXAMPLES, metrics.accuracy(k), "top-" + k);
            }
            assertArrayEquals(confusion, metrics.confusion());
            assertThrows(IllegalArgumentException.class, () -> metrics.accuracy(2));
          }
        });
  }

  @Test
  void severalAreUnderWayAtOnce() throws Exception {
    Jobs.run(
        3,
        world -> {
          List<Pending<Metrics>> pending = new ArrayList<>();
          List<Integer> turns = new ArrayList<>();
          for (int i = 0; i < 10; i++) {
            pending.add(evaluate(world, 9, 20 * i));
            turns.add(i);
          }
          Collections.shuffle(turns, new Random(SEED + world.rank()));
          for (int turn : turns) {
            assertEquals(EXAMPLES - 20 * turn, pending.get(turn).await().examples());
            assertTrue(pending.get(turn).isDone());
          }
        });
  }

  @Test
  void whatCannotBeEvaluatedIsTheSameOnAllRanks() throws Exception {
    Jobs.run(
        3,
        world -> {
          Evaluation evaluation = Evaluation.of(2, 1);
          int label = world.rank() == 1 ? 2 : 0;
          evaluation.add(new float[] {1, 0}, new int[] {label}, new float[] {1}, 1);
          TrainingException error =
              assertThrows(TrainingException.class, () -> evaluation.reduce(world));
          assertEquals(
              "1 of 3 labels are no classes: they must be from 0 to 1", error.getMessage());
          // Numbers that are none: the loss is NaN, the label is no hit; and nothing is left over.
          float[] scores = {Float.NaN, 0};
          float[] losses = {world.rank() == 2 ? Float.NaN : 1};
          evaluation.add(scores, new int[] {world.rank() == 0 ? 0 : 1}, losses, 1);
          Metrics metrics = evaluation.reduce(world);
          assertTrue(Double.isNaN(metrics.meanLoss()));
          assertEquals(0, metrics.accuracy(1));
          assertEquals(3, metrics.examples());
          assertTrue(Double.isNaN(evaluation.reduce(world).meanLoss()), "without examples");
          assertThrows(
              IllegalArgumentException.class,
              () -> evaluation.add(new float[3], new int[2], new float[2], 2));
        });
    assertThrows(IllegalArgumentException.class, () -> Evaluation.of(0));
    assertThrows(IllegalArgumentException.class, () -> Evaluation.of(3, 0));
    assertThrows(IllegalArgumentException.class, () -> new EvenBatches(1, 0, 1, 0));
  }

  @Test
  void masksTellPadding() {
    EvenBatches batches = new EvenBatches(10, 4, 2, 1);
    assertEquals(2, batches.steps());
    assertArrayEquals(new float[] {1, 1, 1, 1}, batches.mask(0));
    assertEquals(4, batches.first(0));
    assertArrayEquals(new float[4], batches.mask(1));
    assertArrayEquals(new float[] {1, 1, 0, 0}, new EvenBatches(10, 4, 2, 0).mask(1));
    assertEquals(0, new EvenBatches(0, 4, 2, 0).steps());
  }

  /** Metrics of one evaluation are waited for after the next has begun, and end all ranks alike. */
  @Test
  void trainsAndEvaluates() throws Exception {
    Jobs.run(
        3,
        world -> {
          List<String> events = new ArrayList<>();
          List<TrainAndEvaluate.Point<Metrics>> points =
              TrainAndEvaluate.run(
                  20,
                  3,
                  step -> {
                    events.add("train " + step);
                    world.allReduce(new float[10], ReduceOp.SUM);
                  },
                  step -> {
                    events.add("evaluate " + step);
                    return evaluate(world, 9, (int) step);
                  },
                  metrics -> metrics.examples() <= EXAMPLES - 6);
          // Good after 6 steps, which is known when 9 have been made.
          assertEquals(9, events.stream().filter(event -> event.startsWith("train")).count());
          assertEquals(
              List.of(3L, 6L, 9L), points.stream().map(TrainAndEvaluate.Point::step).toList());
          List<TrainAndEvaluate.Point<Metrics>> all =
              TrainAndEvaluate.run(
                  4, 3, step -> {}, step -> evaluate(world, 9, (int) step), metrics -> false);
          assertEquals(List.of(3L, 4L), all.stream().map(TrainAndEvaluate.Point::step).toList());
          assertEquals(EXAMPLES - 4, all.get(1).metrics().examples());
        });
  }
}
