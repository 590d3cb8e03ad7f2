package io.collectives.plan;

/**
 * A transfer of a range of chunks from one rank to another; a plan consists of transfers.
 *
 * <p>It carries the contents of the sender's chunks at the beginning of the round, whatever else
 * the round does to them.
 *
 * @param from the sending rank of the group
 * @param to the receiving rank
 * @param firstChunk the first chunk
 * @param chunkCount the number of chunks, at least 1
 * @param effect the effect on the receiver's chunks
 */
public record Transfer(int from, int to, int firstChunk, int chunkCount, Effect effect) {

  /** A consumer of transfers one at a time, so that a plan of millions need not be held. */
  @FunctionalInterface
  public interface Sink {
    /** Takes a transfer; see {@link Transfer} for the parameters. */
    void transfer(int from, int to, int firstChunk, int chunkCount, Effect effect);

    /**
     * Takes a transfer whose frames go by a third rank, which receives them into memory that is set
     * apart for them and sends them on as they are. So the two ranks need no link with each other,
     * and the plan is the same in all else; whoever does not ask how frames travel takes it as a
     * transfer from one end to the other.
     *
     * @param by a rank that serves, neither {@code from} nor {@code to}
     * @since 0.2.0
     */
    default void relayed(int from, int by, int to, int firstChunk, int chunkCount, Effect effect) {
      transfer(from, to, firstChunk, chunkCount, effect);
    }
  }
}
