package io.collectives.engine.run;

import io.collectives.spi.InlineExchange;
import org.jspecify.annotations.Nullable;

/**
 * The {@linkplain InlineChannel channels} of one rank, each of which is free or of one group.
 *
 * <p>The ranks that make a group tell each other which channels they have free, and take one that
 * all of them have; without one in common their group goes by frames. A rank frees a channel when
 * it has left the group. So when all members of a group have it free, each of them has left every
 * earlier group on it, and none looks any more for what others have left there. Numbers of messages
 * go on from group to group, so what is still in a slot is not taken for something new.
 *
 * <p>Threads: the driver's lock is held.
 */
public final class InlineChannels {
  static final int COUNT = InlineExchange.SLOTS / 2;

  private int free;
  private long first;

  InlineChannels(boolean arePossible) {
    this.free = arePossible ? (1 << COUNT) - 1 & ~(1 << InlineChannel.OF_WORLD) : 0;
  }

  /**
   * Returns a bit for each channel that is free, and takes them all until {@link #settle}, since
   * several groups may be made at once.
   */
  public int offer() {
    int offered = free;
    free = 0;
    return offered;
  }

  /** Returns a number that no message of a free channel exceeds. */
  public long first() {
    return first;
  }

  /**
   * Frees the channels that were offered, but for one.
   *
   * @param agreed the one that is used; nothing if none is
   */
  public void settle(int offered, @Nullable InlineChannel agreed) {
    free |= agreed == null ? offered : offered & ~(1 << agreed.number());
  }

  /** This rank has left a group. */
  void left(Group group) {
    InlineChannel channel = group.takeInlineChannel();
    if (channel != null) {
      first = Math.max(first, channel.message(group.nextSequence));
      free |= 1 << channel.number();
    }
  }
}
