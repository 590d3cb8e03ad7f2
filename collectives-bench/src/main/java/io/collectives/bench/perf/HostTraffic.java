package io.collectives.bench.perf;

/**
 * The bytes that the hosts of a case's ranks carried in an iteration, each rank on a host of its
 * own; see {@link HostBytes} for what is counted.
 *
 * @param mostSent by the host that sent most, in bytes
 * @param leastSent by the host that sent least
 * @param mostReceived by the host that received most
 * @param leastReceived by the host that received least
 */
public record HostTraffic(long mostSent, long leastSent, long mostReceived, long leastReceived) {

  /** Returns what the busiest link carried the way that it carried more. */
  public long most() {
    return Math.max(mostSent, mostReceived);
  }
}
