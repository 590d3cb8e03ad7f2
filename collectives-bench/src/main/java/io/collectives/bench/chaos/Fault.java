package io.collectives.bench.chaos;

import java.util.Locale;
import java.util.random.RandomGenerator;

/**
 * Something bad that is done to a job once.
 *
 * @param idle whether it is done while no call is under way; the calls follow at once
 * @param victim the rank that it is done to
 * @param delayMillis for how long the job sums before, if it is not idle
 */
public record Fault(Kind kind, boolean idle, int victim, long delayMillis) {
  private static final int LONGEST_DELAY_MILLIS = 250;

  /** What is done. */
  public enum Kind {
    /** SIGKILL: the system closes the connections of the process. */
    KILL,
    /** SIGSTOP: its connections stay, it does nothing any more; SIGCONT when it was given up. */
    STOP,
    /** The connections between two ranks are reset; both ranks live. */
    RESET;

    /** As on the command line. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** A fault of that kind, all else by chance. */
  public static Fault any(Kind kind, int ranks, RandomGenerator random) {
    return new Fault(
        kind, random.nextBoolean(), random.nextInt(ranks), random.nextInt(LONGEST_DELAY_MILLIS));
  }

  /** The other end of a connection that is reset: the next rank, which a ring always needs. */
  int peer(int ranks) {
    return (victim + 1) % ranks;
  }

  @Override
  public String toString() {
    return kind
        + " of rank "
        + victim
        + (idle ? " while no call is under way" : " after " + delayMillis + " ms of calls");
  }
}
