package io.collectives.bench.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * Something bad that is done to a job once.
 *
 * @param phase what the job does then
 * @param victim the rank that it is done to
 * @param delayMillis for how long the job sums before, or after the start of the last process that
 *     is started before; 0 if it is idle
 * @param startedBefore the ranks that are started before, in the order in which they are
 * @param startedAfter the ranks that are started at once after; none unless the job is joining
 */
public record Fault(
    Kind kind,
    Phase phase,
    int victim,
    long delayMillis,
    List<Integer> startedBefore,
    List<Integer> startedAfter) {
  private static final int LONGEST_DELAY_MILLIS = 250;

  /** From when on ranks that start are hit, as a part of the time that they take to meet. */
  private static final double FIRST_PART = 0.4;

  /** The latest moment, at which ranks have joined, and make calls. */
  private static final double LAST_PART = 1.6;

  /** The kinds of faults. */
  public enum Kind {
    /** SIGKILL: the system closes the connections of the process. */
    KILL,
    /** SIGSTOP: its connections stay, it does nothing any more; SIGCONT when it was given up. */
    STOP,
    /** The connections between two ranks are reset; both ranks live. */
    RESET,
    /** Packets between two ranks vanish, both ways; both ranks live and reach all others. */
    CUT,
    /** All packets from and to a rank vanish; it lives. */
    ISOLATE;

    /** Returns whether it happens to the connection of two ranks, of which one must give way. */
    boolean hitsPair() {
      return this == RESET || this == CUT;
    }

    /** Returns whether it needs a network whose packets can vanish. */
    public boolean needsNetwork() {
      return this == CUT || this == ISOLATE;
    }

    /** Returns whether it can be done to a job that is still joining. */
    public boolean hitsJoining() {
      return this == KILL || this == STOP;
    }

    /** Returns the name on the command line. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The phases of a job in which it is hit. */
  public enum Phase {
    /** Calls are under way. */
    CALLING,
    /** No call is under way; the calls follow at once. */
    IDLE,
    /** Some ranks are not started yet, or all exchange what they need to begin. */
    JOINING;

    /** Returns the name on the command line. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Keeps copies of the lists. */
  public Fault {
    startedBefore = List.copyOf(startedBefore);
    startedAfter = List.copyOf(startedAfter);
  }

  /**
   * A fault of that kind in that phase, all else by chance.
   *
   * @param victims the ranks that it can hit if the job is not joining; otherwise any
   * @param meetMillis what ranks take from their start until they have met
   */
  public static Fault any(
      Kind kind,
      Phase phase,
      int ranks,
      List<Integer> victims,
      long meetMillis,
      RandomGenerator random) {
    if (phase != Phase.JOINING) {
      int victim = victims.get(random.nextInt(victims.size()));
      long delay = phase == Phase.IDLE ? 0 : random.nextInt(LONGEST_DELAY_MILLIS);
      return new Fault(
          kind, phase, victim, delay, IntStream.range(0, ranks).boxed().toList(), List.of());
    }
    List<Integer> order = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      order.add(random.nextInt(rank + 1), rank);
    }
    // Every other time all are there, as the exchange is the shorter part.
    int started = random.nextBoolean() ? ranks : 1 + random.nextInt(ranks);
    return new Fault(
        kind,
        phase,
        order.get(random.nextInt(started)),
        Math.round(meetMillis * random.nextDouble(FIRST_PART, LAST_PART)),
        order.subList(0, started),
        order.subList(started, ranks));
  }

  /** Returns how many ranks the job has. */
  int ranks() {
    return startedBefore.size() + startedAfter.size();
  }

  /** The other end of a connection that is hit: the next rank, which a ring always needs. */
  int peer() {
    return (victim + 1) % ranks();
  }

  /** Whom all must name. */
  int guilty() {
    return kind.hitsPair() ? Math.max(victim, peer()) : victim;
  }

  @Override
  public String toString() {
    String what =
        kind.hitsPair()
            ? kind + " between ranks " + victim + " and " + peer()
            : kind + " of rank " + victim;
    return switch (phase) {
      case CALLING -> what + " after " + delayMillis + " ms of calls";
      case IDLE -> what + " while no call is under way";
      case JOINING ->
          what
              + ", "
              + delayMillis
              + " ms after process "
              + startedBefore.size()
              + " of "
              + ranks()
              + " was started (order "
              + startedBefore
              + (startedAfter.isEmpty() ? "" : ", then " + startedAfter)
              + ")";
    };
  }
}
