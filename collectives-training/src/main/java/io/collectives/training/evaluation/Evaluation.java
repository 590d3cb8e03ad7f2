package io.collectives.training.evaluation;

import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.training.TrainingException;
import io.collectives.training.exact.ExactSums;
import java.util.Arrays;

/**
 * Top-k accuracy, mean loss and confusion matrix of a classifier, of which each rank evaluates a
 * share of the examples; the metrics are added up over the ranks by one all-reduce (Kumar et al.
 * 2021, section 3.4).
 *
 * <pre>{@code
 * Evaluation evaluation = Evaluation.of(10, 1, 5);
 * for (long step = 0; step < batches.steps(); step++) {
 *   ...                                               // scores and losses of a batch
 *   evaluation.add(scores, labels, losses, batches.valid(step));
 * }
 * Pending<Metrics> metrics = evaluation.reduceAsync(world);
 * ...                                                 // train on
 * System.out.println(metrics.await());
 * }</pre>
 *
 * <p>Only integers are added up over ranks, losses as {@link ExactSums}: so the metrics are the
 * same to the last bit, however many ranks share the examples.
 *
 * <p>One thread at a time may use it.
 */
public final class Evaluation {
  private final int classes;
  private final int[] topK;
  private final boolean hasConfusion;

  /**
   * The number of examples, that of invalid labels, the hits for each k, then the confusion matrix.
   */
  private long[] counts = {};

  private ExactSums losses = ExactSums.of(1);

  private Evaluation(int classes, int[] topK, boolean hasConfusion) {
    this.classes = classes;
    this.topK = topK;
    this.hasConfusion = hasConfusion;
    clear();
  }

  /**
   * Makes an evaluation without confusion matrix.
   *
   * @param classes the number of scores of an example, at least 1
   * @param topK the values of k, each at least 1, for which labels among the k best are counted
   */
  public static Evaluation of(int classes, int... topK) {
    return new Evaluation(classes, check(classes, topK), false);
  }

  /** Makes an evaluation with confusion matrix; see {@link #of}. */
  public static Evaluation withConfusion(int classes, int... topK) {
    return new Evaluation(classes, check(classes, topK), true);
  }

  private static int[] check(int classes, int[] topK) {
    if (classes < 1 || Arrays.stream(topK).anyMatch(k -> k < 1)) {
      throw new IllegalArgumentException(
          "an evaluation of "
              + classes
              + " classes, of the best "
              + Arrays.toString(topK)
              + ": all must be at least 1");
    }
    return Arrays.stream(topK).sorted().distinct().toArray();
  }

  private void clear() {
    counts = new long[2 + topK.length + (hasConfusion ? classes * classes : 0)];
    losses = ExactSums.of(1);
  }

  /**
   * Adds a batch of this rank.
   *
   * <p>Of equal scores the one of the lower class ranks higher. A score that is not a number ranks
   * higher than all others, but a label whose own score is not a number is never a hit.
   *
   * @param scores {@code classes} scores of each example, one example after the other
   * @param labels the label of each example, from 0 to {@code classes - 1}
   * @param batchLosses the loss of each example
   * @param valid the number of examples in the batch; the rest is padding and ignored
   */
  public void add(float[] scores, int[] labels, float[] batchLosses, int valid) {
    if (valid < 0
        || valid > labels.length
        || valid > batchLosses.length
        || (long) valid * classes > scores.length) {
      throw new IllegalArgumentException(
          valid
              + " examples in arrays of "
              + scores.length
              + " scores, "
              + labels.length
              + " labels and "
              + batchLosses.length
              + " losses: there must be "
              + classes
              + " scores, a label and a loss for each");
    }
    for (int n = 0; n < valid; n++) {
      int label = labels[n];
      counts[0]++;
      if (label < 0 || label >= classes) {
        counts[1]++;
        continue;
      }
      losses.add(0, batchLosses[n]);
      int at = n * classes;
      float own = scores[at + label];
      int better = 0;
      int best = 0;
      for (int c = 0; c < classes; c++) {
        float other = scores[at + c];
        better += isBetter(other, c, own, label) ? 1 : 0;
        best = isBetter(other, c, scores[at + best], best) ? c : best;
      }
      for (int i = 0; i < topK.length; i++) {
        counts[2 + i] += better < topK[i] && own == own ? 1 : 0;
      }
      if (hasConfusion) {
        counts[2 + topK.length + label * classes + best]++;
      }
    }
  }

  private static boolean isBetter(float a, int classOfA, float b, int classOfB) {
    boolean isNumber = a == a;
    if (isNumber != (b == b)) {
      return !isNumber;
    }
    return a > b || (a == b || !isNumber) && classOfA < classOfB;
  }

  /** Adds up the metrics of all ranks, and waits for the result; see {@link #reduceAsync}. */
  public Metrics reduce(Communicator group) {
    return reduceAsync(group).await();
  }

  /**
   * Starts to add up the metrics of all ranks, and resets this object, which may be used for the
   * next evaluation at once. All ranks of the group call this, in the same order as their other
   * calls on it; a rank without examples takes part, too.
   *
   * @return the pending metrics, or a {@link TrainingException} on all ranks if a label was invalid
   */
  public Pending<Metrics> reduceAsync(Communicator group) {
    long[] loss = losses.words();
    long[] all = Arrays.copyOf(counts, counts.length + loss.length);
    System.arraycopy(loss, 0, all, counts.length, loss.length);
    clear();
    return Pending.of(group.async().allReduce(Payload.of(all), ReduceOp.SUM), () -> metrics(all));
  }

  private Metrics metrics(long[] all) {
    if (all[1] > 0) {
      throw new TrainingException(
          all[1]
              + " of "
              + all[0]
              + " labels are no classes: they must be from 0 to "
              + (classes - 1));
    }
    int length = 2 + topK.length + (hasConfusion ? classes * classes : 0);
    ExactSums loss = ExactSums.of(1);
    System.arraycopy(all, length, loss.words(), 0, all.length - length);
    long[][] confusion = new long[hasConfusion ? classes : 0][];
    for (int label = 0; label < confusion.length; label++) {
      int from = 2 + topK.length + label * classes;
      confusion[label] = Arrays.copyOfRange(all, from, from + classes);
    }
    return new Metrics(
        all[0], loss.get(0) / all[0], topK, Arrays.copyOfRange(all, 2, 2 + topK.length), confusion);
  }
}
