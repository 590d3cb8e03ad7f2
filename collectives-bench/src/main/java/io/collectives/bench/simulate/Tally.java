package io.collectives.bench.simulate;

import java.util.EnumMap;
import java.util.Map;
import java.util.function.Supplier;

/** Adds up by class what links have carried. */
final class Tally {
  private final Map<LinkClass, Outcome.Traffic> traffic = new EnumMap<>(LinkClass.class);
  private String busiest = "";
  private LinkClass busiestClass = LinkClass.OTHER;
  private double busiestNanos;

  /** A link; one that has carried nothing does not count. */
  void add(LinkClass links, double bytes, double heldNanos, Supplier<String> name) {
    if (bytes == 0) {
      return;
    }
    traffic.merge(
        links,
        new Outcome.Traffic(1, bytes, bytes, heldNanos),
        (a, b) ->
            new Outcome.Traffic(
                a.links() + b.links(),
                a.bytes() + b.bytes(),
                Math.max(a.mostBytes(), b.mostBytes()),
                a.busyNanos() + b.busyNanos()));
    if (busiest.isEmpty() || heldNanos > busiestNanos) {
      busiest = name.get();
      busiestClass = links;
      busiestNanos = heldNanos;
    }
  }

  /** Returns what was found. */
  Outcome outcome(double nanos, int rounds, long transfers) {
    return new Outcome(nanos, rounds, transfers, traffic, busiest, busiestClass, busiestNanos);
  }
}
