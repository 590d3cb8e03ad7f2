package io.collectives.bench.digits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.bench.digits.DigitsTask.Rule;
import io.collectives.bench.digits.DigitsTask.Update;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.ps.store.Staleness;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class DigitsRunTest {
  private static DigitsTask task(Update update, Rule rule, String algorithm, int epochs) {
    return new DigitsTask(
        new DigitsTask.Distribution(
            update, update == Update.SERVERS ? 1 : 0, Staleness.synchronous()),
        rule,
        new DigitsTask.Reduction(
            new AlgorithmChoice(algorithm), WireType.AS_IN_MEMORY, Repeatability.RANK_ORDER),
        new DigitsTask.Schedule(epochs, 64, 0),
        4,
        1);
  }

  private static List<DigitsResult> run(int ranks, DigitsTask task) {
    List<DigitsResult> results = new ArrayList<>();
    long[][] bits = new long[ranks][task.schedule().epochs()];
    Collectives.inThreads(
        ranks,
        world ->
            DigitsRun.run(
                world,
                task,
                result -> {
                  bits[world.rank()][result.epoch() - 1] = result.bits();
                  if (world.rank() == 0) {
                    results.add(result);
                  }
                }));
    assertEquals(task.schedule().epochs(), results.size());
    for (int rank = 1; rank < ranks - task.distribution().servers(); rank++) {
      for (DigitsResult result : results) {
        assertEquals(result.bits(), bits[rank][result.epoch() - 1], "rank " + rank);
      }
    }
    return results;
  }

  @ParameterizedTest
  @Tag("once")
  @Tag("long")
  @CsvSource({"SHARDED,LAMB,4", "SHARDED,LARS,4", "ALLREDUCE,MOMENTUM,2", "SERVERS,ADAM,3"})
  void digitsAreLearnt(Update update, Rule rule, int ranks) {
    List<DigitsResult> results = run(ranks, task(update, rule, "auto", 6));
    double accuracy = results.get(5).accuracy();
    assertTrue(accuracy >= 0.95, "accuracy " + accuracy);
  }

  /** Whatever the algorithm, and whether each rank updates all or a shard. */
  @Test
  void inTheOrderOfRanksAllCurvesAreOne() {
    for (Rule rule : List.of(Rule.MOMENTUM, Rule.LAMB)) {
      List<DigitsResult> expected = run(4, task(Update.ALLREDUCE, rule, "direct", 1));
      assertEquals(expected, run(4, task(Update.SHARDED, rule, "exchange", 1)));
      assertEquals(expected, run(4, task(Update.SHARDED, rule, "auto", 1)));
      assertEquals(expected, run(4, task(Update.ALLREDUCE, rule, "parameter-server:2", 1)));
    }
  }

  /** A process with the whole batches has the same curve, within the rounding of sums. */
  @Test
  void oneProcessHasTheSameCurve() {
    List<DigitsResult> one = run(1, task(Update.SHARDED, Rule.MOMENTUM, "auto", 3));
    List<DigitsResult> four = run(4, task(Update.SHARDED, Rule.MOMENTUM, "auto", 3));
    for (int epoch = 0; epoch < 3; epoch++) {
      assertEquals(one.get(epoch).loss(), four.get(epoch).loss(), 0.1 * one.get(epoch).loss());
    }
  }
}
