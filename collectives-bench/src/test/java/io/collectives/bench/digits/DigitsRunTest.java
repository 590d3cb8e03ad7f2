package io.collectives.bench.digits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Mesh;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.bench.digits.DigitsTask.Rule;
import io.collectives.bench.digits.DigitsTask.Update;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.ps.store.Staleness;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("once")
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class DigitsRunTest {
  private static final DigitsTask.Layout WHOLE = DigitsTask.Layout.whole(4);

  private static DigitsTask task(Update update, Rule rule, String algorithm, int epochs) {
    return new DigitsTask(
        new DigitsTask.Distribution(
            update, update == Update.SERVERS ? 1 : 0, Staleness.synchronous()),
        rule,
        DigitsTask.Reduction.of(
            new AlgorithmChoice(algorithm), WireType.AS_IN_MEMORY, Repeatability.RANK_ORDER),
        new DigitsTask.Schedule(epochs, 64, 1, 0),
        WHOLE,
        DigitsTask.Trouble.none(),
        1);
  }

  private static DigitsTask task(
      Update update, DigitsTask.Reduction reduction, DigitsTask.Layout layout, int epochs) {
    DigitsTask task = task(update, Rule.LAMB, "auto", epochs);
    return in(
        layout,
        new DigitsTask(
            task.distribution(),
            task.rule(),
            reduction,
            task.schedule(),
            task.layout(),
            task.trouble(),
            task.seed()));
  }

  private static DigitsTask in(DigitsTask.Layout layout, DigitsTask task) {
    return new DigitsTask(
        task.distribution(),
        task.rule(),
        task.reduction(),
        task.schedule(),
        layout,
        task.trouble(),
        task.seed());
  }

  private static DigitsTask.Reduction int8(boolean feedsBack) {
    return new DigitsTask.Reduction(
        new AlgorithmChoice("direct"),
        WireType.INT8,
        Repeatability.FASTEST,
        feedsBack,
        false,
        DigitsTask.Reduction.BUFFER_LENGTH);
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
                epoch -> {
                  DigitsResult result = epoch.result();
                  bits[world.rank()][result.epoch() - 1] = result.bits();
                  if (world.rank() == 0) {
                    results.add(result);
                  }
                }));
    assertEquals(task.schedule().epochs(), results.size());
    // Out of step, workers have weights of different times.
    int alike =
        task.distribution().staleness().isSynchronous() ? ranks - task.distribution().servers() : 0;
    for (int rank = 1; rank < alike; rank++) {
      for (DigitsResult result : results) {
        assertEquals(result.bits(), bits[rank][result.epoch() - 1], "rank " + rank);
      }
    }
    return results;
  }

  @ParameterizedTest
  @Tag("once")
  @Tag("long")
  @CsvSource({
    "SHARDED,LAMB,4,synchronous",
    "SHARDED,LARS,4,synchronous",
    "ALLREDUCE,MOMENTUM,2,synchronous",
    "SERVERS,ADAM,3,synchronous",
    "SERVERS,MOMENTUM,3,bounded:2"
  })
  void digitsAreLearnt(Update update, Rule rule, int ranks, String staleness) {
    DigitsTask task = task(update, rule, "auto", 12);
    DigitsTask stale =
        new DigitsTask(
            new DigitsTask.Distribution(
                update, task.distribution().servers(), Staleness.parse(staleness)),
            rule,
            task.reduction(),
            task.schedule(),
            task.layout(),
            task.trouble(),
            task.seed());
    List<DigitsResult> results = run(ranks, stale);
    double accuracy = results.get(11).accuracy();
    assertTrue(accuracy >= 0.97, "accuracy " + accuracy);
  }

  /** Also where sums are added in another order: within rounding, which grows by the step. */
  @Test
  @Tag("once")
  @Tag("long")
  void allAlgorithmsHaveTheSameCurve() {
    List<DigitsResult> expected = run(4, task(Update.ALLREDUCE, Rule.MOMENTUM, "direct", 2));
    for (PlanChoice choice : PlanChoice.all()) {
      DigitsTask.Reduction reduction =
          DigitsTask.Reduction.of(
              new AlgorithmChoice(choice.text()), WireType.AS_IN_MEMORY, Repeatability.FASTEST);
      DigitsTask task = task(Update.ALLREDUCE, Rule.MOMENTUM, "auto", 2);
      List<DigitsResult> results =
          run(
              4,
              new DigitsTask(
                  task.distribution(),
                  task.rule(),
                  reduction,
                  task.schedule(),
                  task.layout(),
                  task.trouble(),
                  task.seed()));
      for (int epoch = 0; epoch < 2; epoch++) {
        double loss = expected.get(epoch).loss();
        assertEquals(loss, results.get(epoch).loss(), 0.05 * loss, choice.text());
      }
    }
  }

  /**
   * Whatever the algorithm, and whether each rank updates all or a shard; and neither when
   * gradients are reduced, nor how many together, nor a slow rank changes a bit.
   */
  @Test
  void inTheOrderOfRanksAllCurvesAreOne() {
    List<DigitsResult> expected = run(4, task(Update.ALLREDUCE, Rule.LAMB, "direct", 1));
    assertEquals(
        expected, run(4, disturbed(task(Update.ALLREDUCE, Rule.LAMB, "parameter-server:2", 1))));
    assertEquals(expected, run(4, disturbed(task(Update.SHARDED, Rule.LAMB, "auto", 1))));
  }

  /** Gradients are reduced one by one, as soon as they are there, and a rank is slow. */
  private static DigitsTask disturbed(DigitsTask plain) {
    DigitsTask.Reduction reduction = plain.reduction();
    return new DigitsTask(
        plain.distribution(),
        plain.rule(),
        new DigitsTask.Reduction(
            reduction.algorithm(), reduction.wireType(), reduction.repeatability(), true, true, 1),
        plain.schedule(),
        plain.layout(),
        new DigitsTask.Trouble(Optional.empty(), Optional.of(new DigitsTask.Slow(1, 2))),
        plain.seed());
  }

  /** A process with the whole batches has the same curve, within the rounding of sums. */
  @Test
  @Tag("long") // Tiles of images and the batches of ranks have the same curve, too.
  void oneProcessHasTheSameCurve() {
    DigitsResult one = run(1, task(Update.SHARDED, Rule.MOMENTUM, "auto", 1)).get(0);
    DigitsResult four = run(4, task(Update.SHARDED, Rule.MOMENTUM, "auto", 1)).get(0);
    assertEquals(one.loss(), four.loss(), 0.1 * one.loss());
  }

  /**
   * A process with the whole batches, in as many parts as there were ranks, has the curve of the
   * ranks to the last bit, where each part is normalised by itself.
   */
  @Test
  @Tag("once")
  void oneProcessWithTheRanksBatchesHasTheirBits() {
    DigitsTask four =
        task(
            Update.SHARDED,
            task(Update.SHARDED, Rule.LAMB, "auto", 1).reduction(),
            DigitsTask.Layout.whole(1),
            1);
    DigitsTask one =
        new DigitsTask(
            four.distribution(),
            four.rule(),
            four.reduction(),
            new DigitsTask.Schedule(1, 64, 4, 0),
            four.layout(),
            four.trouble(),
            four.seed());
    assertEquals(bits(run(4, four)), bits(run(1, one)));
  }

  private static List<Long> bits(List<DigitsResult> results) {
    return results.stream().map(DigitsResult::bits).toList();
  }

  /**
   * The loss is that of whole images, within rounding: of the first steps, before errors grow, by a
   * rule that, unlike LAMB, goes by the scale of gradients.
   */
  @Test
  @Tag("once")
  @Tag("long") // TiledLayersTest compares a network on tiles with that on whole images.
  void tilesOfImagesHaveTheCurveOfWholeOnes() {
    DigitsTask task = task(Update.SHARDED, Rule.MOMENTUM, "auto", 1);
    List<DigitsResult> whole = run(2, task);
    DigitsTask.Layout halves = new DigitsTask.Layout(4, new Mesh(2, 1, false, false));
    List<DigitsResult> tiles = run(4, in(halves, task));
    assertEquals(whole.get(0).loss(), tiles.get(0).loss(), 0.01 * whole.get(0).loss());
    assertEquals(whole.get(0).accuracy(), tiles.get(0).accuracy(), 0.01);
  }

  @Test
  @Tag("once")
  @Tag("long")
  void digitsAreLearntInTiles() {
    DigitsTask.Reduction reduction = task(Update.SHARDED, Rule.LAMB, "auto", 1).reduction();
    DigitsTask.Layout quarters = new DigitsTask.Layout(4, new Mesh(2, 2, false, false));
    List<DigitsResult> results = run(4, task(Update.SHARDED, reduction, quarters, 12));
    assertTrue(results.get(11).accuracy() >= 0.97, "accuracy " + results.get(11).accuracy());
  }

  /** Also with int8 gradients; without error feedback the curve is another one. */
  @Test
  @Tag("once")
  @Tag("long")
  void digitsAreLearntByNarrowGradients() {
    List<DigitsResult> with = run(4, task(Update.ALLREDUCE, int8(true), WHOLE, 12));
    List<DigitsResult> without = run(4, task(Update.ALLREDUCE, int8(false), WHOLE, 1));
    List<DigitsResult> sharded = run(4, task(Update.SHARDED, int8(true), WHOLE, 12));
    assertNotEquals(with.get(0).bits(), without.get(0).bits());
    assertTrue(with.get(11).accuracy() >= 0.97, "accuracy " + with.get(11).accuracy());
    assertTrue(sharded.get(11).accuracy() >= 0.97, "accuracy " + sharded.get(11).accuracy());
  }
}
