package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.FusionSettings;
import io.collectives.bench.simulate.StepModel.Backward;
import io.collectives.bench.simulate.StepModel.Compute;
import io.collectives.bench.simulate.StepModel.Fusion;
import io.collectives.bench.simulate.StepModel.Means;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StepModelTest {
  private static final Means PLAIN = new Means(Fusion.EACH, false, false, 0);
  private static final Means OVERLAP = new Means(Fusion.EACH, true, false, 0);
  private static final Means SHARDS = new Means(Fusion.ONE, true, true, 0);
  private static final double NEAR = 1e-6;

  private static CallPrices prices(int ranks, double alphaNanos, double nanosPerByte) {
    Fabric fabric =
        new Fabric(new Wire(alphaNanos, nanosPerByte), List.of(), Optional.empty(), Hosts.NONE);
    return new CallPrices(List.of("ring"), Size.of(ranks), fabric, CallPrices.Software.NONE);
  }

  /** Of two tensors that are ready after 600 and 1,000 ns. */
  private static Compute twoTensors() {
    Backward backward =
        new Backward(ElementType.FLOAT32, new long[] {1000, 2000}, new double[] {600, 1000}, 1000);
    return new Compute(backward, 300, 500, 0, 1);
  }

  private static double nanos(Compute compute, CallPrices prices, Means means) {
    return new StepModel(compute, prices).step(means).nanos();
  }

  @Test
  void oneRankOnlyComputes() {
    for (Means means : List.of(PLAIN, OVERLAP, SHARDS)) {
      Step step = new StepModel(twoTensors(), prices(1, 100, 1)).step(means);
      assertEquals(1800, step.nanos(), NEAR);
      assertEquals(List.of(), step.calls());
    }
  }

  /** With latencies of 100 ns a ring of two takes 200 for an all-reduce, 100 for half of one. */
  @Test
  void eachMeansTakesFromTheStepWhatItShould() {
    CallPrices prices = prices(2, 100, 0);
    assertEquals(1800 + 2 * 200, nanos(twoTensors(), prices, PLAIN), NEAR);
    // The first call is done before the second tensor is ready.
    assertEquals(1800 + 200, nanos(twoTensors(), prices, OVERLAP), NEAR);
    // A reduce-scatter, a small call for norms, half of the update, an all-gather of weights.
    assertEquals(1300 + 100 + 200 + 250 + 100, nanos(twoTensors(), prices, SHARDS), NEAR);
  }

  /** Of two calls under way at once bytes pass one after the other, and latencies together. */
  @Test
  void lanesShareLinks() {
    Backward backward =
        new Backward(ElementType.FLOAT32, new long[] {1000, 2000}, new double[] {0, 0}, 0);
    Compute compute = new Compute(backward, 0, 0, 0, 0);
    CallPrices prices = prices(2, 100, 0.5);
    // 4,000 bytes each way take 2,000 ns in two halves, and 8,000 take 4,000.
    assertEquals(2200 + 4200, nanos(compute, prices, PLAIN), NEAR);
    Step two = new StepModel(compute, prices).step(lanes(2));
    assertEquals(2000 + 4000 + 200, two.nanos(), NEAR);
    assertEquals(2200, two.calls().get(0).end(), NEAR);
    // Of three calls the third waits for a lane, if there are two.
    Backward ready = new Backward(ElementType.FLOAT32, new long[] {1, 1, 1}, new double[3], 0);
    Compute three = new Compute(ready, 0, 0, 0, 0);
    CallPrices latencies = prices(2, 100, 0);
    assertEquals(600, nanos(three, latencies, lanes(1)), NEAR);
    assertEquals(400, nanos(three, latencies, lanes(2)), NEAR);
    assertEquals(200, nanos(three, latencies, lanes(3)), NEAR);
  }

  private static Means lanes(int lanes) {
    return new Means(new Fusion(1, 1, false, lanes), true, false, 0);
  }

  /** If computing stands still during calls, the first one delays the second tensor. */
  @Test
  void contentionDelaysWhatIsNotReady() {
    CallPrices prices = prices(2, 100, 0);
    Means half = new Means(Fusion.EACH, true, false, 0.5);
    Step step = new StepModel(twoTensors(), prices).step(half);
    assertEquals(900, step.calls().get(0).begin(), NEAR);
    assertEquals(1300 + 100, step.calls().get(1).begin(), NEAR);
    assertEquals(1400, step.backwardEnd(), NEAR);
    assertEquals(1400 + 200 + 500, step.nanos(), NEAR);
  }

  @Test
  void aStepWaitsForItsInput() {
    Compute compute = new Compute(twoTensors().backward(), 300, 500, 5000, 1);
    Step step = new StepModel(compute, prices(2, 100, 0)).step(PLAIN);
    assertEquals(5000, step.nanos(), NEAR);
    assertEquals(5000 - 2200, step.inputNanos(), NEAR);
    assertEquals(step.inputNanos() + 1300, step.calls().get(0).begin(), NEAR);
    assertEquals(5000, compute.nanos(), NEAR);
  }

  /** The gradient reducer's defaults: a short buffer, then those of 8 MiB, in two lanes. */
  @Test
  void buffersAreThoseOfTheReducer() {
    long[] counts = {200_000, 100_000, 3_000_000, 3_000_000, 1_000_000, 100_000};
    Backward backward = Backward.of(ElementType.FLOAT32, counts, new double[6], 1000);
    Step step =
        new StepModel(new Compute(backward, 0, 0, 0, 0), prices(2, 100, 1))
            .step(
                new Means(
                    Fusion.reducer(FusionSettings.defaults().bufferLength()), true, false, 0));
    assertEquals(
        List.of(400_000L, 4_000_000L, 12_000_000L, 12_000_000L, 1_200_000L),
        step.calls().stream().map(Step.Call::bytes).toList());
    Step cut =
        new StepModel(new Compute(backward, 0, 0, 0, 0), prices(2, 100, 1))
            .step(new Means(new Fusion(10_000_000, 10_000_000, true, 2), true, false, 0));
    assertEquals(
        List.of(10_000_000L, 10_000_000L, 9_600_000L),
        cut.calls().stream().map(Step.Call::bytes).toList());
  }

  @Test
  void invariantsHoldForRandomSteps() {
    for (long seed = 1; seed <= 40; seed++) {
      Random random = new Random(seed);
      Compute compute = random(random);
      int ranks = 2 + random.nextInt(7);
      double alpha = random.nextInt(5) * 100.0;
      double perByte = random.nextDouble() / 10;
      CallPrices prices = prices(ranks, alpha, perByte);
      CallPrices faster = prices(ranks, alpha, perByte / 2);
      CallPrices fastest = prices(ranks, 0, 0);
      String of = "seed " + seed;
      for (Means means : means(random)) {
        String what = of + ": " + means;
        StepModel model = new StepModel(compute, prices);
        Step step = model.step(means);
        double update = compute.updateNanos() / (means.shards() ? ranks : 1);
        double computing = compute.forwardNanos() + compute.backward().nanos() + update;
        double end = step.nanos() - step.inputNanos();

        // Nothing overlaps, so a step is the sum of its parts; so it is if nothing can go on.
        Step inTurn = model.step(with(means, 1, false, 0));
        assertEquals(
            computing + inTurn.callNanos(), inTurn.nanos() - inTurn.inputNanos(), NEAR, what);
        Step held = model.step(with(means, 1, true, 1));
        assertEquals(computing + held.callNanos(), held.nanos() - held.inputNanos(), NEAR, what);

        // Lower bounds: what is computed, what is made, and the bytes that links must carry.
        assertTrue(end >= computing - NEAR, what);
        assertTrue(step.nanos() >= compute.inputNanos() - NEAR, what);
        double bytes = 2.0 * compute.backward().bytes() * (ranks - 1) / ranks;
        assertTrue(end >= bytes * perByte - NEAR, what);
        assertTrue(step.nanos() <= inTurn.nanos() + held.nanos(), what);

        // Links that take no time leave the computing; faster ones never make a step longer.
        Step free = new StepModel(compute, fastest).step(means);
        assertEquals(computing, free.nanos() - free.inputNanos(), NEAR, what);
        assertTrue(nanos(compute, faster, means) <= step.nanos() + NEAR, what);

        // Neither overlap nor less contention does.
        assertTrue(model.step(with(means, 1, true, 0)).nanos() <= inTurn.nanos() + NEAR, what);
        Means more = new Means(means.fusion(), true, means.shards(), means.contention() / 2);
        assertTrue(model.step(more).nanos() <= step.nanos() + NEAR, what);

        // All gradients are in one call each, and weights in as many.
        assertEquals(
            compute.backward().bytes(),
            step.calls().stream()
                .filter(call -> call.collective() != Collective.ALL_GATHER)
                .limit(step.calls().size())
                .filter(call -> (call.collective() == Collective.REDUCE_SCATTER) == means.shards())
                .mapToLong(Step.Call::bytes)
                .sum(),
            what);
        assertEquals(step.nanos(), sum(step), NEAR, what);
      }
    }
  }

  private static double sum(Step step) {
    return step.inputNanos()
        + step.forwardNanos()
        + step.backwardNanos()
        + step.exposedNanos()
        + step.updateNanos();
  }

  private static Means with(Means means, int lanes, boolean overlaps, double contention) {
    Fusion fusion =
        new Fusion(
            means.fusion().firstLength(),
            means.fusion().length(),
            means.fusion().balanced(),
            lanes);
    return new Means(fusion, overlaps, means.shards(), contention);
  }

  private static Compute random(Random random) {
    int tensors = 1 + random.nextInt(12);
    long[] counts = new long[tensors];
    double[] work = new double[tensors];
    for (int i = 0; i < tensors; i++) {
      counts[i] = 1 + random.nextInt(3000);
      work[i] = random.nextInt(3) == 0 ? 0 : random.nextDouble();
    }
    Backward backward = Backward.of(ElementType.FLOAT32, counts, work, random.nextInt(20_000));
    return new Compute(
        backward,
        random.nextInt(5000),
        random.nextInt(5000),
        random.nextBoolean() ? 0 : random.nextInt(60_000),
        random.nextInt(3));
  }

  private static List<Means> means(Random random) {
    List<Means> all = new ArrayList<>();
    long length = 1 + random.nextInt(40_000);
    for (Fusion fusion :
        List.of(
            Fusion.EACH,
            Fusion.ONE,
            new Fusion(Math.min(500, length), length, false, 2),
            new Fusion(length, length, true, 2))) {
      for (double contention : new double[] {0, random.nextDouble()}) {
        all.add(new Means(fusion, true, false, contention));
        all.add(new Means(fusion, true, true, contention));
      }
    }
    return all;
  }

  @Test
  void shardingPaysWhereTheUpdateIsLong() {
    Compute longUpdate = new Compute(twoTensors().backward(), 0, 1e6, 0, 1);
    CallPrices short64 = prices(64, 1, 0);
    assertTrue(nanos(longUpdate, short64, SHARDS) < nanos(longUpdate, short64, OVERLAP) / 10);
    Compute shortUpdate = new Compute(twoTensors().backward(), 0, 10, 0, 1);
    CallPrices long64 = prices(64, 1000, 0);
    assertTrue(nanos(shortUpdate, long64, SHARDS) > nanos(shortUpdate, long64, OVERLAP));
  }

  @Test
  void eachCallTakesTheFastestAlgorithm() {
    Fabric fabric = new Fabric(new Wire(1000, 0.01), List.of(), Optional.empty(), Hosts.NONE);
    CallPrices all =
        new CallPrices(
            List.of("swing", "halving-doubling", "ring"),
            Size.of(16),
            fabric,
            new CallPrices.Software(1, 0, new CallPrices.CallCost(6, 4)));
    for (long bytes : new long[] {8, 1 << 24}) {
      double least =
          Arrays.stream(new String[] {"swing", "halving-doubling", "ring"})
              .mapToDouble(
                  algorithm ->
                      new CallPrices(
                              List.of(algorithm), Size.of(16), fabric, CallPrices.Software.NONE)
                          .nanos(Collective.ALL_REDUCE, bytes))
              .min()
              .orElseThrow();
      assertEquals(least + 70, all.nanos(Collective.ALL_REDUCE, bytes), NEAR);
    }
    CallPrices servers =
        new CallPrices(List.of("dedicated-servers"), Size.of(4), fabric, CallPrices.Software.NONE);
    assertThrows(IllegalArgumentException.class, () -> servers.nanos(Collective.REDUCE_SCATTER, 8));
  }

  @Test
  void aCallMayCostATimeForEachRank() {
    assertEquals(new CallPrices.CallCost(0, 60_000), CallPrices.CallCost.parse("60us/rank"));
    assertEquals(new CallPrices.CallCost(100, 0), CallPrices.CallCost.parse("100ns"));
    for (String wrong : List.of("60/rank", "60us/host", "/rank")) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class, () -> CallPrices.CallCost.parse(wrong), wrong);
      assertTrue(e.getMessage().endsWith("or as 60us/rank"), e.getMessage());
    }
  }

  /** Links are found again by what calls on them take. */
  @Test
  void measuredCallsSayWhatLinksAreLike() {
    for (String algorithm : List.of("ring", "halving-doubling", "direct")) {
      for (int ranks : new int[] {2, 4}) {
        Fabric fabric = new Fabric(new Wire(12_345, 0.8), List.of(), Optional.empty(), Hosts.NONE);
        CallPrices prices =
            new CallPrices(List.of(algorithm), Size.of(ranks), fabric, CallPrices.Software.NONE);
        Calibration calibration =
            new Calibration(List.of(call(prices, 1 << 16), call(prices, 1 << 24)));
        Wire found = calibration.wire(algorithm, Size.of(ranks), fabric, CallPrices.Software.NONE);
        assertEquals(12_345, found.alphaNanos(), 1, algorithm + " of " + ranks);
        assertEquals(0.8, found.nanosPerByte(), 1e-6, algorithm + " of " + ranks);
      }
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> new Calibration(List.of(new Calibration.Call(8, 10), new Calibration.Call(4, 20))));
  }

  private static Calibration.Call call(CallPrices prices, long bytes) {
    return new Calibration.Call(bytes, prices.nanos(Collective.ALL_REDUCE, bytes));
  }
}
