package io.collectives.engine.run;

import io.collectives.internal.InlineSlots;
import org.jspecify.annotations.Nullable;

/**
 * The two slots that the members of a group use in turn for {@link InlineExchanges}, the same of
 * each pair.
 *
 * @param number from 0 to {@link InlineChannels#COUNT} - 1
 * @param first at least the numbers of all messages that other groups have left in these slots
 */
public record InlineChannel(int number, long first) {
  /** In larger groups an exchange is not what is wanted. */
  private static final int MOST_RANKS = 16;

  /** The channel of the group of all ranks; nothing if that has too many. */
  static @Nullable InlineChannel ofWorld(int ranks) {
    return ranks > MOST_RANKS ? null : new InlineChannel(0, 0);
  }

  /**
   * The channel of a group whose members have told each other which they have free; nothing if they
   * have none in common, or do not need one.
   *
   * @param free a bit for each channel that is free at all members
   * @param first the greatest number that a member has told
   */
  public static @Nullable InlineChannel of(int ranks, int free, long first) {
    return ranks < 2 || ranks > MOST_RANKS || free == 0
        ? null
        : new InlineChannel(Integer.numberOfTrailingZeros(free), first);
  }

  /**
   * The channel as the survivors of its group use it.
   *
   * @param resumeAt the number of a call that no member is far ahead of
   */
  public InlineChannel ofSurvivors(long resumeAt) {
    return new InlineChannel(number, message(resumeAt, 0) + InlineSlots.FARTHEST / 2);
  }

  /** The slot of the messages of a turn. */
  int slot(long turn) {
    return 2 * number + (int) (turn & 1);
  }

  /**
   * The number of the messages of a call of the group. The first call with buffers takes three
   * turns, the last of which uses the slot of the first again: by another number.
   *
   * @param round 0, and then 1
   */
  long message(long sequence, int round) {
    return first + 2 * (sequence + 1) + round;
  }
}
