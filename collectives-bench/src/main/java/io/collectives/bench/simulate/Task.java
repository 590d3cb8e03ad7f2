package io.collectives.bench.simulate;

import io.collectives.Collective;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The task of a simulation: a collective, or a reduce-scatter and then an all-gather, with room in
 * between for an update of each rank's part (Kumar et al. 2021, section 3.2).
 *
 * @param parts one after the other
 */
public record Task(List<Collective> parts) {
  /** All that can be written. */
  public static final String FORMS =
      Arrays.stream(Collective.values()).map(Collective::toString).collect(Collectors.joining(", "))
          + ", reduce-scatter+all-gather";

  /** Its own list. */
  public Task {
    parts = List.copyOf(parts);
  }

  /** Returns the task of one collective. */
  public static Task of(Collective collective) {
    return new Task(List.of(collective));
  }

  /**
   * Reads one.
   *
   * @throws IllegalArgumentException if it is none
   */
  public static Task parse(String text) {
    if (text.equals("reduce-scatter+all-gather")) {
      return new Task(List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER));
    }
    return Arrays.stream(Collective.values())
        .filter(each -> each.toString().equals(text))
        .findFirst()
        .map(Task::of)
        .orElseThrow(() -> new IllegalArgumentException("'" + text + "' is none of " + FORMS));
  }

  boolean is(Collective collective) {
    return parts.size() == 1 && parts.get(0) == collective;
  }

  /** Returns whether it has a payload. */
  public boolean moves() {
    return !is(Collective.BARRIER);
  }

  /** Returns whether every rank ends with the sum of all. */
  boolean sums() {
    return is(Collective.ALL_REDUCE) || parts.size() == 2;
  }

  /** Returns whether one rank has a part of its own. */
  public boolean rooted() {
    return parts.get(0).rooted();
  }

  /**
   * Returns what the rate of the payload is multiplied by, as nccl-tests do, for what links could
   * have carried at best.
   */
  public double busFactor(int ranks) {
    double others = (ranks - 1.0) / ranks;
    if (sums()) {
      return 2 * others;
    }
    return switch (parts.get(0)) {
      case REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL, GATHER, SCATTER -> others;
      case BROADCAST, REDUCE, ALL_REDUCE, BARRIER -> 1;
    };
  }

  /** Returns a text such as {@code all-reduce}. */
  @Override
  public String toString() {
    return parts.stream().map(Collective::toString).collect(Collectors.joining("+"));
  }
}
