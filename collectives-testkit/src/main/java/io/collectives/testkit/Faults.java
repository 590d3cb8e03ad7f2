package io.collectives.testkit;

import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.RankFailedException;
import io.collectives.spi.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Faults that are injected into a job, for tests of a training loop: late frames, links that stall,
 * break or damage frames, ranks that die. The ranks are threads of the test.
 *
 * <pre>{@code
 * Faults.Report report =
 *     Faults.seed(42).delays(0.1, Duration.ofMillis(2)).killAtCall(3, 7).run(4, this::train);
 * assertEquals(Set.of(3), report.lost());
 * }</pre>
 *
 * <p><b>Moments.</b> The transfers of payloads from one rank to another are numbered from 0, in all
 * groups together; other messages, such as keep-alives and messages about ranks that wait, are not
 * counted. A fault hits a transfer by its number, or with a probability that depends on the seed,
 * both ranks and the number, on nothing else. So a seed hits the same transfers in each run, as
 * long as the program sends the same. The consequences depend on the threads: the rank that learns
 * of a failure first, or the number of transfers before that, may differ.
 *
 * <p><b>What ranks see.</b>
 *
 * <ul>
 *   <li>A <em>delayed</em> transfer arrives later, and so do all that follow on its link: frames
 *       stay in order. A link without messages for longer than {@link CallSettings#silenceLimit()}
 *       is given up.
 *   <li>A <em>cut</em> link is lost at both ends, as with TCP: the higher rank leaves the job, so
 *       the survivors go on without it.
 *   <li>The receiver of a <em>corrupted</em> transfer finds the damage, as with checksums: the
 *       transfer is never delivered, all ranks get a {@link io.collectives.ProtocolException}, and
 *       its sender is left out by {@link Communicator#shrink}.
 *   <li>A rank that is <em>killed</em> sends nothing any more. Its peers lose it as a process that
 *       has died; {@link RankFailedException} names it.
 * </ul>
 *
 * <p>On a rank that is killed, or leaves because of a cut link, calls fail and {@code shrink()}
 * throws a {@link RankFailedException} whose {@link RankFailedException#worldRank} is the rank
 * itself. Let the exception end the body: for {@link #run} such a rank is lost, not wrong.
 *
 * <p>Transports that share memory send bytes under faults: no rank reads another's arrays, short
 * exchanges are sent as frames, and {@link Communicator#allocate} shares no memory.
 *
 * <p>Instances are immutable: each method returns a new one. Several threads may use them, for
 * several jobs at once.
 */
public final class Faults {
  private static final Duration PATIENCE = Duration.ofSeconds(40);

  private final long seed;
  private final Duration patience;
  private final List<Rule> rules;

  private Faults(long seed, Duration patience, List<Rule> rules) {
    this.seed = seed;
    this.patience = patience;
    this.rules = rules;
  }

  /** The effects of faults. */
  enum Effect {
    DELAY,
    CUT,
    CORRUPT,
    KILL
  }

  /**
   * A rule that makes faults.
   *
   * @param from the rank whose transfers it hits; -1 for any, by their probability
   * @param to the rank to which they go; -1 for any, if it is the rank's first transfer of a call
   * @param at the number of the transfer, or of the call
   * @param length the length of a delay; the longest one if it is random
   * @param most the largest number of faults in a job
   */
  record Rule(
      Effect effect, int from, int to, long at, double probability, Duration length, int most) {

    /** Returns whether the fault hits a transfer of a rank. */
    boolean hits(long seed, int place, int sender, int receiver, long number, long call) {
      if (from < 0) {
        return random(seed, place, sender, receiver, number).nextDouble() < probability;
      }
      return sender == from && (to < 0 ? call >= at : to == receiver && number == at);
    }

    /** Returns the delay of a transfer in nanoseconds. */
    long delayNanos(long seed, int place, int sender, int receiver, long number) {
      if (from >= 0) {
        return length.toNanos();
      }
      SplittableRandom random = random(seed, place, sender, receiver, number);
      random.nextDouble();
      return 1 + random.nextLong(length.toNanos());
    }

    private static SplittableRandom random(
        long seed, int place, int sender, int receiver, long number) {
      long mixed = new SplittableRandom(seed).nextLong() + place;
      mixed = new SplittableRandom(mixed).nextLong() + sender;
      mixed = new SplittableRandom(mixed).nextLong() + receiver;
      return new SplittableRandom(new SplittableRandom(mixed).nextLong() + number);
    }
  }

  /**
   * The result of a job.
   *
   * @param seed the seed of its faults
   * @param hits the faults that hit the job, for people, sorted; of delays only their number
   * @param lost the ranks that were killed, or that left because a link to them broke, ascending
   */
  public record Report(long seed, List<String> hits, List<Integer> lost) {}

  /** Makes an object without faults, with a seed for those that are added. */
  public static Faults seed(long seed) {
    return new Faults(seed, PATIENCE, List.of());
  }

  /** Returns the seed. */
  public long seed() {
    return seed;
  }

  /**
   * Returns these faults with a time limit of jobs, after which {@link #run} reports the stack of
   * each rank.
   *
   * @param time the limit; 40 s if it is not set
   */
  public Faults within(Duration time) {
    return new Faults(seed, positive(time), rules);
  }

  /**
   * Adds delays of random transfers.
   *
   * @param probability the probability that a transfer is delayed, from 0 to 1
   * @param longest the longest delay; delays are distributed evenly from 0 to it
   */
  public Faults delays(double probability, Duration longest) {
    return random(Effect.DELAY, probability, positive(longest), Integer.MAX_VALUE);
  }

  /**
   * Adds a time in which nothing arrives from one rank at another.
   *
   * @param frame the number of the first transfer that is delayed
   */
  public Faults stall(int from, int to, long frame, Duration length) {
    return at(Effect.DELAY, from, peer(from, to), frame, positive(length));
  }

  /**
   * Adds breaks of random links.
   *
   * @param probability the probability that a transfer is the last of its link
   * @param most the largest number of links that break, at least 1
   */
  public Faults cuts(double probability, int most) {
    return random(Effect.CUT, probability, Duration.ZERO, most);
  }

  /**
   * Adds a break of the link between two ranks.
   *
   * @param frame the number of the transfer that is lost by it
   */
  public Faults cut(int from, int to, long frame) {
    return at(Effect.CUT, from, peer(from, to), frame, Duration.ZERO);
  }

  /**
   * Adds damage of random transfers.
   *
   * @param probability the probability that a transfer is damaged
   * @param most the largest number of damaged transfers, at least 1
   */
  public Faults corruptions(double probability, int most) {
    return random(Effect.CORRUPT, probability, Duration.ZERO, most);
  }

  /**
   * Adds damage of a transfer.
   *
   * @param frame the number of the transfer
   */
  public Faults corrupt(int from, int to, long frame) {
    return at(Effect.CORRUPT, from, peer(from, to), frame, Duration.ZERO);
  }

  /**
   * Adds deaths of random ranks.
   *
   * @param probability the probability that a rank dies instead of sending a transfer
   * @param most the largest number of ranks that die, at least 1
   */
  public Faults kills(double probability, int most) {
    return random(Effect.KILL, probability, Duration.ZERO, most);
  }

  /**
   * Adds the death of a rank in the middle of its work.
   *
   * @param frame the number of the transfer to {@code to} that it does not send any more
   */
  public Faults kill(int rank, int to, long frame) {
    return at(Effect.KILL, rank, peer(rank, to), frame, Duration.ZERO);
  }

  /**
   * Adds the death of a rank before it sends anything in a call.
   *
   * @param call the number of the call in its group, as {@link Communicator#nextSequence} counts; a
   *     rank that has nothing to send in it dies in the next in which it has
   */
  public Faults killAtCall(int rank, long call) {
    return at(Effect.KILL, rank, -1, call, Duration.ZERO);
  }

  private Faults random(Effect effect, double probability, Duration length, int most) {
    if (!(probability >= 0 && probability <= 1)) {
      throw new IllegalArgumentException("a probability of " + probability + ": 0 to 1 is allowed");
    }
    if (most < 1) {
      throw new IllegalArgumentException("at most " + most + " faults: at least 1 is needed");
    }
    return and(new Rule(effect, -1, -1, -1, probability, length, most));
  }

  private Faults at(Effect effect, int from, int to, long at, Duration length) {
    if (from < 0 || at < 0) {
      throw new IllegalArgumentException(
          "rank " + from + ", number " + at + ": neither can be negative");
    }
    return and(new Rule(effect, from, to, at, 1, length, 1));
  }

  private static int peer(int from, int to) {
    if (to < 0 || to == from) {
      throw new IllegalArgumentException(
          "from rank " + from + " to rank " + to + ": another rank, from 0 on, is needed");
    }
    return to;
  }

  private static Duration positive(Duration length) {
    if (length.isNegative() || length.isZero()) {
      throw new IllegalArgumentException("a time of " + length + ": it must be positive");
    }
    return length;
  }

  private Faults and(Rule rule) {
    List<Rule> all = new ArrayList<>(rules);
    all.add(rule);
    return new Faults(seed, patience, List.copyOf(all));
  }

  /**
   * Runs a job with the default settings; see {@link #run(int, CallSettings, RankThreads.Body)}.
   */
  public Report run(int ranks, RankThreads.Body body) throws InterruptedException {
    return run(ranks, CallSettings.defaults(), body);
  }

  /**
   * Runs a job of threads of this JVM with the in-process transport.
   *
   * @param ranks the number of ranks, at least 1
   * @return a report of the faults, if all ranks that were not lost have ended without an error
   * @throws AssertionError if one has not, or hangs; it names the seed and the faults. Its cause is
   *     the exception of a rank, if possible of one that did not fail because of others
   * @throws IllegalArgumentException if there are no ranks, or faults of ranks beyond them
   */
  public Report run(int ranks, CallSettings calls, RankThreads.Body body)
      throws InterruptedException {
    Objects.requireNonNull(body, "body");
    FaultyJob job = new FaultyJob(seed, rules, ranks);
    List<Opening> openings = new ArrayList<>();
    for (Communicator world : WrappedJobs.inProcess(ranks, calls, job::around)) {
      openings.add(() -> world);
    }
    return run(job, openings, body);
  }

  /**
   * Runs a job of threads of this JVM over any transport, such as TCP.
   *
   * @param ranks the settings with which each rank joins, in the order of ranks
   * @return a report of the faults, as above
   * @throws AssertionError as above
   */
  public Report run(List<JobSettings> ranks, RankThreads.Body body) throws InterruptedException {
    Objects.requireNonNull(body, "body");
    FaultyJob job = new FaultyJob(seed, rules, ranks.size());
    List<Opening> openings = new ArrayList<>();
    for (JobSettings settings : ranks) {
      openings.add(() -> WrappedJobs.join(settings, job::around));
    }
    return run(job, openings, body);
  }

  /**
   * Puts the faults around transports that a test has opened itself: one job for each call of this
   * method. May be applied by several threads.
   *
   * @param ranks the number of ranks of the job, all within this JVM; none of them {@linkplain
   *     Communicator#grow grows}
   */
  public UnaryOperator<Transport> around(int ranks) {
    return new FaultyJob(seed, rules, ranks)::around;
  }

  /** A function that opens the communicator of a rank. */
  private interface Opening {
    Communicator open();
  }

  private Report run(FaultyJob job, List<Opening> ranks, RankThreads.Body body)
      throws InterruptedException {
    Queue<Communicator> worlds = new ConcurrentLinkedQueue<>();
    List<@Nullable Throwable> ends;
    try {
      ends =
          RankThreads.outcomes(
              ranks.size(),
              patience,
              rank -> {
                try (Communicator world = ranks.get(rank).open()) {
                  worlds.add(world);
                  body.run(world);
                }
              });
    } catch (AssertionError hang) {
      worlds.forEach(Communicator::close); // So that threads which wait for others end.
      hang.addSuppressed(new AssertionError(story(job)));
      throw hang;
    }
    TreeSet<Integer> lost = new TreeSet<>(job.killed());
    List<Integer> wrong = new ArrayList<>();
    for (int rank = 0; rank < ranks.size(); rank++) {
      Throwable end = ends.get(rank);
      if (end instanceof RankFailedException failed && failed.worldRank() == rank) {
        lost.add(rank);
      } else if (end != null && !lost.contains(rank)) {
        wrong.add(rank);
      }
    }
    if (!wrong.isEmpty()) {
      // Who fails by itself breaks the calls of all others: the cause comes before what follows.
      wrong.sort(Comparator.comparing(rank -> ends.get(rank) instanceof CollectiveException));
      int first = wrong.remove(0);
      String text = "rank " + first + ": " + ends.get(first) + "; " + story(job);
      AssertionError error = new AssertionError(text, ends.get(first));
      wrong.forEach(rank -> error.addSuppressed(ends.get(rank)));
      throw error;
    }
    return new Report(seed, job.hits(), List.copyOf(lost));
  }

  private String story(FaultyJob job) {
    return "faults of seed " + seed + ": " + job.hits();
  }
}
