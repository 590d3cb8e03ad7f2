package io.collectives.plan;

/**
 * What a plan costs, as {@link PlanVerifier} counted it. Numbers of chunks are to be read as parts
 * of {@link #chunks}: a rank that sends {@code c} chunks of a payload of M bytes sends M c /
 * chunks. The payload of an all-to-all is those of all ranks together.
 *
 * @param ranks the number of ranks
 * @param chunks into how many the payload is cut
 * @param lanes the number of lanes
 * @param rounds of the longest lane
 * @param transfers in all rounds of all lanes
 * @param mostChunksSent by one rank, a chunk counting each time that it is sent
 * @param leastChunksSent by one rank
 * @param mostChunksReceived by one rank
 * @param framesPerLink the most transfers from one rank to one other in a round of a lane
 * @param links how many pairs (from, to) have a transfer at all
 * @param mostPeers the most ranks that one rank sends to or receives from
 */
public record PlanFigures(
    int ranks,
    int chunks,
    int lanes,
    int rounds,
    long transfers,
    long mostChunksSent,
    long leastChunksSent,
    long mostChunksReceived,
    int framesPerLink,
    int links,
    int mostPeers) {

  /**
   * The bytes that the busiest sender sends of a payload of {@code length} bytes; exact if chunks
   * are equal.
   */
  public double mostBytesSent(double length) {
    return length * mostChunksSent / chunks;
  }

  /**
   * The bytes that the least busy sender sends of a payload of {@code length} bytes; exact if
   * chunks are equal.
   */
  public double leastBytesSent(double length) {
    return length * leastChunksSent / chunks;
  }
}
