package io.collectives.engine;

import io.collectives.Payload;
import io.collectives.engine.run.InlineChannel;
import io.collectives.engine.run.InlineChannels;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A split of a group, in which each rank tells all others four numbers: its color, its key, which
 * {@linkplain InlineChannels channels} it has free, which it keeps for the new group until this is
 * closed, and what number no message on them exceeds.
 */
final class Split implements AutoCloseable {
  private static final int COLOR = 0;
  private static final int KEY = 1;
  private static final int FREE = 2;
  private static final int FIRST = 3;
  private static final int NUMBERS = 4;

  private final Driver driver;
  private final int color;
  private final int offered;
  private final Payload mine;
  private final long[] all;
  private @Nullable InlineChannel agreed;

  Split(Driver driver, int size, int color, int key) {
    this.driver = driver;
    this.color = color;
    this.all = new long[NUMBERS * size];
    driver.lock();
    try {
      InlineChannels channels = driver.engine().inlineChannels();
      this.offered = channels.offer();
      this.mine = Payload.of(new long[] {color, key, offered, channels.first()});
    } finally {
      driver.unlock();
    }
  }

  /** Returns what this rank tells. */
  Payload mine() {
    return mine;
  }

  /** Returns the room for what all ranks tell. */
  Payload all() {
    return Payload.of(all);
  }

  /** Returns the ranks of this rank's color, by their keys, and among equal keys by their ranks. */
  int[] ranks() {
    return IntStream.range(0, all.length / NUMBERS)
        .filter(rank -> told(rank, COLOR) == color)
        .boxed()
        .sorted(
            (a, b) ->
                told(a, KEY) != told(b, KEY) ? Long.compare(told(a, KEY), told(b, KEY)) : a - b)
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** Returns the channel of a group of these ranks, which is used from now on. */
  @Nullable InlineChannel channel(int[] ranks) {
    long free = -1;
    long first = 0;
    for (int rank : ranks) {
      free &= told(rank, FREE);
      first = Math.max(first, told(rank, FIRST));
    }
    agreed = InlineChannel.of(ranks.length, (int) free, first);
    return agreed;
  }

  private long told(int rank, int number) {
    return all[NUMBERS * rank + number];
  }

  /** Frees the channels that are not used. */
  @Override
  public void close() {
    driver.lock();
    try {
      driver.engine().inlineChannels().settle(offered, agreed);
    } finally {
      driver.unlock();
    }
  }
}
