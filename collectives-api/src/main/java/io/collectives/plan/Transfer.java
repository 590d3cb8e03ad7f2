package io.collectives.plan;

/**
 * One step of a plan: a range of chunks goes from one rank to another.
 *
 * <p>What goes is what the sender's chunks hold when the round begins, whatever else the round does
 * to them.
 *
 * @param from the sending rank of the group
 * @param to the receiving rank
 * @param firstChunk the first chunk
 * @param chunkCount how many, at least 1
 * @param effect what happens to the receiver's chunks
 */
public record Transfer(int from, int to, int firstChunk, int chunkCount, Effect effect) {

  /** Takes transfers one at a time, so that a plan of millions need not be held. */
  @FunctionalInterface
  public interface Sink {
    /** See {@link Transfer} for the parameters. */
    void transfer(int from, int to, int firstChunk, int chunkCount, Effect effect);
  }
}
