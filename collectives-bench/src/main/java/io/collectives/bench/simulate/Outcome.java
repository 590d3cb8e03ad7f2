package io.collectives.bench.simulate;

import java.util.Map;

/**
 * The result of a simulation.
 *
 * @param nanos when the last rank has its result
 * @param rounds of the longest lane
 * @param transfers of the plan, a transfer of all slabs counting once
 * @param traffic by class of link; classes that carried nothing are missing
 * @param busiestLink as {@code 3->4}, empty if there was no transfer
 * @param busiestClass of that link
 * @param busiestNanos how long that link was held
 */
public record Outcome(
    double nanos,
    int rounds,
    long transfers,
    Map<LinkClass, Traffic> traffic,
    String busiestLink,
    LinkClass busiestClass,
    double busiestNanos) {

  /**
   * The traffic of the links of a class.
   *
   * @param links that carried anything
   * @param bytes on all of them, counted on each link
   * @param mostBytes on one of them
   * @param busyNanos the sum of the times for which they were held
   */
  public record Traffic(int links, double bytes, double mostBytes, double busyNanos) {}

  /** The part of the time for which the links of a class were held, on average over those used. */
  public double busyShare(LinkClass links) {
    Traffic of = traffic.get(links);
    return of == null || nanos == 0 ? 0 : of.busyNanos() / of.links() / nanos;
  }
}
