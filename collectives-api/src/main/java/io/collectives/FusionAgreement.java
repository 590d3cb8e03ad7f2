package io.collectives;

import java.util.Arrays;

/**
 * The agreement of the ranks of a {@link GradientReducer} in the first step: that all have
 * registered the same tensors, and in which order those of rank 0 became ready.
 */
final class FusionAgreement {
  private FusionAgreement() {}

  /**
   * Returns rank 0's order, after a check that this rank has registered the same tensors. All ranks
   * call this.
   *
   * @param group the group in which ranks agree
   * @param registered a description of this rank's reducer: a line for the reduction, then a line
   *     for each tensor
   * @param order the order of this rank's tensors; only that of rank 0 is used
   * @return rank 0's order
   * @throws MismatchException if rank 0 has registered something else
   */
  static int[] reach(Communicator group, String registered, int[] order) {
    int count = order.length;
    int[] lengths = {registered.length(), count};
    group.broadcast(Payload.of(lengths), 0);
    int[] message = new int[lengths[0] + lengths[1]];
    if (group.rank() == 0) {
      System.arraycopy(order, 0, message, 0, count);
      Arrays.setAll(message, i -> i < count ? message[i] : registered.charAt(i - count));
    }
    group.broadcast(Payload.of(message), 0);
    StringBuilder theirs = new StringBuilder();
    for (int i = lengths[1]; i < message.length; i++) {
      theirs.append((char) message[i]);
    }
    if (!registered.contentEquals(theirs)) {
      throw new MismatchException(difference(group, registered, theirs.toString()));
    }
    return Arrays.copyOf(message, count);
  }

  private static String difference(Communicator group, String mine, String theirs) {
    String[] here = mine.split("\n");
    String[] there = theirs.split("\n");
    int line = 0;
    while (line < here.length && line < there.length && here[line].equals(there[line])) {
      line++;
    }
    String end = "no more tensors";
    return "gradient reducers differ: "
        + (line == 0 ? "" : "after " + (line - 1) + " tensors that are the same, ")
        + "rank "
        + group.worldRank(group.rank())
        + " has "
        + (line < here.length ? here[line] : end)
        + ", rank "
        + group.worldRank(0)
        + " has "
        + (line < there.length ? there[line] : end)
        + "; all ranks must register the same tensors in the same order, with the same settings";
  }
}
