package io.collectives.training.evaluation;

import java.util.Arrays;

/**
 * The metrics of all examples of all ranks, with the same bits on all ranks, and for any number of
 * ranks.
 */
public final class Metrics {
  private final long examples;
  private final double meanLoss;
  private final int[] topK;
  private final long[] hits;
  private final long[][] confusion;

  Metrics(long examples, double meanLoss, int[] topK, long[] hits, long[][] confusion) {
    this.examples = examples;
    this.meanLoss = meanLoss;
    this.topK = topK;
    this.hits = hits;
    this.confusion = confusion;
  }

  /** Returns the number of examples. */
  public long examples() {
    return examples;
  }

  /**
   * Returns the mean of the losses, rounded twice; NaN if one was not finite, or without examples.
   */
  public double meanLoss() {
    return meanLoss;
  }

  /**
   * Returns the share of the examples whose label was among the k best scores; NaN without
   * examples.
   *
   * @param k one of the values for which the evaluation was made
   */
  public double accuracy(int k) {
    int index = Arrays.binarySearch(topK, k);
    if (index < 0) {
      throw new IllegalArgumentException(
          "top-" + k + " accuracy: evaluated were the best " + Arrays.toString(topK));
    }
    return (double) hits[index] / examples;
  }

  /**
   * Returns the confusion matrix: the number of examples of each label (row) for which each class
   * had the best score (column).
   *
   * @return a matrix without rows if the evaluation has none
   */
  public long[][] confusion() {
    return Arrays.stream(confusion).map(long[]::clone).toArray(long[][]::new);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(examples + " examples, loss " + meanLoss);
    for (int k : topK) {
      text.append(", top-").append(k).append(' ').append(accuracy(k));
    }
    return text.toString();
  }
}
