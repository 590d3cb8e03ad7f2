package io.collectives.bench.digits;

import io.collectives.Algorithm;
import io.collectives.FusionSettings;
import io.collectives.Mesh;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.ps.store.Staleness;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The settings that all ranks of a run agree on.
 *
 * @param distribution who updates the weights
 * @param rule the optimizer
 * @param reduction how gradients are reduced
 * @param schedule how long training takes, and in which steps
 * @param layout the ranks that work on the same images
 * @param trouble what befalls the ranks
 */
public record DigitsTask(
    Distribution distribution,
    Rule rule,
    Reduction reduction,
    Schedule schedule,
    Layout layout,
    Trouble trouble,
    long seed) {

  /**
   * The distribution of the update over the ranks.
   *
   * @param update who updates the weights
   * @param servers how many of the ranks keep parameters; 0 unless servers update
   * @param staleness of workers with servers
   */
  public record Distribution(Update update, int servers, Staleness staleness) {}

  /**
   * The way in which gradients are reduced.
   *
   * @param feedsBack whether rounding errors of int8 gradients are added in the next step, where
   *     the algorithm allows that
   * @param overlaps whether gradients are reduced while the backward pass computes others
   * @param bufferLength the most bytes of gradients that are reduced together
   */
  public record Reduction(
      AlgorithmChoice algorithm,
      WireType wireType,
      Repeatability repeatability,
      boolean feedsBack,
      boolean overlaps,
      int bufferLength) {
    /** The length of buffers unless it is said. */
    public static final int BUFFER_LENGTH = FusionSettings.defaults().bufferLength();

    /** A reduction with error feedback, after the backward pass. */
    public static Reduction of(
        AlgorithmChoice algorithm, WireType wireType, Repeatability repeatability) {
      return new Reduction(algorithm, wireType, repeatability, true, false, BUFFER_LENGTH);
    }

    /** Returns whether errors can be fed back: rounding errors that one rank alone makes. */
    public boolean canFeedBack() {
      return wireType == WireType.INT8
          && !repeatability.needsAllAtOnce()
          && !algorithm.text().equals(Algorithm.exchange().name());
    }
  }

  /**
   * The steps of the training.
   *
   * @param epochs how often all images are seen
   * @param batch images of a step, of all workers together
   * @param microBatches the parts of a worker's share of a batch, whose gradients are accumulated
   * @param rate the greatest learning rate; 0 for one that suits the optimizer
   */
  public record Schedule(int epochs, int batch, int microBatches, double rate) {}

  /**
   * The ranks that work together on images.
   *
   * @param normRanks how many ranks normalise together
   * @param tiles the tiles of each image, of which each rank has one
   */
  public record Layout(int normRanks, Mesh tiles) {
    /** Whole images, which so many ranks normalise together. */
    public static Layout whole(int normRanks) {
      return new Layout(normRanks, new Mesh(1, 1, false, false));
    }
  }

  /** The trouble that befalls some of the ranks. */
  public record Trouble(Optional<Kill> kill, Optional<Slow> slow) {
    /** No trouble. */
    public static Trouble none() {
      return new Trouble(Optional.empty(), Optional.empty());
    }
  }

  /**
   * A rank whose process is killed, and replaced by another one.
   *
   * @param epoch the epoch in whose middle that happens, from 1
   */
  public record Kill(int rank, int epoch) {
    private static final Pattern FORM = Pattern.compile("(\\d{1,4})@(\\d{1,4})");

    /**
     * Reads one, as {@code 2@6}.
     *
     * @throws IllegalArgumentException if it is none
     */
    public static Kill parse(String text) {
      Matcher matcher = FORM.matcher(text);
      if (!matcher.matches()) {
        throw new IllegalArgumentException("'" + text + "' is no rank and epoch; write 2@6");
      }
      return new Kill(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)));
    }

    /** Returns the lowest rank that is not killed; it has what the new process needs to know. */
    public int survivor() {
      return rank == 0 ? 1 : 0;
    }

    @Override
    public String toString() {
      return rank + "@" + epoch;
    }
  }

  /**
   * A rank that sleeps in each step.
   *
   * @param millis for how long
   */
  public record Slow(int rank, int millis) {
    private static final Pattern FORM = Pattern.compile("(\\d{1,4})=(\\d{1,5})");

    /**
     * Reads one, as {@code 1=20}.
     *
     * @throws IllegalArgumentException if it is none
     */
    public static Slow parse(String text) {
      Matcher matcher = FORM.matcher(text);
      if (!matcher.matches()) {
        throw new IllegalArgumentException(
            "'" + text + "' is no rank and number of milliseconds; write 1=20");
      }
      return new Slow(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)));
    }

    @Override
    public String toString() {
      return rank + "=" + millis;
    }
  }

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
