package io.collectives.bench.chaos;

import java.io.PrintStream;
import java.time.Duration;
import java.util.List;

/**
 * The settings of a measurement of the price of strangers.
 *
 * @param ranks that sum
 * @param strangers at the ranks, and once more at another process
 * @param perSecond how many of them come in a second
 * @param warmUp how long the ranks sum before
 * @param seed of what strangers say
 * @param rankCommand runs a {@link PriceWorker} in a JVM of its own
 * @param listenerCommand runs a {@link DummyListener} in a JVM of its own
 * @param err gets what the processes write to standard error
 */
public record PriceSettings(
    int ranks,
    int strangers,
    int perSecond,
    Duration warmUp,
    long seed,
    List<String> rankCommand,
    List<String> listenerCommand,
    PrintStream err) {
  private static final int SLICE_SECONDS = 5;
  private static final int FEWEST_ROUNDS = 5;

  /** Keeps copies of the lists. */
  public PriceSettings {
    rankCommand = List.copyOf(rankCommand);
    listenerCommand = List.copyOf(listenerCommand);
  }

  /** In how many rounds the strangers come: each of about 5 s for each arm, but at least 5. */
  public int rounds() {
    return Math.max(FEWEST_ROUNDS, Math.round((float) strangers / perSecond / SLICE_SECONDS));
  }

  /** Returns how many come in a round, counted from 0. */
  int inRound(int round) {
    return (int) ((round + 1L) * strangers / rounds() - (long) round * strangers / rounds());
  }
}
