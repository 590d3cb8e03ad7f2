package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.UnavailableException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleFunction;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Measures all-reduces of a group, all ranks at once and by every candidate in turn, so that what
 * disturbs one disturbs all: payloads that stay in cache and, between processes before, one that
 * does not; between threads then one four times as long by those that were fastest, and longer or
 * shorter frames for the fastest. Early turns of short payloads, in which the just-in-time compiler
 * is at work, are left out, and so are, as time goes on, the candidates that are far behind: the
 * others get their turns. All ranks begin each call together, and it takes what the slowest of them
 * takes; else algorithms in which some ranks have little to do would be measured shorter, and what
 * follows them longer. The median of these counts: one set of numbers for all.
 *
 * <p>Of long payloads only a few calls fit into the time. As what disturbs them makes them longer,
 * never shorter, their lower quartile counts instead, which is the least of up to four. Sizes that
 * the time is too short for are told from the ones before.
 *
 * <p>In code that has hardly run, a second may not be enough for the compilers alone. So what was
 * measured is believed only if the odd turns say about the same as the even ones ({@link #agree}):
 * in programs that had made calls of each size long enough, three quarters of the calls differed by
 * 1.07 to 1.25, in others by 2.5 and more, and then anything could seem fastest. Where short
 * payloads are not believed, nothing is, and calls are decided as before.
 *
 * <p>Where ranks outnumber the processors a call may take twice as long as the one before, and a
 * second holds few calls of long payloads; so what a candidate was worth at the sizes next to one
 * counts there, too ({@link #smoothed}).
 */
final class Tuner {
  /** Measured by all; one of {@link #longest} may follow. */
  private static final int[] SIZES = {
    8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20
  };

  /** The index of the size that is in cache no more. */
  private static final int LARGE = SIZES.length - 1;

  private static final int LONGEST = 32 << 20;

  /** Of what is free in the heap of a JVM, its ranks take that part together at most. */
  private static final int PART_OF_HEAP = 8;

  /** How many tuners run in this JVM. */
  private static final AtomicInteger TUNING = new AtomicInteger();

  /** An exchange sends the payload to everybody, so it is for short ones only. */
  private static final int SIZES_OF_EXCHANGE = 5;

  /**
   * Two servers take fewer messages, but do all the work: from 1 MiB on another was as fast or
   * faster in 23 of 24 cells of two tables of all algorithms.
   */
  private static final int SIZES_OF_SERVERS = 7;

  /** Recursive doubling sends the payload in each round. */
  private static final int SIZES_OF_DOUBLING = 5;

  /** So does a tree, but by few ranks in each. */
  private static final int SIZES_OF_TREE = 7;

  /**
   * Over sockets the first so many sizes are too short for anything but messages to matter, and
   * some candidates send more of them in more rounds than others do, whatever the number of ranks.
   * The smallest tells what a message costs.
   */
  private static final int SIZES_OF_MESSAGES = 4;

  /** How many times as long as the fastest the others take there, at least. */
  private static final double MORE_MESSAGES = 1.3;

  private static final long SMALL_UNTIL_NANOS = 450_000_000;

  /**
   * Between processes the large size is first: in a program that has made long calls only, short
   * ones begin with the just-in-time compilers of all ranks on all processors.
   */
  private static final long LARGE_FIRST_UNTIL_NANOS = 450_000_000;

  private static final long LAST_UNTIL_NANOS = 950_000_000;

  private static final long LARGE_UNTIL_NANOS = 600_000_000;
  private static final long LONGEST_UNTIL_NANOS = 780_000_000;
  private static final long FRAMES_UNTIL_NANOS = 900_000_000;

  /** How many turns there are: of short payloads many fit into the time, of long ones few. */
  private enum Turns {
    MANY(8, 400),
    FEW(4, 40);

    /** Nobody is left out before. */
    final int least;

    final int most;

    Turns(int least, int most) {
      this.least = least;
      this.most = most;
    }
  }

  /** What is measured twice may differ by so much. */
  private static final double SAME = 1.5;

  /** How much longer than the settings say frames are. Over sockets shorter ones do not gain. */
  private static final double[] FRAMES = {1};

  /** The same where nothing is copied into frames. */
  private static final double[] SHARED_FRAMES = {4, 1, 8};

  /** Another length must save so much, or it is noise: few of these calls fit into the time. */
  private static final double WORTH = 0.75;

  /**
   * Who takes so many times as long as the fastest is measured no more, after a quarter of the
   * time, a half, and three quarters.
   */
  private static final double[] FAR_BEHIND = {2, 1.4, 1.2};

  /** At most so many are measured at the greatest size, the fastest of the size before. */
  private static final int FINALISTS = 3;

  /** Who takes so many times as long as the fastest there is none of them. */
  private static final double NO_FINALIST = 1.5;

  private final Communicator group;
  private final Medium medium;
  private final boolean sharesMemory;

  /** The lengths to try, the usual one first. */
  private final double[] frames;

  private final DoubleFunction<Communicator> byFrames;
  private final List<Algorithm> candidates;
  private final LongSupplier nanoTime;
  private final long start;

  /** The sizes that are measured. */
  private int[] sizes = SIZES;

  /** As long as what was measured so far needs. */
  private float[] payload = {};

  /**
   * A tuner that makes its calls in {@code group}, where nobody else makes any.
   *
   * @param group by an algorithm that any size of group has
   * @param byFrames the group with frames so many times as long
   * @param nanoTime the clock, as {@link System#nanoTime}
   */
  Tuner(
      Communicator group,
      Medium medium,
      DoubleFunction<Communicator> byFrames,
      LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    this.start = nanoTime.getAsLong();
    this.group = group;
    this.medium = medium;
    this.sharesMemory = medium == Medium.THREADS;
    this.frames = sharesMemory ? SHARED_FRAMES : FRAMES;
    this.byFrames = byFrames;
    this.candidates = Chooser.candidates(group.size());
  }

  /** One thing to be measured: a call by a candidate. */
  private record Experiment(int candidate, Communicator by, int size) {}

  /**
   * Measures and decides.
   *
   * @return null if what was measured is not believed
   */
  @Nullable Chooser run() {
    TUNING.incrementAndGet();
    try {
      return measured();
    } finally {
      TUNING.decrementAndGet();
    }
  }

  private @Nullable Chooser measured() {
    // Who lacks a module lacks its algorithms, and then nobody takes them.
    int[] present = IntStream.range(0, candidates.size()).map(this::isPresent).toArray();
    group.allReduce(present, ReduceOp.MIN);
    if (sharesMemory) {
      // By now all ranks of this JVM are counted.
      int[] longest = {longest(freeHeap(), TUNING.get())};
      group.allReduce(longest, ReduceOp.MIN);
      if (longest[0] > SIZES[LARGE]) {
        sizes = Arrays.copyOf(SIZES, SIZES.length + 1);
        sizes[LARGE + 1] = longest[0];
      }
    }
    List<Integer> all =
        IntStream.range(0, present.length).filter(i -> present[i] != 0).boxed().toList();
    double[][] nanos = new double[present.length][];
    for (int candidate = 0; candidate < nanos.length; candidate++) {
      nanos[candidate] = new double[sizes(candidate)];
      Arrays.fill(nanos[candidate], Double.POSITIVE_INFINITY);
    }
    if (sharesMemory) {
      if (!measure(nanos, all, 0, LARGE, SMALL_UNTIL_NANOS, Turns.MANY)) {
        return null;
      }
      measureOrTell(nanos, all, LARGE, LARGE_UNTIL_NANOS);
      if (sizes.length > SIZES.length) {
        measureOrTell(nanos, finalists(nanos, LARGE), LARGE + 1, LONGEST_UNTIL_NANOS);
      }
    } else {
      int some = (int) all.stream().filter(i -> nanos[i].length > LARGE).count();
      if (hasTimeForLarge(some)) {
        measure(nanos, all, LARGE, LARGE + 1, LARGE_FIRST_UNTIL_NANOS, Turns.FEW);
      }
      if (!measure(nanos, all, 0, LARGE, LAST_UNTIL_NANOS, Turns.MANY)) {
        return null;
      }
      tellShorter(nanos, LARGE);
      tell(nanos, LARGE, (double) SIZES[LARGE] / SIZES[LARGE - 1]);
    }
    double[][] smoothed = smoothed(nanos);
    Chooser.Measured measured = new Chooser.Measured(sizes, smoothed);
    return new Chooser(group.size(), medium, costs(nanos), measured, bestFrames(smoothed));
  }

  private static long freeHeap() {
    Runtime jvm = Runtime.getRuntime();
    return jvm.maxMemory() - (jvm.totalMemory() - jvm.freeMemory());
  }

  /**
   * The greatest size to measure.
   *
   * @param freeHeap in bytes
   * @param ranks how many ranks share it
   */
  static int longest(long freeHeap, int ranks) {
    int longest = LONGEST;
    while (longest > SIZES[LARGE] && longest > freeHeap / PART_OF_HEAP / ranks) {
      longest /= 2;
    }
    return longest;
  }

  /**
   * Makes one call of the size that is in cache no more, untimed, for the memory of all, if a turn
   * of so many candidates after it fits into the time, as two calls of the size before tell.
   */
  private boolean hasTimeForLarge(int candidates) {
    payload = new float[SIZES[LARGE] / Float.BYTES];
    long[] least = {Long.MAX_VALUE};
    Payload smaller = Payload.of(payload, 0, SIZES[LARGE - 1] / Float.BYTES);
    for (int turn = 0; turn < 2; turn++) {
      group.barrier();
      long begin = nanoTime.getAsLong();
      group.allReduce(smaller, ReduceOp.SUM);
      least[0] = Math.min(least[0], nanoTime.getAsLong() - begin);
    }
    group.allReduce(least, ReduceOp.MAX);
    long growth = SIZES[LARGE] / SIZES[LARGE - 1];
    if (elapsed() + (candidates + 1) * growth * least[0] > LARGE_FIRST_UNTIL_NANOS) {
      return false;
    }
    group.allReduce(payload, ReduceOp.SUM);
    return true;
  }

  /** Measures some candidates at a size if there is time; what was not measured is told. */
  private void measureOrTell(double[][] nanos, List<Integer> some, int size, long untilNanos) {
    double growth = (double) sizes[size] / sizes[size - 1];
    double turn = 0;
    for (int candidate : some) {
      turn += size < nanos[candidate].length ? growth * nanos[candidate][size - 1] : 0;
    }
    if (elapsed() + turn < untilNanos) {
      measure(nanos, some, size, size + 1, untilNanos, Turns.FEW);
    }
    tell(nanos, size, growth);
  }

  /**
   * Measures some candidates at those sizes, from one to before another, that they are for.
   *
   * @return whether that is believed; else nothing was noted
   */
  private boolean measure(
      double[][] nanos, List<Integer> some, int from, int to, long untilNanos, Turns wanted) {
    Communicator usual = byFrames.apply(frames[0]);
    List<Experiment> experiments = new ArrayList<>();
    for (int candidate : some) {
      Communicator by = usual.using(candidates.get(candidate));
      for (int size = from; size < Math.min(to, nanos[candidate].length); size++) {
        if (isWorthATurn(candidate, size)) {
          experiments.add(new Experiment(candidate, by, size));
        }
      }
    }
    double[] measured = measure(experiments, untilNanos, wanted);
    for (int i = 0; i < measured.length; i++) {
      nanos[experiments.get(i).candidate][experiments.get(i).size] = measured[i];
    }
    return measured.length > 0;
  }

  /**
   * The fastest candidates at a size, the fastest first.
   *
   * @param nanos by candidate and size; infinite for candidates that are not there
   */
  static List<Integer> finalists(double[][] nanos, int size) {
    List<Integer> fastest =
        IntStream.range(0, nanos.length)
            .filter(candidate -> size < nanos[candidate].length)
            .filter(candidate -> Double.isFinite(nanos[candidate][size]))
            .boxed()
            .sorted(Comparator.comparingDouble(candidate -> nanos[candidate][size]))
            .limit(FINALISTS)
            .toList();
    double least = nanos[fastest.get(0)][size];
    return fastest.stream().filter(i -> nanos[i][size] < NO_FINALIST * least).toList();
  }

  /**
   * Fills in what was not measured at a size: it grows as what was measured there and grew most, so
   * that who was behind at the size before is not ahead here.
   *
   * @param nanos by candidate and size; infinite where it was not measured
   * @param growth of all if nothing was measured at that size
   */
  static void tell(double[][] nanos, int size, double growth) {
    double most =
        Arrays.stream(nanos)
            .filter(times -> size < times.length && Double.isFinite(times[size]))
            .mapToDouble(times -> times[size] / times[size - 1])
            .max()
            .orElse(growth);
    for (double[] times : nanos) {
      if (size < times.length && !Double.isFinite(times[size])) {
        times[size] = most * times[size - 1];
      }
    }
  }

  private boolean isWorthATurn(int candidate, int size) {
    return switch (candidate) {
      case Chooser.DIRECT, Chooser.RING -> sharesMemory || size == 0 || size >= SIZES_OF_MESSAGES;
      case Chooser.HALVING_DOUBLING -> sharesMemory || size >= SIZES_OF_MESSAGES;
      default -> true;
    };
  }

  /**
   * Fills in what was not measured at the first sizes: a candidate is as far behind the fastest as
   * at the next size where it was measured, and it was not measured because it is behind.
   *
   * @param nanos by candidate and size; infinite where it was not measured
   */
  static void tellShorter(double[][] nanos, int sizes) {
    double[] least = least(nanos);
    for (double[] times : nanos) {
      for (int size = Math.min(sizes, times.length) - 2; size >= 0; size--) {
        if (!Double.isFinite(times[size])) {
          double behind = Math.max(MORE_MESSAGES, times[size + 1] / least[size + 1]);
          times[size] = least[size] * behind;
        }
      }
    }
  }

  /** What the fastest took at each size. */
  private static double[] least(double[][] nanos) {
    int sizes = Arrays.stream(nanos).mapToInt(times -> times.length).max().orElse(0);
    double[] least = new double[sizes];
    Arrays.fill(least, Double.POSITIVE_INFINITY);
    for (double[] times : nanos) {
      for (int size = 0; size < times.length; size++) {
        least[size] = Math.min(least[size], times[size]);
      }
    }
    return least;
  }

  /** Up to how many sizes a candidate is for. */
  private int sizes(int candidate) {
    return switch (candidate) {
      case Chooser.EXCHANGE -> SIZES_OF_EXCHANGE;
      case Chooser.RECURSIVE_DOUBLING -> SIZES_OF_DOUBLING;
      case Chooser.BINOMIAL_TREE -> SIZES_OF_TREE;
      case Chooser.TWO_SERVERS -> SIZES_OF_SERVERS;
      default -> sizes.length;
    };
  }

  private int isPresent(int candidate) {
    try {
      group.using(candidates.get(candidate));
      return medium.isCandidate(candidate) ? 1 : 0;
    } catch (UnavailableException e) {
      return 0;
    }
  }

  /**
   * Measures them in turn until the time is over, the same number of turns on all ranks.
   *
   * @param untilNanos since this tuner was made
   * @return the nanoseconds of a call of each, the same on all ranks; empty if it is not believed
   */
  private double[] measure(List<Experiment> experiments, long untilNanos, Turns wanted) {
    int count = experiments.size();
    int most = wanted.most;
    int elements = experiments.stream().mapToInt(this::elements).max().orElseThrow();
    if (payload.length < elements) {
      payload = new float[elements];
    }
    double[] samples = new double[count * most];
    int[] turns = new int[count];
    int[] size = experiments.stream().mapToInt(Experiment::size).toArray();
    double[] behind = new double[count];
    long begin = elapsed();
    long now = begin;
    long nextNanos = 0;
    int left = count;
    int cuts = 0;
    int turn = 0;
    do {
      for (int i = 0; i < count; i++) {
        if (behind[i] == 0) {
          samples[i * most + turns[i]++] = time(experiments.get(i));
        }
      }
      turn++;
      long before = now;
      int measured = left;
      now = elapsed();
      if (cuts < FAR_BEHIND.length
          && turn >= wanted.least
          && now - begin > (untilNanos - begin) * (cuts + 1) / (FAR_BEHIND.length + 1)) {
        double[] typical = typical(counted(samples, turns, wanted), wanted);
        leaveOut(size, typical, FAR_BEHIND[cuts++], behind);
        left = (int) Arrays.stream(behind).filter(times -> times == 0).count();
      }
      if (wanted == Turns.FEW) {
        nextNanos = (now - before) * left / measured;
      }
    } while (turn < most && now + nextNanos < untilNanos);
    double[][] counted = counted(samples, turns, wanted);
    if (!agree(
        typical(everySecond(0, counted), wanted), typical(everySecond(1, counted), wanted))) {
      return new double[0];
    }
    double[] typical = typical(counted, wanted);
    tellLeftOut(size, typical, behind);
    return typical;
  }

  /** The nanoseconds since this tuner was made, the most of all ranks. */
  private long elapsed() {
    long[] elapsed = {nanoTime.getAsLong() - start};
    group.allReduce(elapsed, ReduceOp.MAX);
    return elapsed[0];
  }

  /**
   * The samples of each that count: the later half, or if there are few all.
   *
   * @param samples of this rank, up to the most of each; become those of the slowest
   */
  private double[][] counted(double[] samples, int[] turns, Turns wanted) {
    group.allReduce(samples, ReduceOp.MAX);
    double[][] counted = new double[turns.length][];
    for (int i = 0; i < turns.length; i++) {
      int from = i * wanted.most;
      int first = wanted == Turns.FEW ? 0 : turns[i] / 2;
      counted[i] = Arrays.copyOfRange(samples, from + first, from + turns[i]);
    }
    return counted;
  }

  /** The samples of every second turn, the odd or the even ones. */
  private static double[][] everySecond(int first, double[][] counted) {
    return Arrays.stream(counted)
        .map(
            samples ->
                IntStream.range(0, samples.length)
                    .filter(turn -> turn % 2 == first)
                    .mapToDouble(turn -> samples[turn])
                    .toArray())
        .toArray(double[][]::new);
  }

  /** What each takes: the median, or if there are few samples their lower quartile. */
  private static double[] typical(double[][] counted, Turns wanted) {
    double[] typical = new double[counted.length];
    for (int i = 0; i < typical.length; i++) {
      double[] sorted = counted[i].clone();
      Arrays.sort(sorted);
      int at = wanted == Turns.FEW ? (sorted.length - 1) / 4 : sorted.length / 2;
      typical[i] = sorted.length == 0 ? Double.NaN : sorted[at];
    }
    return typical;
  }

  /**
   * Whether two measurements say about the same, of three quarters of the calls.
   *
   * @param one what each call took by the one; not a number if it was not measured
   */
  static boolean agree(double[] one, double[] other) {
    int same = 0;
    for (int i = 0; i < one.length; i++) {
      same += Math.max(one[i], other[i]) <= SAME * Math.min(one[i], other[i]) ? 1 : 0;
    }
    return 4 * same >= 3 * one.length;
  }

  /**
   * Leaves out who is far behind the fastest of those that are left.
   *
   * @param size what each is measured at
   * @param behind how many times as long as the fastest they took when they were left out; 0 if
   *     they were not. One of each size never is
   */
  static void leaveOut(int[] size, double[] nanos, double farBehind, double[] behind) {
    double[] least = leastOfLeft(size, nanos, behind);
    for (int i = 0; i < nanos.length; i++) {
      if (behind[i] == 0 && nanos[i] > farBehind * least[size[i]]) {
        behind[i] = nanos[i] / least[size[i]];
      }
    }
  }

  /**
   * Whatever disturbed the others since, who was left out is as far behind them as it was then.
   *
   * @param behind as {@link #leaveOut} has it
   */
  static void tellLeftOut(int[] size, double[] nanos, double[] behind) {
    double[] least = leastOfLeft(size, nanos, behind);
    for (int i = 0; i < nanos.length; i++) {
      if (behind[i] > 0) {
        nanos[i] = behind[i] * least[size[i]];
      }
    }
  }

  private static double[] leastOfLeft(int[] size, double[] nanos, double[] behind) {
    double[] least = new double[SIZES.length + 1];
    Arrays.fill(least, Double.POSITIVE_INFINITY);
    for (int i = 0; i < nanos.length; i++) {
      if (behind[i] == 0) {
        least[size[i]] = Math.min(least[size[i]], nanos[i]);
      }
    }
    return least;
  }

  /**
   * The same with less noise: how many times as long as the fastest a candidate takes changes
   * little from one size to the next, so it is the geometric mean of what was measured at a size,
   * counted twice, and at its neighbours.
   *
   * @param nanos by candidate and size; infinite for candidates that are not there
   */
  static double[][] smoothed(double[][] nanos) {
    double[] least = least(nanos);
    double[][] smoothed = new double[nanos.length][];
    for (int candidate = 0; candidate < nanos.length; candidate++) {
      double[] times = nanos[candidate];
      smoothed[candidate] = times.clone();
      for (int size = 0; size < times.length && Double.isFinite(times[0]); size++) {
        int before = Math.max(0, size - 1);
        int after = Math.min(times.length - 1, size + 1);
        double product =
            Math.pow(times[size] / least[size], 2)
                * (times[before] / least[before])
                * (times[after] / least[after]);
        smoothed[candidate][size] = least[size] * Math.pow(product, 0.25);
      }
    }
    return smoothed;
  }

  private int elements(Experiment experiment) {
    return sizes[experiment.size] / Float.BYTES;
  }

  private double time(Experiment experiment) {
    Payload part = Payload.of(payload, 0, elements(experiment));
    group.barrier();
    long begin = nanoTime.getAsLong();
    experiment.by.allReduce(part, ReduceOp.SUM);
    return nanoTime.getAsLong() - begin;
  }

  private Chooser.Frames bestFrames(double[][] nanos) {
    if (frames.length == 1) {
      return new Chooser.Frames(frames[0], frames[0]);
    }
    List<Experiment> experiments = new ArrayList<>();
    for (int size = LARGE - 1; size <= LARGE; size++) {
      int fastest = finalists(nanos, size).get(0);
      for (double times : frames) {
        Communicator by = byFrames.apply(times).using(candidates.get(fastest));
        experiments.add(new Experiment(fastest, by, size));
      }
    }
    double[] taken = measure(experiments, FRAMES_UNTIL_NANOS, Turns.FEW);
    double[] best = {frames[0], frames[0]};
    for (int size = 0; size < best.length && taken.length > 0; size++) {
      int first = size * frames.length;
      int least = 0;
      for (int i = 1; i < frames.length; i++) {
        if (taken[first + i] < WORTH * taken[first + least]) {
          least = i;
        }
      }
      best[size] = frames[least];
    }
    return new Chooser.Frames(best[0], best[1]);
  }

  /**
   * Hop and frame from the smallest ring and exchange, which take 2(n-1)(hop + frame) and hop +
   * (n-1) frame; what it takes to move a byte from the largest direct all-reduce in cache.
   */
  private Costs costs(double[][] nanos) {
    double others = group.size() - 1;
    double step = nanos[Chooser.RING][0] / (2 * others);
    double exchange = nanos[Chooser.EXCHANGE][0];
    double frame =
        others == 1 ? step / 2 : Math.min(step, Math.max(0, (exchange - step) / (others - 1)));
    int last = LARGE - 1;
    double[] direct = nanos[Chooser.DIRECT];
    double perByte = Math.max(0, (direct[last] - direct[0]) / (SIZES[last] - SIZES[0]));
    double part = others / group.size();
    double[] reduced = {reducedNanos()};
    group.allReduce(reduced, ReduceOp.MAX);
    double moved = Math.max(0, (perByte - part * reduced[0]) / (2 * part));
    return new Costs(step - frame, frame, moved, reduced[0]);
  }

  /** What it takes to add a byte, of memory in cache. */
  private static double reducedNanos() {
    float[] a = new float[16 << 10];
    float[] b = new float[a.length];
    double best = Double.MAX_VALUE;
    for (int turn = 0; turn < 200; turn++) {
      long start = System.nanoTime();
      for (int i = 0; i < a.length; i++) {
        a[i] += b[i];
      }
      best = Math.min(best, (System.nanoTime() - start) / (double) (a.length * Float.BYTES));
    }
    return best;
  }
}
