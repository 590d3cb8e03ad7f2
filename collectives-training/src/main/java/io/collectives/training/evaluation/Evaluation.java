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
 * <p>For one thread at a time.
 */
public final class Evaluation {
  private final int classes;
  private final int[] topK;
  private final boolean hasConfusion;

  /** Examples, labels that are none, hits for each k, then the confusion matrix. */
  private long[] counts = {};

  private ExactSums losses = ExactSums.of(1);

  private Evaluation(int classes, int[] topK, boolean hasConfusion) {
    this.classes = classes;
    this.topK = topK;
    this.hasConfusion = hasConfusion;
    clear();
  }

  /**
   * An evaluation without confusion matrix.
   *
   * @param classes how many scores an example has, at least 1
   * @param topK for which k to count labels among the k best, each from 1 on
   */
  public static Evaluation of(int classes, int... topK) {
    return new Evaluation(classes, check(classes, topK), false);
  }

  /** An evaluation with confusion matrix; see {@link #of}. */
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
   * <p>Of equal scores the one of the lower class is better; one that is not a number is better
   * than all that are, but a label whose own is not a number is never a hit.
   *
   * @param scores {@code classes} of each example, one example after the other
   * @param labels of each example, from 0 to {@code classes - 1}
   * @param batchLosses of each example
   * @param valid how many of the batch are examples; what follows is padding and not looked at
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

  /** Adds up what all ranks have, and waits for it; see {@link #reduceAsync}. */
  public Metrics reduce(Communicator group) {
    return reduceAsync(group).await();
  }

  /**
   * Starts to add up what all ranks have, and begins anew: this object may be used for the next
   * evaluation at once. Called by all ranks of the group, in the order of their other calls on it;
   * a rank without examples takes part.
   *
   * @return the metrics; a {@link TrainingException} on all ranks if a label was none
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
