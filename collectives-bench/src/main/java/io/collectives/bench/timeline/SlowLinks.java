package io.collectives.bench.timeline;

import io.collectives.bench.report.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Looks for a link that is slower than the others: bodies of frames that trickle in at one rank, or
 * from one rank. A body counts from where it begins to arrive, so that a rank which takes it late
 * is not mistaken for a slow link.
 */
final class SlowLinks {
  /** Shorter bodies come at once, whatever the link. */
  private static final int LEAST_BYTES = 64 << 10;

  private static final int LEAST_FRAMES = 3;

  /** A link is slow if the one in the middle is so many times as fast. */
  private static final double FACTOR = 3;

  private record Pair(int from, int to) implements Comparable<Pair> {
    @Override
    public int compareTo(Pair other) {
      return from != other.from ? from - other.from : to - other.to;
    }
  }

  private SlowLinks() {}

  /** Returns a sentence if there is one rank whose links, in one direction or both, are slow. */
  static Optional<String> sentence(JobTrace job) {
    Map<Pair, Double> rates = rates(job.frames());
    List<Double> sorted = rates.values().stream().sorted().toList();
    if (sorted.size() < 2) {
      return Optional.empty();
    }
    double middle = sorted.get(sorted.size() / 2);
    List<Pair> slow =
        rates.entrySet().stream()
            .filter(entry -> entry.getValue() * FACTOR < middle)
            .map(Map.Entry::getKey)
            .toList();
    if (slow.isEmpty()) {
      return Optional.empty();
    }
    double slowest = slow.stream().mapToDouble(rates::get).max().orElseThrow();
    String rest =
        Units.rate(slowest)
            + ", where "
            + Units.rate(middle)
            + " are usual in this job: look at the network of its host.";
    int from = slow.get(0).from();
    int to = slow.get(0).to();
    if (slow.stream().allMatch(pair -> pair.from() == from)) {
      String others = ranks(slow.stream().map(Pair::to).toList());
      return Optional.of("What rank " + from + " sends to " + others + " comes at " + rest);
    }
    if (slow.stream().allMatch(pair -> pair.to() == to)) {
      String others = ranks(slow.stream().map(Pair::from).toList());
      return Optional.of("What rank " + to + " gets from " + others + " comes at " + rest);
    }
    for (int rank : new int[] {from, to}) {
      if (slow.stream().allMatch(pair -> pair.from() == rank || pair.to() == rank)) {
        return Optional.of("What rank " + rank + " sends and gets comes at " + rest);
      }
    }
    return Optional.empty(); // Links of several kinds, as within hosts and between them.
  }

  /** The bytes that come in a nanosecond between two ranks, for half of the frames. */
  private static Map<Pair, Double> rates(List<Frame> frames) {
    Map<Pair, List<Double>> all = new TreeMap<>();
    for (Frame frame : frames) {
      long nanos = frame.received().end() - frame.received().begin();
      boolean isWhole = !frame.received().name().isEmpty(); // In memory that both ranks share.
      if (frame.sent().bytes() >= LEAST_BYTES && nanos > 0 && !isWhole) {
        all.computeIfAbsent(new Pair(frame.from(), frame.to()), key -> new ArrayList<>())
            .add((double) frame.sent().bytes() / nanos);
      }
    }
    Map<Pair, Double> rates = new TreeMap<>();
    all.forEach(
        (pair, each) -> {
          if (each.size() >= LEAST_FRAMES) {
            each.sort(null);
            rates.put(pair, each.get(each.size() / 2));
          }
        });
    return rates;
  }

  private static String ranks(List<Integer> ranks) {
    return ranks.stream()
        .map(String::valueOf)
        .collect(Collectors.joining(", ", ranks.size() == 1 ? "rank " : "ranks ", ""));
  }
}
