package io.collectives.engine;

import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.spi.BodyViews;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Transport;

/**
 * What the ranks of a job reach each other by, and what tables of all algorithms told of it that a
 * second of measuring, in which few calls of long payloads fit and each follows another
 * algorithm's, cannot tell reliably.
 */
enum Medium {
  /** Threads of one JVM, which read each other's arrays. */
  THREADS(128 << 10, Costs.OF_SHARED_MEMORY, Chooser.Frames.OF_SHARED_MEMORY) {
    /**
     * Where ranks outnumber processors, two servers meet the others least often: with 4 and 8
     * threads they were the fastest at 64 and 256 KiB in all of twelve cells of three tables, with
     * 8 by up to 1.45, and in one job of seven another was taken for faster.
     */
    @Override
    double lead(Collective collective, int candidate, int ranks, double bytes) {
      boolean led = ranks > 2 && bytes > MIB / 32 && bytes < MIB;
      return led && candidate != Chooser.TWO_SERVERS ? LEAD_IN_MEMORY : 1;
    }

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
  SHARED_MEMORY(128 << 10, Costs.BETWEEN_PROCESSES, Chooser.Frames.OF_SOCKETS) {
    /**
     * A ring uses the fewest slots, which stay in cache if it is used all the time. From 1 MiB on
     * it was the best with 4, 6 and 8 ranks in all of seven cells, by up to 1.45; measured in turn
     * with others it often did not seem so. Two servers seem faster than they are.
     */
    @Override
    double lead(Collective collective, int candidate, int ranks, double bytes) {
      boolean isLong = bytes > MIB / 2 && candidate != Chooser.RING;
      return isLong || candidate == Chooser.TWO_SERVERS ? LEAD_IN_MEMORY : 1;
    }

    @Override
    boolean broadcastsByTree(double bytes) {
      return true;
    }
  },

  /**
   * Connections, and whatever mixes them with shared memory.
   *
   * <p>A segment of TCP on a loopback interface, whose MTU is 64 KiB, holds 65,483 bytes, and one
   * that is all but empty costs about what a full one does. Three hold 196,449 bytes, and a frame
   * with its header has 196,416: a multiple of a cache line.
   */
  SOCKETS(196_288, Costs.OF_SOCKETS, Chooser.Frames.OF_SOCKETS) {
    /**
     * Where ranks outnumber processors, up to 64 KiB a tree, which sends the least messages, took
     * 0.6 to 1 times as long as the best of all others with 4 and 8 ranks over TCP, and with 8 up
     * to 1 MiB 0.8 to 1.05 times as long as halving and doubling, with 4 1.2 times. Where they are
     * a power of two, halving and doubling sends the least messages of those that send the least
     * bytes: from 256 KiB on it was the best or within 1.08 in eight tables taken together; in
     * single ones what was chosen instead took up to 1.55 times as long as the best.
     */
    @Override
    double lead(Collective collective, int candidate, int ranks, double bytes) {
      long isShort = ranks > MOST_RANKS_OF_PAIRS ? 2 * MIB : MIB / 8;
      boolean led =
          collective == Collective.ALL_REDUCE && bytes <= isShort
              ? candidate != Chooser.BINOMIAL_TREE
              : candidate != Chooser.HALVING_DOUBLING && bytes > MIB / 8 && isPowerOfTwo(ranks);
      return led ? LEAD_OVER_SOCKETS : 1;
    }

    /** As all-reduces: 64 KiB took 0.75 to 0.8 times as long as by a ring with 4 and 8 ranks. */
    @Override
    boolean broadcastsByTree(double bytes) {
      return bytes <= MIB / 8;
    }

    /**
     * Two servers are not: in those tables, where two processors are all there are, they were ahead
     * by no more than 1.02, but measured in turn with others seemed 1.5 times as fast at 16 KiB,
     * where they are behind by 1.13. With a processor a rank, they send and take n/2 times as much
     * as others do.
     */
    @Override
    boolean isCandidate(int candidate) {
      return candidate != Chooser.TWO_SERVERS;
    }
  };

  private static final long MIB = 1 << 20;

  private static final double LEAD_IN_MEMORY = 1.5;

  /** Of more, what all send counts up to longer payloads. */
  private static final int MOST_RANKS_OF_PAIRS = 4;

  private static final double LEAD_OVER_SOCKETS = 1.4;

  /** How long frames are if the settings leave it to the transport. */
  private final int frameLength;

  /** What is taken for granted before a group is tuned. */
  final Costs costs;

  /** Likewise. */
  final Chooser.Frames frames;

  Medium(int frameLength, Costs costs, Chooser.Frames frames) {
    this.frameLength = frameLength;
    this.costs = costs;
    this.frames = frames;
  }

  /** That of a job. */
  static Medium of(Transport transport) {
    return transport.capability(BodyViews.class) != null
        ? THREADS
        : transport.capability(MemoryLeases.class) != null ? SHARED_MEMORY : SOCKETS;
  }

  /** The settings with what they leave to the transport. */
  CallSettings resolved(CallSettings settings) {
    return settings.frameLength() == CallSettings.AS_SUITS_THE_TRANSPORT
        ? settings.withFrameLength(frameLength)
        : settings;
  }

  /**
   * How many times as fast as others a candidate must seem to be to be chosen for so many bytes of
   * an all-reduce, or of what is one half of it. What tables told of a size counts up to the middle
   * of the octaves to the next one.
   */
  double lead(Collective collective, int candidate, int ranks, double bytes) {
    return 1;
  }

  /** Whether a candidate is to be measured at all. */
  boolean isCandidate(int candidate) {
    return true;
  }

  /** From how many bytes on all-reduces are direct, whatever was measured. */
  long directFrom(int ranks) {
    return Long.MAX_VALUE;
  }

  /**
   * Whether broadcasts of so many bytes go by a binomial tree, whatever costs say: these are of
   * ranks that have a processor each, and not of many that share a few, where only the bytes of all
   * together count.
   */
  boolean broadcastsByTree(double bytes) {
    return false;
  }

  private static boolean isPowerOfTwo(int ranks) {
    return Integer.bitCount(ranks) == 1;
  }
}
