package io.collectives.bench.chaos;

import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The settings that all jobs of a run have in common.
 *
 * @param ranks the number of processes
 * @param command runs a {@link ChaosWorker} in a JVM of its own
 * @param site where they are, and how they talk
 * @param silenceLimit after which the workers give a rank up
 * @param joinTimeout how long the workers wait until all have met
 * @param err gets what the workers write to standard error
 */
public record ChaosSettings(
    int ranks,
    List<String> command,
    Site site,
    Duration silenceLimit,
    Duration joinTimeout,
    PrintStream err) {
  /** Makes a worker sum by a ring. */
  public static final String BY_RING = "--by-ring";

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** Keeps a copy of the list. */
  public ChaosSettings {
    command = List.copyOf(command);
  }

  /** Returns these settings with time to join for all, whatever else the machine does. */
  ChaosSettings patient() {
    return new ChaosSettings(ranks, command, site, silenceLimit, PATIENCE, err);
  }

  /** Returns these settings with a ring, in which each rank is linked with the next one. */
  ChaosSettings byRing() {
    List<String> words = new ArrayList<>(command);
    words.add(BY_RING);
    return new ChaosSettings(ranks, words, site, silenceLimit, joinTimeout, err);
  }
}
