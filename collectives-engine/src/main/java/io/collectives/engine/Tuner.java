package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.UnavailableException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleFunction;

/**
 * Measures all-reduces of a group, all ranks at once and by every candidate in turn, so that what
 * disturbs one disturbs all: first of payloads that stay in cache, then of one that does not, then
 * longer or shorter frames for those that were fastest. Early turns, in which the just-in-time
 * compiler is at work, are left out, and so are, as time goes on, the candidates that are far
 * behind: the others get their turns. Every rank takes the median of its own, and all take the
 * greatest of these: one set of numbers for all.
 *
 * <p>Where ranks outnumber the processors a call may take twice as long as the one before, and a
 * second holds few calls of long payloads; so what a candidate was worth at the sizes next to one
 * counts there, too ({@link #smoothed}).
 */
final class Tuner {
  private static final int[] SIZES = {
    8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20
  };

  /** The index of the size that is in cache no more. */
  private static final int LARGE = SIZES.length - 1;

  /** An exchange sends the payload to everybody, so it is for short ones only. */
  private static final int SIZES_OF_EXCHANGE = 5;

  /** Recursive doubling sends the payload in each round. */
  private static final int SIZES_OF_DOUBLING = 6;

  private static final long SMALL_UNTIL_NANOS = 500_000_000;
  private static final long LARGE_UNTIL_NANOS = 750_000_000;
  private static final long FRAMES_UNTIL_NANOS = 900_000_000;
  private static final int MOST_TURNS = 400;
  private static final int MOST_LARGE_TURNS = 20;

  /** Short calls are measured several at once, so that one rank that comes late counts less. */
  private static final int[] CALLS = {4, 4, 2, 2, 1, 1, 1, 1};

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

  private final Communicator group;

  /** The lengths to try, the usual one first. */
  private final double[] frames;

  private final DoubleFunction<Communicator> byFrames;
  private final List<Algorithm> candidates;
  private final float[] payload = new float[SIZES[LARGE] / Float.BYTES];
  private final long start = System.nanoTime();

  /**
   * A tuner that makes its calls in {@code group}, where nobody else makes any.
   *
   * @param group by an algorithm that any size of group has
   * @param byFrames the group with frames so many times as long
   */
  Tuner(Communicator group, boolean sharesMemory, DoubleFunction<Communicator> byFrames) {
    this.group = group;
    this.frames = sharesMemory ? SHARED_FRAMES : FRAMES;
    this.byFrames = byFrames;
    this.candidates = Chooser.candidates(group.size());
  }

  /** One thing to be measured. */
  private record Experiment(Communicator by, int size) {}

  Chooser run() {
    Communicator usual = byFrames.apply(frames[0]);
    // Who lacks a module lacks its algorithms, and then nobody takes them.
    int[] present = candidates.stream().mapToInt(this::isPresent).toArray();
    group.allReduce(present, ReduceOp.MIN);
    double[][] nanos = new double[candidates.size()][];
    List<Experiment> small = new ArrayList<>();
    List<Experiment> large = new ArrayList<>();
    for (int candidate = 0; candidate < nanos.length; candidate++) {
      int sizes = sizes(candidate);
      nanos[candidate] = new double[sizes];
      Arrays.fill(nanos[candidate], Double.POSITIVE_INFINITY);
      if (present[candidate] != 0) {
        Communicator by = usual.using(candidates.get(candidate));
        for (int size = 0; size < sizes; size++) {
          (size < LARGE ? small : large).add(new Experiment(by, size));
        }
      }
    }
    double[] smallNanos = measure(small, SMALL_UNTIL_NANOS, MOST_TURNS);
    long largeUntil = frames.length > 1 ? LARGE_UNTIL_NANOS : FRAMES_UNTIL_NANOS;
    double[] largeNanos = measure(large, largeUntil, MOST_LARGE_TURNS);
    int nextSmall = 0;
    int nextLarge = 0;
    for (int candidate = 0; candidate < nanos.length; candidate++) {
      for (int size = 0; size < nanos[candidate].length && present[candidate] != 0; size++) {
        nanos[candidate][size] = size < LARGE ? smallNanos[nextSmall++] : largeNanos[nextLarge++];
      }
    }
    double[][] smoothed = smoothed(nanos);
    return new Chooser(
        group.size(), costs(nanos), new Chooser.Measured(SIZES, smoothed), bestFrames(smoothed));
  }

  /** Up to how many sizes a candidate is for. */
  private static int sizes(int candidate) {
    return switch (candidate) {
      case Chooser.EXCHANGE -> SIZES_OF_EXCHANGE;
      case Chooser.RECURSIVE_DOUBLING -> SIZES_OF_DOUBLING;
      default -> SIZES.length;
    };
  }

  private int isPresent(Algorithm algorithm) {
    try {
      group.using(algorithm);
      return 1;
    } catch (UnavailableException e) {
      return 0;
    }
  }

  /**
   * Measures them in turn until the time is over, the same number of turns on all ranks.
   *
   * @param untilNanos since this tuner was made
   * @return the nanoseconds of a call of each, the same on all ranks
   */
  private double[] measure(List<Experiment> experiments, long untilNanos, int most) {
    int count = experiments.size();
    double[][] samples = new double[count][most];
    int[] turns = new int[count];
    boolean[] behind = new boolean[count];
    long[] elapsed = {System.nanoTime() - start};
    group.allReduce(elapsed, ReduceOp.MAX);
    long begin = elapsed[0];
    int cuts = 0;
    int turn = 0;
    do {
      for (int i = 0; i < count; i++) {
        if (!behind[i]) {
          samples[i][turns[i]++] = time(experiments.get(i));
        }
      }
      turn++;
      elapsed[0] = System.nanoTime() - start;
      group.allReduce(elapsed, ReduceOp.MAX);
      if (cuts < FAR_BEHIND.length
          && elapsed[0] - begin > (untilNanos - begin) * (cuts + 1) / (FAR_BEHIND.length + 1)) {
        leaveOut(experiments, medians(samples, turns), FAR_BEHIND[cuts++], behind);
      }
    } while (turn < most && elapsed[0] < untilNanos);
    return medians(samples, turns);
  }

  /** The median of the later half of the samples of each, the greatest of all ranks. */
  private double[] medians(double[][] samples, int[] turns) {
    double[] medians = new double[samples.length];
    for (int i = 0; i < samples.length; i++) {
      double[] late = Arrays.copyOfRange(samples[i], turns[i] / 2, turns[i]);
      Arrays.sort(late);
      medians[i] = late[late.length / 2];
    }
    group.allReduce(medians, ReduceOp.MAX);
    return medians;
  }

  private static void leaveOut(
      List<Experiment> experiments, double[] nanos, double farBehind, boolean[] behind) {
    double[] least = new double[SIZES.length];
    Arrays.fill(least, Double.POSITIVE_INFINITY);
    for (int i = 0; i < nanos.length; i++) {
      int size = experiments.get(i).size;
      least[size] = Math.min(least[size], nanos[i]);
    }
    for (int i = 0; i < nanos.length; i++) {
      behind[i] |= nanos[i] > farBehind * least[experiments.get(i).size];
    }
  }

  /**
   * The same with less noise: how many times as long as the fastest a candidate takes changes
   * little from one size to the next, so it is the geometric mean of what was measured at a size,
   * counted twice, and at its neighbours.
   *
   * @param nanos by candidate and size; infinite for candidates that are not there
   */
  static double[][] smoothed(double[][] nanos) {
    int sizes = SIZES.length;
    double[] least = new double[sizes];
    for (int size = 0; size < sizes; size++) {
      least[size] = Double.POSITIVE_INFINITY;
      for (double[] times : nanos) {
        if (size < times.length) {
          least[size] = Math.min(least[size], times[size]);
        }
      }
    }
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

  private double time(Experiment experiment) {
    int calls = CALLS[experiment.size];
    int elements = SIZES[experiment.size] / Float.BYTES;
    long begin = System.nanoTime();
    for (int i = 0; i < calls; i++) {
      experiment.by.allReduce(payload, 0, elements, ReduceOp.SUM);
    }
    return (System.nanoTime() - begin) / (double) calls;
  }

  private Chooser.Frames bestFrames(double[][] nanos) {
    if (frames.length == 1) {
      return new Chooser.Frames(frames[0], frames[0]);
    }
    List<Experiment> experiments = new ArrayList<>();
    for (int size = LARGE - 1; size <= LARGE; size++) {
      Algorithm fastest = fastest(nanos, size);
      for (double times : frames) {
        experiments.add(new Experiment(byFrames.apply(times).using(fastest), size));
      }
    }
    double[] taken = measure(experiments, FRAMES_UNTIL_NANOS, MOST_LARGE_TURNS);
    double[] best = new double[2];
    for (int size = 0; size < best.length; size++) {
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

  private Algorithm fastest(double[][] nanos, int size) {
    int fastest = Chooser.DIRECT;
    for (int candidate = fastest + 1; candidate < nanos.length; candidate++) {
      if (size < nanos[candidate].length && nanos[candidate][size] < nanos[fastest][size]) {
        fastest = candidate;
      }
    }
    return candidates.get(fastest);
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
