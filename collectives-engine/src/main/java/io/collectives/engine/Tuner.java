package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.UnavailableException;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleFunction;
import java.util.function.IntConsumer;

/**
 * Measures all-reduces of a group, all ranks at once and by every candidate in turn, so that what
 * disturbs one disturbs all: many turns of payloads that stay in cache, then a few of one that does
 * not. Early turns, in which the just-in-time compiler is at work, are left out. Every rank takes
 * the median of its own, and all take the greatest of these: one set of numbers for all.
 */
final class Tuner {
  private static final int[] SIZES = {
    8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20
  };

  private static final int LARGE = SIZES.length - 1;

  /** An exchange of many ranks takes longer and longer; from here on a line goes on. */
  private static final int SIZES_OF_EXCHANGE = 5;

  private static final long SMALL_BUDGET_NANOS = 550_000_000;
  private static final long BUDGET_NANOS = 850_000_000;
  private static final int MOST_TURNS = 400;
  private static final int MOST_LARGE_TURNS = 8;

  /** Short calls are measured several at once, so that one rank that comes late counts less. */
  private static final int[] CALLS = {8, 8, 4, 4, 2, 1, 1, 1};

  /** How much longer than the settings say frames are tried, where they cannot be longer. */
  private static final double[] FRAMES = {1, 0.5, 0.25};

  /** The same where nothing is copied into frames. */
  private static final double[] SHARED_FRAMES = {1, 4, 8};

  /** What is best there as a rule. */
  static final double FRAMES_IN_SHARED_MEMORY = 4;

  /** Another length must save so much, or it may be noise. */
  private static final double WORTH = 0.95;

  private final Communicator group;
  private final double[] frames;
  private final DoubleFunction<Communicator> byFrames;
  private final Algorithm agreeing;
  private final float[] payload = new float[SIZES[LARGE] / Float.BYTES];
  private final List<Algorithm> candidates;

  /** Which of them all ranks have; who lacks a module lacks its algorithms. */
  private final int[] present;

  private final double[][] samples;
  private final double[] medians;

  /**
   * A tuner that makes its calls in {@code group}, where nobody else makes any.
   *
   * @param byFrames the group with frames so many times as long
   */
  Tuner(Communicator group, boolean sharesMemory, DoubleFunction<Communicator> byFrames) {
    this.group = group;
    this.frames = sharesMemory ? SHARED_FRAMES : FRAMES;
    this.byFrames = byFrames;
    this.agreeing = Algorithm.halvingDoubling();
    this.candidates = Chooser.candidates(group.size());
    this.present = candidates.stream().mapToInt(this::isPresent).toArray();
    this.samples = new double[candidates.size() * SIZES.length + frames.length][MOST_TURNS];
    this.medians = new double[samples.length + 1];
  }

  private int isPresent(Algorithm algorithm) {
    try {
      group.using(algorithm);
      return 1;
    } catch (UnavailableException e) {
      return 0;
    }
  }

  Chooser run() {
    Arrays.fill(medians, Double.POSITIVE_INFINITY);
    long start = System.nanoTime();
    group.using(agreeing).allReduce(present, ReduceOp.MIN);
    turns(start, SMALL_BUDGET_NANOS, MOST_TURNS, this::smallTurn);
    medians[samples.length] = reducedNanos();
    group.using(agreeing).allReduce(medians, ReduceOp.MAX);
    double best = bestFrames();
    Communicator framed = byFrames.apply(best);
    turns(start, BUDGET_NANOS, MOST_LARGE_TURNS, turn -> largeTurn(framed, turn));
    group.using(agreeing).allReduce(medians, ReduceOp.MAX);
    return chooser(best);
  }

  /** Takes turns until the time is over, the same number on all ranks, and the medians then. */
  private void turns(long start, long budgetNanos, int most, IntConsumer turn) {
    int turns = 0;
    long[] elapsed = new long[1];
    do {
      turn.accept(turns);
      turns++;
      elapsed[0] = System.nanoTime() - start;
      group.using(agreeing).allReduce(elapsed, ReduceOp.MAX);
    } while (turns < most && elapsed[0] < budgetNanos);
    for (int i = 0; i < samples.length; i++) {
      boolean taken = samples[i][0] > 0; // In these turns.
      if (taken) {
        double[] late = Arrays.copyOfRange(samples[i], turns / 2, turns);
        Arrays.sort(late);
        medians[i] = late[late.length / 2];
        samples[i][0] = 0;
      }
    }
  }

  private void smallTurn(int turn) {
    for (int candidate = 0; candidate < candidates.size(); candidate++) {
      if (present[candidate] != 0) {
        Communicator by = group.using(candidates.get(candidate));
        for (int size = 0; size < Math.min(LARGE, sizes(candidate)); size++) {
          samples[candidate * SIZES.length + size][turn] = time(by, size);
        }
      }
    }
    int first = samples.length - frames.length;
    for (int i = 0; i < frames.length; i++) {
      Communicator by = byFrames.apply(frames[i]).using(Algorithm.direct());
      samples[first + i][turn] = time(by, LARGE - 1);
    }
  }

  private void largeTurn(Communicator framed, int turn) {
    for (int candidate = 0; candidate < candidates.size(); candidate++) {
      if (present[candidate] != 0 && sizes(candidate) > LARGE) {
        Communicator by = framed.using(candidates.get(candidate));
        samples[candidate * SIZES.length + LARGE][turn] = time(by, LARGE);
      }
    }
  }

  private static int sizes(int candidate) {
    return candidate == Chooser.EXCHANGE ? SIZES_OF_EXCHANGE : SIZES.length;
  }

  private double time(Communicator by, int size) {
    int calls = CALLS[size];
    int elements = SIZES[size] / Float.BYTES;
    long start = System.nanoTime();
    for (int i = 0; i < calls; i++) {
      by.allReduce(payload, 0, elements, ReduceOp.SUM);
    }
    return (System.nanoTime() - start) / (double) calls;
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

  private Chooser chooser(double bestFrames) {
    int ranks = group.size();
    double[][] nanos = new double[candidates.size()][];
    for (int candidate = 0; candidate < nanos.length; candidate++) {
      int first = candidate * SIZES.length;
      nanos[candidate] = Arrays.copyOfRange(medians, first, first + sizes(candidate));
    }
    return new Chooser(
        ranks,
        costs(ranks, nanos, medians[samples.length]),
        new Chooser.Measured(SIZES, nanos),
        bestFrames);
  }

  private double bestFrames() {
    int first = samples.length - frames.length;
    int best = 0;
    for (int i = 1; i < frames.length; i++) {
      if (medians[first + i] < WORTH * medians[first + best]) {
        best = i;
      }
    }
    return frames[best];
  }

  /**
   * Hop and frame from the smallest ring and exchange, which take 2(n-1)(hop + frame) and hop +
   * (n-1) frame; what it takes to move a byte from the largest direct all-reduce in cache.
   */
  private static Costs costs(int ranks, double[][] nanos, double reduced) {
    double others = ranks - 1;
    double step = nanos[Chooser.RING][0] / (2 * others);
    double exchange = nanos[Chooser.EXCHANGE][0];
    double frame =
        ranks == 2 ? step / 2 : Math.min(step, Math.max(0, (exchange - step) / (others - 1)));
    int last = LARGE - 1;
    double[] direct = nanos[Chooser.DIRECT];
    double perByte = Math.max(0, (direct[last] - direct[0]) / (SIZES[last] - SIZES[0]));
    double part = others / ranks;
    double moved = Math.max(0, (perByte - part * reduced) / (2 * part));
    return new Costs(step - frame, frame, moved, reduced);
  }
}
