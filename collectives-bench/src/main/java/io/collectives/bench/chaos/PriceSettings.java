package io.collectives.bench.chaos;

import java.time.Duration;
import java.util.List;

/**
 * The settings of a measurement of the price of unauthenticated peers, the intruders.
 *
 * @param ranks the number of ranks that sum
 * @param intruders the number of intruders at the ranks; as many connect to another process
 * @param perSecond the number of intruders that connect in a second
 * @param warmUp the time for which the ranks sum before
 * @param seed the seed of the bytes that intruders send
 * @param rankCommand runs a {@link PriceWorker} in a JVM of its own
 * @param listenerCommand runs a {@link DummyListener} in a JVM of its own
 */
public record PriceSettings(
    int ranks,
    int intruders,
    int perSecond,
    Duration warmUp,
    long seed,
    List<String> rankCommand,
    List<String> listenerCommand) {
  /** About how long a round takes for each arm. */
  static final int SLICE_SECONDS = 5;

  private static final int FEWEST_ROUNDS = 5;

  /** Keeps copies of the lists. */
  public PriceSettings {
    rankCommand = List.copyOf(rankCommand);
    listenerCommand = List.copyOf(listenerCommand);
  }

  /** Returns the number of rounds, each of about 5 s for each arm, but at least 5. */
  public int rounds() {
    return Math.max(FEWEST_ROUNDS, Math.round((float) intruders / perSecond / SLICE_SECONDS));
  }

  /** Returns how many intruders connect in a round; rounds are counted from 0. */
  int inRound(int round) {
    return (int) ((round + 1L) * intruders / rounds() - (long) round * intruders / rounds());
  }
}
