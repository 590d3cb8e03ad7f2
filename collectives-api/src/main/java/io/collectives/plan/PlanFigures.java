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
 * @param load the numbers of chunks that ranks send and receive
 * @param links the links that the transfers use
 */
public record PlanFigures(
    int ranks, int chunks, int lanes, int rounds, long transfers, Load load, Links links) {

  /**
   * The numbers of chunks that ranks send and receive; a chunk counts each time that it is sent.
   *
   * @param mostSent the largest number of chunks that one rank sends
   * @param leastSent the smallest number of chunks that one rank sends
   * @param mostReceived the largest number of chunks that one rank receives
   */
  public record Load(long mostSent, long leastSent, long mostReceived) {}

  /**
   * The links that the transfers of a plan use: pairs (from, to) of ranks.
   *
   * @param count the number of pairs that have a transfer
   * @param mostFrames the most transfers on one link in a round of a lane
   * @param mostPeers the largest number of ranks with which one rank exchanges data
   */
  public record Links(int count, int mostFrames, int mostPeers) {}

  /**
   * Returns the number of bytes that the busiest sender sends of a payload of {@code length} bytes;
   * the number is exact if chunks are equal.
   */
  public double mostBytesSent(double length) {
    return length * load.mostSent / chunks;
  }

  /**
   * Returns the number of bytes that the least busy sender sends of a payload of {@code length}
   * bytes; the number is exact if chunks are equal.
   */
  public double leastBytesSent(double length) {
    return length * load.leastSent / chunks;
  }
}
