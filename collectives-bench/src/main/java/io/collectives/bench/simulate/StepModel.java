package io.collectives.bench.simulate;

import io.collectives.Collective;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The time of a training step whose computing was measured and whose calls are simulated, each by
 * the algorithm that takes the least time. Calls follow one another; computing takes no time from
 * them.
 *
 * <p>Instances remember what they have simulated, and are for one thread.
 */
public final class StepModel {
  private static final List<String> ALGORITHMS =
      List.of("torus", "halving-doubling", "double-binary-tree");

  /** An exact sum of squares, of each tensor's gradients and weights. */
  private static final int NORM_LENGTH = 136;

  private final Compute compute;
  private final int ranks;
  private final Fabric fabric;
  private final Map<String, Double> simulated = new HashMap<>();

  /**
   * The computing of a step.
   *
   * @param lengths the bytes of the gradients of each tensor, in the order of the backward pass
   * @param readyNanos when they are ready, after the beginning of the step
   * @param nanos when the backward pass is over
   * @param updateNanos what the update of all weights takes
   * @param normCalls how many small all-reduces for norms and the like an update of shards makes
   */
  public record Compute(
      long[] lengths, double[] readyNanos, double nanos, double updateNanos, int normCalls) {}

  /**
   * The means by which steps become shorter.
   *
   * @param overlaps gradients are reduced while the backward pass computes others
   * @param shards each rank updates a shard
   * @param fuses all gradients are reduced together, which leaves nothing to overlap with
   */
  public record Means(boolean overlaps, boolean shards, boolean fuses) {}

  /** A model of steps of so many ranks. */
  public StepModel(Compute compute, int ranks, Fabric fabric) {
    this.compute = compute;
    this.ranks = ranks;
    this.fabric = fabric;
  }

  /** Returns the time of a step in nanoseconds. */
  public double nanos(Means means) {
    if (ranks == 1) {
      return compute.nanos() + compute.updateNanos();
    }
    Collective reduction = means.shards() ? Collective.REDUCE_SCATTER : Collective.ALL_REDUCE;
    long all = 0;
    double end = means.overlaps() ? 0 : compute.nanos();
    double gathering = 0;
    for (int i = 0; i < compute.lengths().length; i++) {
      all += compute.lengths()[i];
      if (!means.fuses()) {
        end = Math.max(end, means.overlaps() ? compute.readyNanos()[i] : 0);
        end += call(reduction, compute.lengths()[i]);
        gathering += call(Collective.ALL_GATHER, compute.lengths()[i]);
      }
    }
    if (means.fuses()) {
      end = compute.nanos() + call(reduction, all);
      gathering = call(Collective.ALL_GATHER, all);
    }
    end = Math.max(end, compute.nanos());
    if (!means.shards()) {
      return end + compute.updateNanos();
    }
    double norms =
        compute.normCalls()
            * call(Collective.ALL_REDUCE, (long) NORM_LENGTH * compute.lengths().length);
    return end + norms + compute.updateNanos() / ranks + gathering;
  }

  private double call(Collective collective, long bytes) {
    return simulated.computeIfAbsent(collective + " " + bytes, key -> simulate(collective, bytes));
  }

  private double simulate(Collective collective, long bytes) {
    double least = Double.POSITIVE_INFINITY;
    for (String algorithm : ALGORITHMS) {
      try {
        Scenario scenario =
            Scenario.of(
                new Scenario.Work(algorithm, Task.of(collective), 0, 1, false),
                Size.of(ranks),
                fabric);
        least = Math.min(least, scenario.run(scenario.costs(bytes, 1, 0)).nanos());
      } catch (IllegalArgumentException e) {
        continue; // It does not plan this, or not for so many ranks.
      }
    }
    if (least == Double.POSITIVE_INFINITY) {
      throw new IllegalArgumentException("no algorithm plans " + collective + " of " + ranks);
    }
    return least;
  }
}
