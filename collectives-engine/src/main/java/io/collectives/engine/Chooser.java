package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Explanation;
import io.collectives.WireType;
import io.collectives.spi.InlineExchange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides for {@link Algorithm#auto}. For any thread, and the same on all ranks of a group, because
 * it is made from numbers that they have agreed on.
 *
 * <p>All-reduces of a group that was tuned are predicted by what each algorithm took there, on
 * lines between the sizes that were measured; reduce-scatters and all-gathers by the algorithms
 * whose all-reduce is one of each, as half of that; a barrier goes as all-reduces of 8 bytes do;
 * all else is by {@link Costs}, which speak for some of the candidates only. The decision for each
 * of a few sizes in every octave is made when it is first asked for, and looked up then.
 */
final class Chooser {
  static final int EXCHANGE = 0;
  static final int DIRECT = 1;
  static final int HALVING_DOUBLING = 2;
  static final int RING = 3;

  /** The first ones, whose costs are known without measuring. */
  private static final int PREDICTED = 4;

  /** Where fewer messages are worth more than equal shares: two ranks serve all. */
  static final int TWO_SERVERS = 5;

  /** Likewise, of short payloads; an all-reduce only, as its other collectives are of others. */
  static final int RECURSIVE_DOUBLING = 6;

  /** Fewer still, in more rounds; likewise. */
  static final int BINOMIAL_TREE = 7;

  private static final long BYTES_OF_BARRIER = 8;

  /** In larger groups a rank would have too many peers. */
  private static final int MOST_RANKS_ALL_TO_ALL = 64;

  /** Sizes are told apart to a quarter of an octave. */
  private static final int STEPS = 4;

  private static final int OCTAVES = 48;

  /** Settings that are shorter or longer than these are meant as they are. */
  private static final int LEAST_FRAME = 16 << 10;

  private static final int MOST_FRAME = 16 << 20;

  private static final long MOST_IN_CACHE = 3 << 20;

  private final int ranks;

  private final Medium medium;
  private final Shortcuts shortcuts;
  private final Costs costs;
  private final @Nullable Measured measured;
  private final Frames frames;

  /**
   * By collective and size, one more than the candidate; 0 if it was not asked for yet. Whoever
   * asks first decides, and all who do decide the same.
   */
  private final byte[] @Nullable [] choices = new byte[Collective.values().length][];

  /** The same where contributions are to meet. */
  private final byte[] @Nullable [] choicesInOrder = new byte[Collective.values().length][];

  /** A chooser for a group of which nothing is known but its medium. */
  Chooser(int ranks, Medium medium) {
    this(ranks, medium, medium.costs, null, medium.frames);
  }

  /**
   * A chooser for a group.
   *
   * @param measured what all-reduces took in this very group, if that is known
   * @param frames how long the frames of an all-reduce are best
   */
  Chooser(int ranks, Medium medium, Costs costs, @Nullable Measured measured, Frames frames) {
    this(ranks, medium, costs, measured, frames, Shortcuts.NONE);
  }

  private Chooser(
      int ranks,
      Medium medium,
      Costs costs,
      @Nullable Measured measured,
      Frames frames,
      Shortcuts shortcuts) {
    this.medium = medium;
    this.shortcuts = shortcuts;
    this.frames = frames;
    this.ranks = ranks;
    this.costs = costs;
    this.measured = measured;
  }

  /** The same in a group that has shortcuts. */
  Chooser with(Shortcuts some) {
    return new Chooser(ranks, medium, costs, measured, frames, some);
  }

  /**
   * What some calls of a group are chosen for without a measurement, all-reduces that need no
   * frames among them: the group that is tuned has frames only.
   *
   * @param mailed up to how many bytes an exchange goes by {@link InlineExchange}
   * @param reached from how many bytes on payloads mostly lie in memory that all ranks reach, and
   *     are so long that nothing else counts: a direct all-reduce reads each number where it lies
   *     and writes it where it belongs, once
   */
  record Shortcuts(long mailed, long reached) {
    static final Shortcuts NONE = new Shortcuts(-1, Long.MAX_VALUE);
  }

  /**
   * The times of all-reduces in nanoseconds, by candidate and size. What was not measured up to the
   * largest size is for payloads of less than twice its own last one: it sends more than others,
   * and times in cache say nothing of those beyond.
   */
  record Measured(int[] sizes, double[][] nanos) {

    double predict(int candidate, double bytes) {
      double[] times = nanos[candidate];
      if (!Double.isFinite(times[0])) {
        return Double.POSITIVE_INFINITY; // Not all ranks have it.
      }
      int last = times.length - 1;
      if (bytes >= 2.0 * sizes[last] && times.length < sizes.length) {
        return Double.POSITIVE_INFINITY;
      }
      if (bytes > sizes[last]) {
        // What a line through two short times would say of long ones is noise.
        return times[last] * (bytes / sizes[last]);
      }
      int next = 1;
      while (next < times.length - 1 && sizes[next] < bytes) {
        next++;
      }
      double slope = Math.max(0, (times[next] - times[next - 1]) / (sizes[next] - sizes[next - 1]));
      return times[next - 1] + slope * Math.max(0, bytes - sizes[next - 1]);
    }
  }

  /** What there is to choose from in a group of so many ranks; never empty. */
  static List<Algorithm> candidates(int ranks) {
    List<Algorithm> candidates =
        List.of(
            Algorithm.exchange(),
            Algorithm.direct(),
            Algorithm.halvingDoubling(),
            Algorithm.ring(),
            Algorithm.doubleBinaryTree(),
            Algorithm.parameterServer(2),
            Algorithm.recursiveDoubling(),
            Algorithm.binomialTree());
    // With two ranks the last ones would be what direct is, and what an exchange is.
    return ranks > 2 ? candidates : candidates.subList(0, TWO_SERVERS);
  }

  boolean isMeasured() {
    return measured != null;
  }

  /** The costs, for groups that are made from this one. */
  Costs costs() {
    return costs;
  }

  /** The frames, for groups that are made from this one. */
  Frames frames() {
    return frames;
  }

  /**
   * How long frames are best, as a multiple of the length in the settings.
   *
   * @param inCache for payloads that stay in a cache
   * @param beyond for larger ones
   */
  record Frames(double inCache, double beyond) {
    static final Frames OF_SOCKETS = new Frames(1, 1);

    /** Where nothing is copied into frames. */
    static final Frames OF_SHARED_MEMORY = new Frames(4, 4);

    /** The length for an all-reduce of so many bytes. */
    int length(int setting, long bytes) {
      return frameLength(setting, bytes <= MOST_IN_CACHE ? inCache : beyond);
    }
  }

  /** The length of frames that are so many times as long as the settings say, within reason. */
  static int frameLength(int length, double frames) {
    double wanted = length * frames;
    return wanted < LEAST_FRAME || wanted > MOST_FRAME ? length : (int) wanted;
  }

  /** The index of the candidate for a call. */
  int choose(Collective collective, long bytes) {
    return choose(choices, collective, sizeOf(bytes), false);
  }

  /** The index of the candidate for a reduction in rank order, whatever it adds. */
  int chooseInOrder(Collective collective, long bytes) {
    return choose(choicesInOrder, collective, sizeOf(bytes), true);
  }

  private int choose(
      byte[] @Nullable [] known, Collective collective, int size, boolean inRankOrder) {
    byte[] bySize = known[collective.ordinal()];
    if (bySize == null) {
      bySize = new byte[OCTAVES * STEPS];
      known[collective.ordinal()] = bySize;
    }
    int choice = bySize[size] - 1;
    if (choice < 0) {
      choice = best(collective, bytesOf(size), inRankOrder);
      bySize[size] = (byte) (choice + 1);
    }
    return choice;
  }

  /** About how many bytes cross the links for so many bytes of float32 elements in memory. */
  static long crossing(long bytes, WireType wire) {
    return switch (wire) {
      case AS_IN_MEMORY -> bytes;
      case BFLOAT16, FLOAT16 -> bytes / 2;
      case INT8 -> bytes / 4;
    };
  }

  /** Counts what this rank sends. */
  interface SentBytes {
    /** Of so many bytes of float32 elements, by an algorithm in frames of a length. */
    long count(Algorithm algorithm, long bytes, int frameLength);
  }

  /** See {@link io.collectives.Communicator#explain}. */
  Explanation explain(
      long bytes,
      boolean inRankOrder,
      WireType wire,
      SentBytes sent,
      int frameSetting,
      long libraryBytes,
      List<String> transports) {
    long crossing = crossing(bytes, wire);
    List<Explanation.Prediction> predictions = new ArrayList<>();
    List<Algorithm> candidates = candidates(ranks);
    for (int candidate = 0; candidate < candidates.size(); candidate++) {
      double nanos = predict(Collective.ALL_REDUCE, candidate, crossing);
      if (isAllowed(candidate, inRankOrder) && Double.isFinite(nanos)) {
        predictions.add(new Explanation.Prediction(candidates.get(candidate), nanos / 1e3));
      }
    }
    predictions.sort(Comparator.comparingDouble(Explanation.Prediction::micros));
    Algorithm chosen =
        candidates.get(
            inRankOrder
                ? chooseInOrder(Collective.ALL_REDUCE, crossing)
                : choose(Collective.ALL_REDUCE, crossing));
    int frameLength = frames.length(frameSetting, bytes);
    return new Explanation(
        bytes,
        wire,
        sent.count(chosen, bytes, frameLength),
        ranks,
        chosen,
        frameLength,
        predictions,
        new Explanation.Costs(
            isMeasured(), costs.hop() / 1e3, costs.frame() / 1e3, costs.moved(), costs.reduced()),
        libraryBytes,
        transports);
  }

  private double predict(Collective collective, int candidate, double bytes) {
    if (collective == Collective.ALL_REDUCE && candidate == EXCHANGE && bytes <= shortcuts.mailed) {
      return costs.hop() + costs.frame(); // More than it takes.
    }
    if (measured != null && isOfAllReduces(collective)) {
      return part(collective, candidate) * measured.predict(candidate, bytes);
    }
    boolean sendsFew = candidate == RECURSIVE_DOUBLING || candidate == BINOMIAL_TREE;
    return candidate < PREDICTED || sendsFew && collective == Collective.ALL_REDUCE
        ? costs.predict(collective, candidate, ranks, bytes)
        : Double.POSITIVE_INFINITY;
  }

  /** What is compared: the same, but longer for those that must lead. */
  private double weight(Collective collective, int candidate, double bytes) {
    double nanos = predict(collective, candidate, bytes);
    return isOfAllReduces(collective)
        ? nanos * medium.lead(collective, candidate, ranks, bytes)
        : nanos;
  }

  /** Whether what all-reduces take speaks for a collective. */
  private static boolean isOfAllReduces(Collective collective) {
    return collective == Collective.ALL_REDUCE
        || collective == Collective.REDUCE_SCATTER
        || collective == Collective.ALL_GATHER;
  }

  /** Which part of an all-reduce by a candidate another collective is; infinite if it is none. */
  private static double part(Collective collective, int candidate) {
    if (collective == Collective.ALL_REDUCE) {
      return 1;
    }
    boolean isOneOfEach = candidate == DIRECT || candidate == HALVING_DOUBLING || candidate == RING;
    return isOneOfEach ? 0.5 : Double.POSITIVE_INFINITY;
  }

  private boolean isAllowed(int candidate, boolean inRankOrder) {
    boolean meets = candidate == EXCHANGE || candidate == DIRECT || candidate == TWO_SERVERS;
    return inRankOrder ? meets : ranks <= MOST_RANKS_ALL_TO_ALL || !meets;
  }

  private int best(Collective collective, double bytes, boolean inRankOrder) {
    if (collective == Collective.BARRIER) {
      return best(Collective.ALL_REDUCE, BYTES_OF_BARRIER, inRankOrder);
    }
    if (collective == Collective.ALL_REDUCE && bytes <= shortcuts.mailed) {
      return EXCHANGE;
    }
    if (collective == Collective.ALL_REDUCE
        && bytes >= shortcuts.reached
        && ranks <= MOST_RANKS_ALL_TO_ALL) {
      return DIRECT;
    }
    if (collective == Collective.BROADCAST && medium.broadcastsByTree(bytes)) {
      return HALVING_DOUBLING;
    }
    int best = -1;
    for (int candidate = 0; candidate < candidates(ranks).size(); candidate++) {
      if (isAllowed(candidate, inRankOrder)
          && (best < 0 || weight(collective, candidate, bytes) < weight(collective, best, bytes))) {
        best = candidate;
      }
    }
    return best;
  }

  /** The number of the range of sizes that a payload belongs to. */
  private static int sizeOf(long bytes) {
    long atLeast = Math.max(bytes, STEPS);
    int octave = Long.SIZE - 1 - Long.numberOfLeadingZeros(atLeast);
    int step = (int) (atLeast >>> octave - 2) & STEPS - 1;
    return Math.min(OCTAVES - 1, octave) * STEPS + step;
  }

  /** About the middle of that range. */
  private static double bytesOf(int size) {
    return Math.scalb(1 + (size % STEPS + 0.5) / STEPS, size / STEPS);
  }

  @Override
  public String toString() {
    return costs + (measured == null ? "" : ", measured " + Arrays.deepToString(measured.nanos));
  }
}
