package io.collectives.engine.run;

import io.collectives.spi.InlineExchange;
import io.collectives.spi.MemoryLeases;
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

  private final @Nullable InlineExchange exchange;
  private final @Nullable MemoryLeases leases;
  private int longestInSlot = InlineExchange.CAPACITY;
  private int free;
  private long first;

  /**
   * The channels of a rank.
   *
   * @param exchange null if the transport has none
   * @param leases by which peers reach memory of this rank; null if they cannot
   */
  InlineChannels(@Nullable InlineExchange exchange, @Nullable MemoryLeases leases) {
    this.exchange = exchange;
    this.leases = leases;
    this.free = exchange == null ? 0 : (1 << COUNT) - 1;
  }

  /** Groups that are made from now on have buffers for shorter contributions, too: for tests. */
  void leaveInSlots(int longest) {
    longestInSlot = longest;
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

  /**
   * A group is made, which keeps its channel if its members reach each other by it; either all of
   * them keep it or none does.
   */
  void added(Group group) {
    InlineChannel channel = group.inlineChannel();
    if (channel == null) {
      return;
    }
    if (reaches(group)) {
      free &= ~(1 << channel.number());
      group.exchangeBuffers = ExchangeBuffers.of(group.members, group.rank, leases, longestInSlot);
    } else {
      group.takeInlineChannel();
      free |= exchange == null ? 0 : 1 << channel.number();
    }
  }

  private boolean reaches(Group group) {
    for (int member = 0; member < group.size(); member++) {
      if (exchange == null
          || member != group.rank() && !exchange.exchangesWith(group.worldRank(member))) {
        return false;
      }
    }
    return true;
  }

  /** Returns the most bytes that the memory for long exchanges of this rank takes. */
  long bytes() {
    return exchange == null || leases == null ? 0 : (long) COUNT * ExchangeBuffers.LENGTH;
  }

  /** This rank has left a group. */
  void left(Group group) {
    group.closeExchangeBuffers();
    InlineChannel channel = group.takeInlineChannel();
    if (channel != null) {
      first = Math.max(first, channel.message(group.nextSequence, 0));
      free |= 1 << channel.number();
    }
  }
}
