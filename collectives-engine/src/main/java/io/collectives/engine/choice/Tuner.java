package io.collectives.engine.choice;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.engine.choice.AlgorithmTable.Range;
import io.collectives.engine.choice.AlgorithmTable.Row;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Measures all-reduces of a group, all ranks at once, at a few sizes by every candidate in turn, so
 * that what disturbs one disturbs all. All ranks begin each call together, and it takes what the
 * slowest of them takes: else algorithms in which some ranks have little to do would be measured
 * shorter, and what follows them longer. So there is one set of numbers for all ranks.
 *
 * <p>The early half of many turns is left out, because the just-in-time compiler is at work then;
 * of few turns the lower quartile counts, because what disturbs a long call makes it longer. Beyond
 * {@link #LONG} only those are measured that were not far behind at the size before.
 *
 * <p><b>Noise.</b> What the odd turns say is compared with what the even ones say. If they differ
 * for more than a quarter of all calls, nothing was measured. A candidate takes the place of what
 * the shipped table says for a size only if its slower half is faster by a tenth than the faster
 * half of that; so what is within the noise stays as it is shipped. Who would take a place is
 * measured once more beside the one whose place it is, when all sizes have been: the compiler may
 * have come to one of the two sooner.
 */
public final class Tuner {
  private static final int[] SIZES = {
    8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20
  };

  /** Until when each size is measured, after the beginning. */
  private static final int[] UNTIL_MILLIS = {60, 120, 180, 240, 320, 430, 580, 950};

  /** From here on bytes count more than messages, and who sends more is left out. */
  private static final int LONG = 256 << 10;

  private static final double FAR_BEHIND = 2;
  private static final int LEAST_TURNS = 4;
  private static final int MANY_TURNS = 16;
  private static final int MOST_TURNS = 200;

  /** The factor by which two measurements of one thing may differ. */
  private static final double SAME = 1.5;

  /** The factor by which another candidate must be faster. */
  private static final double BETTER = 1.1;

  /** Of which a reduce-scatter is one half, and an all-gather the other. */
  private static final Set<String> OF_HALVES = Set.of("direct", "halving-doubling", "ring");

  private static final long NANOS_OF_MILLI = 1_000_000;

  /** The time for which a size is measured once more. */
  private static final long AGAIN_NANOS = 30 * NANOS_OF_MILLI;

  private static final List<Collective> TUNED =
      List.of(Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER);

  private final Communicator group;
  private final Chooser shipped;
  private final Locality locality;
  private final LongSupplier nanoTime;
  private final long start;
  private final List<Algorithm> candidates = new ArrayList<>();
  private final List<Communicator> by = new ArrayList<>();
  private final float[] payload;

  /**
   * A tuner that makes its calls in {@code group}, where nobody else makes any.
   *
   * @param group by an algorithm that any size of group has
   * @param shipped for a group without slots and leases, like this one, by the shipped table
   * @param nanoTime the clock, as {@link System#nanoTime}
   */
  public Tuner(Communicator group, Chooser shipped, Locality locality, LongSupplier nanoTime) {
    this.group = group;
    this.shipped = shipped;
    this.locality = locality;
    this.nanoTime = nanoTime;
    this.start = nanoTime.getAsLong();
    this.payload = new float[SIZES[SIZES.length - 1] / Float.BYTES];
  }

  /**
   * The times that were measured at a size, in nanoseconds by candidate.
   *
   * @param typical of all turns that count; infinite if it was left out
   * @param odd of the odd ones
   * @param even of the even ones
   */
  record Times(double[] typical, double[] odd, double[] even) {
    /** Returns whether a candidate is faster than another by more than the noise. */
    boolean isFaster(int one, int other) {
      return BETTER * Math.max(odd[one], even[one]) <= Math.min(odd[other], even[other]);
    }

    /**
     * Returns these times as another measurement of some candidates leaves them: the least and the
     * greatest of the four halves stand for the odd and the even turns of who was measured twice,
     * who so is faster than another one only if all halves say it.
     */
    Times confirmedBy(Times again) {
      double[] least = odd.clone();
      double[] most = even.clone();
      for (int i = 0; i < typical.length; i++) {
        if (again.isThere(i)) {
          least[i] = min(odd[i], even[i], again.odd[i], again.even[i]);
          most[i] = -min(-odd[i], -even[i], -again.odd[i], -again.even[i]);
        }
      }
      return new Times(typical, least, most);
    }

    private static double min(double... values) {
      return Arrays.stream(values).min().orElseThrow();
    }

    /** Returns the number of candidates that took about the same in either half. */
    long agreeing() {
      return IntStream.range(0, typical.length)
          .filter(i -> Math.max(odd[i], even[i]) <= SAME * Math.min(odd[i], even[i]))
          .filter(this::isThere)
          .count();
    }

    long measured() {
      return IntStream.range(0, typical.length).filter(this::isThere).count();
    }

    boolean isThere(int candidate) {
      return Double.isFinite(typical[candidate]);
    }
  }

  /**
   * Measures and decides.
   *
   * @param from the least number of bytes that go in frames
   * @return rows for what is faster than what the shipped table says, the same on all ranks; null
   *     if nothing was measured well
   */
  public @Nullable List<Row> run(int from) {
    findCandidates();
    List<Times> all = new ArrayList<>();
    int first = 0;
    while (SIZES[first] < from) {
      first++;
    }
    for (int size = first; size < SIZES.length; size++) {
      long before = elapsed();
      Times last = all.isEmpty() ? null : all.get(all.size() - 1);
      boolean[] wanted = wanted(size, last);
      if (last != null && before + LEAST_TURNS * turn(last, wanted, size) > limit(size)) {
        break;
      }
      all.add(measured(size, wanted, limit(size)));
    }
    long agreeing = all.stream().mapToLong(Times::agreeing).sum();
    if (4 * agreeing < 3 * all.stream().mapToLong(Times::measured).sum()) {
      return null;
    }
    for (int i = 0; i < all.size(); i++) {
      Times times = all.get(i);
      boolean[] doubtful = doubtful(first + i, times);
      if (IntStream.range(0, doubtful.length).anyMatch(one -> doubtful[one])) {
        all.set(i, times.confirmedBy(measured(first + i, doubtful, elapsed() + AGAIN_NANOS)));
      }
    }
    long[] now = {System.currentTimeMillis()};
    group.allReduce(now, ReduceOp.MAX);
    String when = "tune() on " + Instant.ofEpochMilli(now[0]).truncatedTo(ChronoUnit.SECONDS);
    List<Row> rows = new ArrayList<>();
    for (Collective collective : TUNED) {
      for (int i = 0; i < all.size(); i++) {
        Row row = row(collective, first + i, all.get(i), when);
        if (row != null) {
          rows.add(row);
        }
      }
    }
    return rows;
  }

  /**
   * Finds the candidates that all ranks have: a rank that lacks a module lacks its algorithms, and
   * then no rank takes them.
   */
  private void findCandidates() {
    List<Optional<Algorithm>> here = shipped.candidates();
    int[] present = here.stream().mapToInt(each -> each.isPresent() ? 1 : 0).toArray();
    group.allReduce(present, ReduceOp.MIN);
    for (int i = 0; i < present.length; i++) {
      if (present[i] == 1) {
        candidates.add(here.get(i).orElseThrow());
        by.add(group.using(here.get(i).orElseThrow()));
      }
    }
  }

  private static long limit(int size) {
    return UNTIL_MILLIS[size] * NANOS_OF_MILLI;
  }

  private boolean[] wanted(int size, @Nullable Times last) {
    boolean[] wanted = new boolean[candidates.size()];
    Arrays.fill(wanted, true);
    if (last != null && SIZES[size] > LONG) {
      double least = Arrays.stream(last.typical).min().orElseThrow();
      for (int i = 0; i < wanted.length; i++) {
        wanted[i] = last.typical[i] <= FAR_BEHIND * least;
      }
    }
    int kept = kept(Collective.ALL_REDUCE, size);
    if (kept >= 0) {
      wanted[kept] = true;
    }
    return wanted;
  }

  /**
   * Returns the time that a turn of some candidates will take at most, from their times at the size
   * before.
   */
  private static long turn(Times last, boolean[] wanted, int size) {
    double growth = (double) SIZES[size] / SIZES[size - 1];
    double least = Arrays.stream(last.typical).min().orElseThrow();
    double sum = 0;
    for (int i = 0; i < wanted.length; i++) {
      double before = last.isThere(i) ? last.typical[i] : FAR_BEHIND * least;
      sum += wanted[i] ? growth * before : 0;
    }
    return SIZES[size] > LONG ? (long) sum : 0;
  }

  /** Returns who is faster than what the shipped table says, and what that is. */
  private boolean[] doubtful(int size, Times times) {
    boolean[] doubtful = new boolean[candidates.size()];
    for (Collective collective : TUNED) {
      int old = kept(collective, size);
      int best = best(collective, times);
      if (best >= 0 && old >= 0 && times.isThere(old) && times.isFaster(best, old)) {
        doubtful[old] = true;
        doubtful[best] = true;
      }
    }
    return doubtful;
  }

  private Times measured(int size, boolean[] wanted, long until) {
    int count = wanted.length;
    double[] samples = new double[count * MOST_TURNS];
    int turns = 0;
    do {
      for (int i = 0; i < count; i++) {
        if (wanted[i]) {
          samples[turns * count + i] = time(by.get(i), SIZES[size]);
        }
      }
      turns++;
    } while (turns < LEAST_TURNS || turns < MOST_TURNS && elapsed() < until);
    double[] all = Arrays.copyOf(samples, turns * count);
    group.allReduce(all, ReduceOp.MAX);
    int begin = turns < MANY_TURNS ? 0 : turns / 2;
    double[][] typical = new double[3][count];
    for (int i = 0; i < count; i++) {
      for (int half = 0; half < typical.length; half++) {
        typical[half][i] =
            wanted[i] ? typical(all, i, count, begin, half) : Double.POSITIVE_INFINITY;
      }
    }
    return new Times(typical[0], typical[1], typical[2]);
  }

  /**
   * The median of many samples, the lower quartile of few.
   *
   * @param samples of some candidates in turn
   * @param half 0 for all turns from {@code begin} on, 1 for the odd ones, 2 for the even ones
   */
  static double typical(double[] samples, int candidate, int count, int begin, int half) {
    double[] some =
        IntStream.range(begin, samples.length / count)
            .filter(turn -> half == 0 || turn % 2 == half % 2)
            .mapToDouble(turn -> samples[turn * count + candidate])
            .sorted()
            .toArray();
    return some[begin == 0 ? (some.length - 1) / 4 : some.length / 2];
  }

  /** The nanoseconds since this tuner was made, the most of all ranks. */
  private long elapsed() {
    long[] elapsed = {nanoTime.getAsLong() - start};
    group.allReduce(elapsed, ReduceOp.MAX);
    return elapsed[0];
  }

  private double time(Communicator algorithm, int bytes) {
    Payload part = Payload.of(payload, 0, bytes / Float.BYTES);
    group.barrier();
    long begin = nanoTime.getAsLong();
    algorithm.allReduce(part, ReduceOp.SUM);
    return nanoTime.getAsLong() - begin;
  }

  /** The row for a size, if something is faster there than what the shipped table says. */
  private @Nullable Row row(Collective collective, int size, Times times, String when) {
    int old = kept(collective, size);
    int best = best(collective, times);
    if (best < 0 || old < 0 || best == old || !times.isThere(old) || !times.isFaster(best, old)) {
      return null;
    }
    long from = size == 0 ? 0 : middle(SIZES[size - 1], SIZES[size]) + 1;
    // What is fastest at the greatest size is so beyond.
    boolean isLast = size == SIZES.length - 1;
    long to = isLast ? Range.NO_END : middle(SIZES[size], SIZES[size + 1]);
    return new Row(
        locality,
        collective,
        new Range(group.size(), group.size()),
        new Range(from, to),
        candidates.get(best),
        String.format(
            Locale.ROOT,
            "%s: all-reduces of %,d bytes took %.1f us, by %s %.1f us",
            when,
            SIZES[size],
            times.typical[best] / 1e3,
            candidates.get(old).name(),
            times.typical[old] / 1e3));
  }

  /** Returns the candidate that the shipped table takes, -1 if it is none. */
  private int kept(Collective collective, int size) {
    return candidates.indexOf(shipped.choose(collective, SIZES[size], false).algorithm());
  }

  /** Returns the candidate that took the least time, -1 if there is none. */
  private int best(Collective collective, Times times) {
    int best = -1;
    for (int i = 0; i < candidates.size(); i++) {
      boolean fits =
          collective == Collective.ALL_REDUCE || OF_HALVES.contains(candidates.get(i).name());
      if (fits && (best < 0 || times.typical[i] < times.typical[best])) {
        best = i;
      }
    }
    return best;
  }

  /** The geometric mean. */
  static long middle(long one, long other) {
    return Math.round(Math.sqrt((double) one * other));
  }
}
