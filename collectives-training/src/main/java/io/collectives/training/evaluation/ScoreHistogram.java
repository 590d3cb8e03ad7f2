package io.collectives.training.evaluation;

import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.training.TrainingException;

/**
 * The area under the receiver operating characteristic from a histogram of the scores: one
 * all-reduce, whatever the number of examples, and a bound of the error. {@link RocAuc} is exact.
 *
 * <p>A pair of a positive and a negative example in different bins is counted right, one in the
 * same bin as half. So the area is off by at most half the share of the pairs that are in one bin,
 * which {@link Area#bound} tells. All counts are integers: the value does not depend on the number
 * of ranks.
 *
 * <p>For one thread at a time.
 */
public final class ScoreHistogram {
  private final float low;
  private final float high;
  private final int bins;

  /** Positives and negatives of each bin, then the scores that are not numbers. */
  private long[] counts;

  private ScoreHistogram(float low, float high, int bins) {
    this.low = low;
    this.high = high;
    this.bins = bins;
    this.counts = new long[2 * bins + 1];
  }

  /**
   * The area.
   *
   * @param value NaN if there are no positives, or no negatives
   * @param bound how far the exact area is from it at most, rounding of some 1e-16 aside
   */
  public record Area(double value, double bound) {}

  /**
   * Bins of one width. Scores outside fall into the first and the last bin.
   *
   * @param low where the first begins
   * @param high where the last ends
   * @param bins at least 1, at most 2^24
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
   * @param positives which of them are positive
   * @param count how many of the arrays are examples; what follows is not looked at
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
   * Starts to add up what all ranks have, and begins anew. Called by all ranks of the group, in the
   * order of their other calls on it.
   *
   * @return the area; a {@link TrainingException} on all ranks if a score was not a number
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
