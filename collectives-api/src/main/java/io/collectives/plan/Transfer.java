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
  }
}
