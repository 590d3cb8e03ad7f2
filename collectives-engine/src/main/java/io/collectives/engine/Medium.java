package io.collectives.engine;

import io.collectives.spi.Transport;

/**
 * What the ranks of a job reach each other by, and what tables of all algorithms told of it that a
 * second of measuring, in which few calls of long payloads fit and each follows another
 * algorithm's, cannot tell reliably.
 */
enum Medium {
  /** Threads of one JVM, which read each other's arrays. */
  THREADS(Costs.OF_SHARED_MEMORY, Chooser.Frames.OF_SHARED_MEMORY) {
    /**
     * The fastest with more than two threads in all of twelve cells of two tables. Two have no
     * better than each other's half, which other plans give them, too.
     */
    @Override
    long directFrom(int ranks) {
      return ranks > 2 ? MIB : Long.MAX_VALUE;
    }
  },

  /** Processes that share memory. */
  SHARED_MEMORY(Costs.BETWEEN_PROCESSES, Chooser.Frames.OF_SOCKETS) {
    /**
     * A ring uses the fewest slots, which stay in cache if it is used all the time. From 1 MiB on
     * it was the best with 4, 6 and 8 ranks in all of seven cells, by up to 1.45; measured in turn
     * with others it seemed slower than halving and doubling.
     */
    @Override
    double lead(int candidate, int ranks, long bytes) {
      boolean led = bytes >= MIB && candidate != Chooser.RING;
      return Math.max(super.lead(candidate, ranks, bytes), led ? LEAD_OVER_RING : 1);
    }

    @Override
    boolean broadcastsByTree() {
      return true;
    }
  },

  /** Connections, and whatever mixes them with shared memory. */
  SOCKETS(Costs.OF_SOCKETS, Chooser.Frames.OF_SOCKETS) {
    /**
     * Of all that send the least bytes halving and doubling, where it hands nothing over, sends the
     * least messages. In the tables of 4 and 8 ranks over TCP it was the best or within 1.04 in 28
     * of 42 cells from 256 KiB on, and within 1.16 in all but one, where what was chosen instead
     * took up to 1.55 times as long as the best.
     */
    @Override
    double lead(int candidate, int ranks, long bytes) {
      boolean led =
          Integer.bitCount(ranks) == 1 && bytes >= MIB / 4 && candidate != Chooser.HALVING_DOUBLING;
      return Math.max(super.lead(candidate, ranks, bytes), led ? LEAD_OVER_HALVING : 1);
    }
  };

  private static final long MIB = 1 << 20;

  /**
   * Measured in turn with others two servers seem faster than they are, but for threads: chosen
   * over sockets with 4 ranks at 16 and 64 KiB, they took 1.45 and 1.3 times as long as the best.
   */
  private static final double LEAD_OF_SERVERS = 1.5;

  private static final double LEAD_OVER_RING = 1.5;
  private static final double LEAD_OVER_HALVING = 1.25;

  /** What is taken for granted before a group is tuned. */
  final Costs costs;

  /** Likewise. */
  final Chooser.Frames frames;

  Medium(Costs costs, Chooser.Frames frames) {
    this.costs = costs;
    this.frames = frames;
  }

  /** That of a job. */
  static Medium of(Transport transport) {
    return transport.sharesMemory() ? THREADS : transport.lendsMemory() ? SHARED_MEMORY : SOCKETS;
  }

  /**
   * How many times as fast as others a candidate must have been measured to be to be chosen for so
   * many bytes.
   */
  double lead(int candidate, int ranks, long bytes) {
    return this != THREADS && candidate == Chooser.TWO_SERVERS ? LEAD_OF_SERVERS : 1;
  }

  /** From how many bytes on all-reduces are direct, whatever was measured. */
  long directFrom(int ranks) {
    return Long.MAX_VALUE;
  }

  /**
   * Whether broadcasts go by a binomial tree, whatever costs say: these are of ranks that have a
   * processor each, and not of many that share a few, where only the bytes of all together count.
   */
  boolean broadcastsByTree() {
    return false;
  }
}
