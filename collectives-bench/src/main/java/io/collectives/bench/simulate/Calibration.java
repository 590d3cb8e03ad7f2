package io.collectives.bench.simulate;

import io.collectives.Collective;
import java.util.List;

/**
 * Two measured all-reduces, by which the links of a network are found: those on which the same plan
 * takes the same times.
 *
 * @param calls two of them, the shorter first
 */
public record Calibration(List<Call> calls) {

  /**
   * A measured call.
   *
   * @param bytes of each rank's payload
   */
  public record Call(long bytes, double nanos) {}

  /** Checks that they say something about links. */
  public Calibration {
    calls = List.copyOf(calls);
    if (calls.size() != 2
        || calls.get(0).bytes() >= calls.get(1).bytes()
        || calls.get(0).nanos() >= calls.get(1).nanos()) {
      throw new IllegalArgumentException(
          "a short call and a longer one are needed, which takes more time");
    }
  }

  /**
   * Returns the links on which an algorithm takes these times. The time of its plan is taken for a
   * latency and a time for each byte, which that of a ring is.
   *
   * @param fabric what else is known; its links are replaced
   * @throws IllegalArgumentException if nobody plans it, there is one rank, or the short call takes
   *     less than its bytes would
   */
  public Wire wire(String algorithm, Size size, Fabric fabric, CallPrices.Software software) {
    double hops = nanos(algorithm, size, fabric, software, new Wire(1, 0), 0);
    Call small = calls.get(0);
    Call large = calls.get(1);
    double bytes = nanos(algorithm, size, fabric, software, new Wire(0, 1), large.bytes());
    if (hops == 0 || bytes == 0) {
      throw new IllegalArgumentException("one rank sends nothing that could be measured");
    }
    double nanosPerByte =
        (large.nanos() - small.nanos()) / (bytes * (1 - (double) small.bytes() / large.bytes()));
    double alpha = (small.nanos() - nanosPerByte * bytes * small.bytes() / large.bytes()) / hops;
    if (alpha < 0) {
      throw new IllegalArgumentException(
          "the short call takes less time than its part of the long one's bytes");
    }
    return new Wire(alpha, nanosPerByte);
  }

  private static double nanos(
      String algorithm,
      Size size,
      Fabric fabric,
      CallPrices.Software software,
      Wire wire,
      double bytes) {
    Fabric other = new Fabric(wire, fabric.others(), fabric.pod(), Hosts.NONE);
    CallPrices.Software onlyLinks =
        new CallPrices.Software(software.slabs(), 0, CallPrices.CallCost.NONE);
    return new CallPrices(List.of(algorithm), size, other, onlyLinks)
        .nanos(Collective.ALL_REDUCE, bytes);
  }
}
