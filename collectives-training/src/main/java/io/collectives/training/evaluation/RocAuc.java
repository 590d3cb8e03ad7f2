package io.collectives.training.evaluation;

import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.training.TrainingException;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * The area under the receiver operating characteristic of a binary classifier, exactly: the share
 * of the pairs of a positive and a negative example in which the positive one has the higher score,
 * where equal scores count half. Each rank has a part of the examples (Kumar et al. 2021, section
 * 4.6, for DLRM).
 *
 * <p><b>Algorithm.</b> It is a sample sort (Shi and Schaeffer 1992): each rank sorts its scores and
 * counts equal ones; splitters, from a regular sample of all ranks, cut the scores into ranges, and
 * rank i gets range i by an all-to-all; it sorts that, and counts pairs below it from the numbers
 * of examples in lower ranges. All counts are integers, so that the value is the same to the last
 * bit whatever the number of ranks and the distribution of the examples; only the last division
 * rounds.
 *
 * <p><b>Memory.</b> A rank needs up to 8 bytes for each of its examples and 20 for each distinct
 * score, and about as much for those that it receives. Ranks receive about the same number of
 * examples, at most twice the average.
 *
 * <p>{@link ScoreHistogram} is faster, and has an error with a known bound.
 */
public final class RocAuc {
  /** Samples for each rank: the more, the more equal the ranges. */
  private static final int SAMPLES = 32;

  /** The largest number of examples for which twice the number of pairs fits a long. */
  private static final long MOST_EXAMPLES = 3_000_000_000L;

  private static final long NOTHING = Long.MAX_VALUE;

  private RocAuc() {}

  /**
   * Computes the area. All ranks call this.
   *
   * @param scores the scores of this rank's examples; there may be none
   * @param positives true for examples that are positive
   * @param count the number of examples in the arrays; the rest is ignored
   * @return NaN if there are no positives, or no negatives
   * @throws TrainingException on all ranks if a score is not a number, or if there are more than
   *     3,000,000,000 examples
   */
  public static double exact(Communicator group, float[] scores, boolean[] positives, int count) {
    if (count < 0 || count > scores.length || count > positives.length) {
      throw new IllegalArgumentException(
          count
              + " examples in arrays of "
              + scores.length
              + " scores and "
              + positives.length
              + " labels: there must be one of each");
    }
    int[] own = sorted(scores, positives, count);
    checkAll(group, scores, count);
    int[] received = exchanged(group, own, splitters(group, own));
    return area(group, received);
  }

  /**
   * Starts {@link #exact} in a new thread, on a new group: the caller may make other calls
   * meanwhile. The program must not write the arrays until the result is available.
   */
  public static Pending<Double> exactAsync(
      Communicator group, float[] scores, boolean[] positives, int count) {
    Communicator own = group.group(IntStream.range(0, group.size()).toArray());
    CompletableFuture<Double> area = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try (own) {
                area.complete(exact(own, scores, positives, count));
              } catch (Throwable e) {
                area.completeExceptionally(e);
              }
            },
            "collectives-auc");
    thread.setDaemon(true);
    thread.start();
    return Pending.of(area);
  }

  private static void checkAll(Communicator group, float[] scores, int count) {
    long[] found = {count, 0};
    for (int i = 0; i < count; i++) {
      found[1] += scores[i] == scores[i] ? 0 : 1;
    }
    group.allReduce(found, ReduceOp.SUM);
    if (found[1] > 0) {
      throw new TrainingException(
          found[1] + " of " + found[0] + " scores are not numbers, and have no order");
    }
    if (found[0] > MOST_EXAMPLES) {
      throw new TrainingException(
          found[0]
              + " examples: an exact area is for "
              + MOST_EXAMPLES
              + " at most; use a ScoreHistogram");
    }
  }

  /**
   * Returns a number whose order among integers is that of the score among floats; 0 and -0 have
   * the same number.
   */
  private static int key(float score) {
    int bits = Float.floatToIntBits(score + 0f);
    return bits ^ bits >> 31 & Integer.MAX_VALUE;
  }

  /**
   * Returns, for each distinct score in order, its key and its numbers of positives and negatives.
   */
  private static int[] sorted(float[] scores, boolean[] positives, int count) {
    long[] order = new long[count];
    for (int i = 0; i < count; i++) {
      order[i] = (long) key(scores[i]) << 1 | (positives[i] ? 1 : 0);
    }
    Arrays.sort(order);
    int distinct = 0;
    for (int i = 0; i < count; i++) {
      distinct += i == 0 || order[i] >> 1 != order[i - 1] >> 1 ? 1 : 0;
    }
    int[] entries = new int[Math.multiplyExact(3, distinct)];
    int at = -3;
    for (int i = 0; i < count; i++) {
      if (i == 0 || order[i] >> 1 != order[i - 1] >> 1) {
        at += 3;
        entries[at] = (int) (order[i] >> 1);
      }
      entries[at + ((order[i] & 1) == 1 ? 1 : 2)]++;
    }
    return entries;
  }

  /** Returns the first keys of the ranges of ranks 1, 2, and so on. */
  private static int[] splitters(Communicator group, int[] own) {
    int ranks = group.size();
    int wanted = SAMPLES * ranks;
    int entries = own.length / 3;
    long[] most = {entries};
    group.allReduce(most, ReduceOp.MAX);
    // One of so many entries, on every rank alike, so that long lists have more to say.
    int distance = (int) Math.max(1, (most[0] + wanted - 1) / wanted);
    long[] sample = new long[wanted];
    Arrays.fill(sample, NOTHING);
    for (int i = 0; i < wanted && (long) i * distance < entries; i++) {
      sample[i] = own[3 * i * distance];
    }
    long[] all = new long[wanted * ranks];
    group.allGather(Payload.of(sample), Payload.of(all));
    Arrays.sort(all);
    int known = all.length;
    while (known > 0 && all[known - 1] == NOTHING) {
      known--;
    }
    int[] splitters = new int[ranks - 1];
    for (int i = 0; i < splitters.length; i++) {
      splitters[i] =
          known == 0 ? Integer.MAX_VALUE : (int) all[(int) ((long) known * (i + 1) / ranks)];
    }
    return splitters;
  }

  private static int[] exchanged(Communicator group, int[] own, int[] splitters) {
    int ranks = group.size();
    long[] send = new long[ranks];
    int range = 0;
    for (int i = 0; i < own.length; i += 3) {
      while (range < splitters.length && own[i] >= splitters[range]) {
        range++;
      }
      send[range] += 3;
    }
    long[] receive = new long[ranks];
    group.allToAll(Payload.of(send), Payload.of(receive));
    int[] received = new int[Math.toIntExact(Arrays.stream(receive).sum())];
    group.allToAll(Payload.of(own), send, Payload.of(received), receive);
    return received;
  }

  /**
   * Counts pairs.
   *
   * @param entries the entries of this rank's range: sorted runs, one from each rank
   */
  private static double area(Communicator group, int[] entries) {
    int count = entries.length / 3;
    long[] order = new long[count];
    long positives = 0;
    long negatives = 0;
    for (int i = 0; i < count; i++) {
      order[i] = (long) entries[3 * i] << 32 | i;
      positives += entries[3 * i + 1];
      negatives += entries[3 * i + 2];
    }
    Arrays.sort(order); // Finds the runs, and merges them.
    long[] all = new long[2 * group.size()];
    group.allGather(Payload.of(new long[] {positives, negatives}), Payload.of(all));
    long below = 0;
    long allPositives = 0;
    long allNegatives = 0;
    for (int rank = 0; rank < group.size(); rank++) {
      below += rank < group.rank() ? all[2 * rank + 1] : 0;
      allPositives += all[2 * rank];
      allNegatives += all[2 * rank + 1];
    }
    long[] twice = {0};
    for (int i = 0; i < count; ) {
      int key = (int) (order[i] >> 32);
      long equalPositives = 0;
      long equalNegatives = 0;
      for (; i < count && (int) (order[i] >> 32) == key; i++) {
        int at = 3 * (int) order[i];
        equalPositives += entries[at + 1];
        equalNegatives += entries[at + 2];
      }
      twice[0] += equalPositives * (2 * below + equalNegatives);
      below += equalNegatives;
    }
    group.allReduce(twice, ReduceOp.SUM);
    return twice[0] / (2.0 * allPositives * allNegatives);
  }
}
