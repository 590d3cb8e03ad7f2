package io.collectives.training.evaluation;

import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.training.TrainingException;

/**
 * The area under the receiver operating characteristic from a histogram of the scores. It takes one
 * all-reduce, whatever the number of examples, and has an error with a known bound; {@link RocAuc}
 * is exact.
 *
 * <p>A pair of a positive and a negative example in different bins is counted correctly, a pair in
 * the same bin counts as half. So the error is at most half the share of the pairs that are in one
 * bin, which is {@link Area#bound}. All counts are integers: the value does not depend on the
 * number of ranks.
 *
 * <p>One thread at a time may use it.
 */
public final class ScoreHistogram {
  private final float low;
  private final float high;
  private final int bins;

  /**
   * The numbers of positives and negatives of each bin, then that of scores that are not numbers.
   */
  private long[] counts;

  private ScoreHistogram(float low, float high, int bins) {
    this.low = low;
    this.high = high;
    this.bins = bins;
    this.counts = new long[2 * bins + 1];
  }

  /**
   * An area with a bound of its error.
   *
   * @param value the area; NaN if there are no positives, or no negatives
   * @param bound the largest distance from the exact area, without rounding errors of some 1e-16
   */
  public record Area(double value, double bound) {}

  /**
   * Makes a histogram with bins of one width. Scores outside fall into the first and the last bin.
   *
   * @param low the lower end of the first bin
   * @param high the upper end of the last bin
   * @param bins the number of bins, from 1 to 2^24
   */
  public static ScoreHistogram of(float low, float high, int bins) {
    if (!(low < high) || !Float.isFinite(high - low) || bins < 1 || bins > 1 << 24) {
      throw new IllegalArgumentException(
          bins
              + " bins from "
              + low
              + " to "
              + high
              + ": there must be 1 to 16,777,216, and a finite range");
    }
    return new ScoreHistogram(low, high, bins);
  }

  /**
   * Adds examples of this rank.
   *
   * @param positives true for examples that are positive
   * @param count the number of examples in the arrays; the rest is ignored
   */
  public void add(float[] scores, boolean[] positives, int count) {
    if (count < 0 || count > scores.length || count > positives.length) {
      throw new IllegalArgumentException(
          count
              + " examples in arrays of "
              + scores.length
              + " scores and "
              + positives.length
              + " labels: there must be one of each");
    }
    double factor = bins / ((double) high - low);
    for (int i = 0; i < count; i++) {
      if (scores[i] == scores[i]) {
        int bin = (int) Math.min(bins - 1, Math.max(0, (scores[i] - (double) low) * factor));
        counts[2 * bin + (positives[i] ? 0 : 1)]++;
      } else {
        counts[2 * bins]++;
      }
    }
  }

  /**
   * Starts to add up the histograms of all ranks, and resets this object. All ranks of the group
   * call this, in the same order as their other calls on it.
   *
   * @return the pending area, or a {@link TrainingException} on all ranks if a score was not a
   *     number
   */
  public Pending<Area> reduceAsync(Communicator group) {
    long[] all = counts;
    counts = new long[all.length];
    return Pending.of(group.async().allReduce(Payload.of(all), ReduceOp.SUM), () -> area(all));
  }

  private Area area(long[] all) {
    if (all[2 * bins] > 0) {
      throw new TrainingException(all[2 * bins] + " scores are not numbers, and have no order");
    }
    long negatives = 0;
    long positives = 0;
    double ordered = 0;
    double together = 0;
    for (int bin = 0; bin < bins; bin++) {
      ordered += (double) all[2 * bin] * negatives;
      together += (double) all[2 * bin] * all[2 * bin + 1];
      positives += all[2 * bin];
      negatives += all[2 * bin + 1];
    }
    double pairs = (double) positives * negatives;
    return new Area((ordered + together / 2) / pairs, together / 2 / pairs);
  }
}
