package io.collectives.training;

import io.collectives.Communicator;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Checks that end in the same way on all ranks of a group, although each of them may have found a
 * fault.
 */
final class Agreement {
  private Agreement() {}

  /**
   * Ends normally if no rank has found a fault. All ranks call this.
   *
   * @param fault the fault that this rank has found; null if there is none
   * @throws TrainingException on all ranks, with the fault of the lowest rank that has one
   */
  static void check(Communicator group, @Nullable String fault) {
    int[] lowest = {fault == null ? group.size() : group.rank()};
    group.allReduce(lowest, ReduceOp.MIN);
    int culprit = lowest[0];
    if (culprit == group.size()) {
      return;
    }
    int[] text = fault == null ? new int[0] : fault.chars().toArray();
    int[] length = {text.length};
    group.broadcast(Payload.of(length), culprit);
    if (group.rank() != culprit) {
      text = new int[length[0]];
    }
    group.broadcast(Payload.of(text), culprit);
    StringBuilder message = new StringBuilder("rank " + group.worldRank(culprit) + ": ");
    Arrays.stream(text).forEach(character -> message.append((char) character));
    throw new TrainingException(message.toString());
  }

  /**
   * Ends normally if all ranks have the same numbers. All ranks call this, with the same count.
   *
   * @param what a word for the numbers, such as {@code tensors}
   * @throws MismatchException on all ranks; it names two of them, and the values that differ
   */
  static void same(Communicator group, String what, long... numbers) {
    int count = numbers.length;
    long[] all = new long[count * group.size()];
    group.allGather(Payload.of(numbers), Payload.of(all));
    long[] first = Arrays.copyOf(all, count);
    for (int rank = 1; rank < group.size(); rank++) {
      long[] other = Arrays.copyOfRange(all, rank * count, (rank + 1) * count);
      if (!Arrays.equals(first, other)) {
        throw new MismatchException(
            "rank "
                + group.worldRank(0)
                + " has "
                + what
                + " "
                + Arrays.toString(first)
                + ", rank "
                + group.worldRank(rank)
                + " has "
                + Arrays.toString(other)
                + ": all ranks must have the same");
      }
    }
  }
}
