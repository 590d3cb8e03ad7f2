package io.collectives.bench.digits;

import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.ps.store.Staleness;
import java.util.Locale;

/**
 * The settings that all ranks of a run agree on.
 *
 * @param distribution who updates the weights
 * @param rule the optimizer
 * @param reduction how gradients are reduced
 * @param schedule how long training takes, and in which steps
 * @param normRanks how many ranks normalise together
 */
public record DigitsTask(
    Distribution distribution,
    Rule rule,
    Reduction reduction,
    Schedule schedule,
    int normRanks,
    long seed) {

  /**
   * The distribution of the update over the ranks.
   *
   * @param update who updates the weights
   * @param servers how many of the ranks keep parameters; 0 unless servers update
   * @param staleness of workers with servers
   */
  public record Distribution(Update update, int servers, Staleness staleness) {}

  /** The way in which gradients are reduced. */
  public record Reduction(
      AlgorithmChoice algorithm, WireType wireType, Repeatability repeatability) {}

  /**
   * The steps of the training.
   *
   * @param epochs how often all images are seen
   * @param batch images of a step, of all workers together
   * @param rate the greatest learning rate; 0 for one that suits the optimizer
   */
  public record Schedule(int epochs, int batch, double rate) {}

  /** The ranks that update the weights. */
  public enum Update {
    /** Each rank all of them, by all-reduced gradients. */
    ALLREDUCE,
    /** Each rank a shard. */
    SHARDED,
    /** Parameter servers. */
    SERVERS;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The optimizer. */
  public enum Rule {
    MOMENTUM(0.05),
    ADAM(0.003),
    LARS(0.05),
    LAMB(0.02);

    final double rate;

    Rule(double rate) {
      this.rate = rate;
    }

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
