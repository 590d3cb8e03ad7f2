package io.collectives.plan;

/**
 * The costs of a plan, as {@link PlanVerifier} counted them. Numbers of chunks are to be read as
 * parts of {@link #chunks}: a rank that sends {@code c} chunks of a payload of M bytes sends M c /
 * chunks. The payload of an all-to-all consists of those of all ranks.
 *
 * @param ranks the number of ranks
 * @param chunks the number of chunks of the payload
 * @param lanes the number of lanes
 * @param rounds the number of rounds of the longest lane
 * @param transfers the number of transfers in all rounds of all lanes
 * @param mostChunksSent the largest number of chunks that one rank sends; a chunk counts each time
 *     that it is sent
 * @param leastChunksSent the smallest number of chunks that one rank sends
 * @param mostChunksReceived the largest number of chunks that one rank receives
 * @param framesPerLink the most transfers from one rank to one other in a round of a lane
 * @param links the number of pairs (from, to) that have a transfer
 * @param mostPeers the largest number of ranks with which one rank exchanges data
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
   * Returns the number of bytes that the busiest sender sends of a payload of {@code length} bytes;
   * the number is exact if chunks are equal.
   */
  public double mostBytesSent(double length) {
    return length * mostChunksSent / chunks;
  }

  /**
   * Returns the number of bytes that the least busy sender sends of a payload of {@code length}
   * bytes; the number is exact if chunks are equal.
   */
  public double leastBytesSent(double length) {
    return length * leastChunksSent / chunks;
  }
}
