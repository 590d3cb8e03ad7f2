package io.collectives.bench.simulate;

import io.collectives.Collective;
import io.collectives.plan.Plan;
import java.util.Arrays;

/**
 * The times at which each slab of each chunk of each rank is ready.
 *
 * <p>A hierarchy of 65,536 ranks cuts its payload into 131,072 chunks: 8.6 thousand million clocks,
 * 64 GiB. But in most rounds its ranks move whole blocks of 256 chunks, whose clocks are then the
 * same. So there is a number for a block, and a page with one for each chunk only where a block has
 * been written in part:
 *
 * <pre>
 *   blocks of a rank     [ 3.0 | 7.5 | page 4 | 0.0 ]      a page is written as a negative number
 *   page 4                             [ 1.0 2.0 2.0 … ]
 * </pre>
 *
 * <p>How many chunks a block has is what the first, the last and the middle rounds of all lanes
 * have in common; a plan to which that does not apply costs more memory, not exactness.
 *
 * <p>Of an all-to-all of n ranks, chunk i n + j is what rank i has for rank j; rank j gets the
 * chunks j, n + j, 2n + j and so on, of which each would break another block. So its chunks are
 * kept in the order j n + i.
 */
final class Clocks {
  private static final int MOST_BLOCKS = 1 << 30;

  private final int blocks;
  private final int grain;
  private final int slabs;

  /** Ranks along a side if the chunks are kept transposed, or 0. */
  private final int side;

  private final double[] ofBlocks;
  private double[][] pages = new double[16][];
  private int pagesMade;
  private int[] unused = new int[16];
  private int unusedCount;

  /**
   * All ready at 0.
   *
   * @throws IllegalArgumentException if there are too many
   */
  Clocks(Plan plan, int slabs) {
    this.slabs = slabs;
    int square = (int) Math.round(Math.sqrt(plan.chunks()));
    this.side =
        plan.collective() == Collective.ALL_TO_ALL && square * square == plan.chunks() ? square : 0;
    this.grain = side > 0 ? side : grain(plan);
    this.blocks = plan.chunks() / grain;
    long count = (long) plan.ranks() * blocks;
    if (count > MOST_BLOCKS / slabs) {
      throw new IllegalArgumentException(
          plan.ranks()
              + " ranks with "
              + blocks
              + (grain == 1 ? " chunks" : " blocks of " + grain + " chunks")
              + " and "
              + slabs
              + " slabs are too many to simulate: their product must be at most 2^30");
    }
    this.ofBlocks = new double[(int) count * slabs];
  }

  /** The most chunks that divide what every lane moves in one of its rounds, and all chunks. */
  private static int grain(Plan plan) {
    int[] common = {plan.chunks()};
    for (int lane = 0; lane < plan.lanes(); lane++) {
      int rounds = plan.rounds(lane);
      int most = 0;
      for (int round : new int[] {0, rounds / 2, rounds - 1}) {
        int[] ofRound = {0};
        if (round >= 0 && round < rounds) {
          plan.transfers(
              lane,
              round,
              (from, to, first, count, effect) ->
                  ofRound[0] = divisor(divisor(ofRound[0], first), count));
        }
        most = Math.max(most, ofRound[0]);
      }
      common[0] = divisor(common[0], most);
    }
    return common[0];
  }

  /** The greatest common divisor; of 0 and a number that number. */
  private static int divisor(int a, int b) {
    return b == 0 ? a : divisor(b, a % b);
  }

  /** Returns when a slab of the last of some chunks is ready. */
  double latest(int rank, int firstChunk, int count, int slab) {
    double latest = 0;
    if (side > 0) {
      for (int chunk = firstChunk; chunk < firstChunk + count; chunk++) {
        latest = Math.max(latest, latestInBlocks(rank, transposed(chunk), 1, slab));
      }
      return latest;
    }
    return latestInBlocks(rank, firstChunk, count, slab);
  }

  /** Says when a slab of some chunks is ready. */
  void set(int rank, int firstChunk, int count, int slab, double nanos) {
    if (side > 0) {
      for (int chunk = firstChunk; chunk < firstChunk + count; chunk++) {
        setInBlocks(rank, transposed(chunk), 1, slab, nanos);
      }
    } else {
      setInBlocks(rank, firstChunk, count, slab, nanos);
    }
  }

  /** Returns how many numbers are kept. */
  long kept() {
    return ofBlocks.length + (long) pagesMade * grain;
  }

  private int transposed(int chunk) {
    return chunk % side * side + chunk / side;
  }

  private double latestInBlocks(int rank, int first, int count, int slab) {
    double latest = 0;
    int end = first + count;
    for (int chunk = first; chunk < end; ) {
      int block = chunk / grain;
      int blockEnd = Math.min(end, (block + 1) * grain);
      double clock = ofBlocks[(rank * blocks + block) * slabs + slab];
      if (clock >= 0) {
        latest = Math.max(latest, clock);
      } else {
        double[] page = pages[page(clock)];
        for (int i = chunk - block * grain; i < blockEnd - block * grain; i++) {
          latest = Math.max(latest, page[i]);
        }
      }
      chunk = blockEnd;
    }
    return latest;
  }

  private void setInBlocks(int rank, int first, int count, int slab, double nanos) {
    int end = first + count;
    for (int chunk = first; chunk < end; ) {
      int block = chunk / grain;
      int start = block * grain;
      int blockEnd = Math.min(end, start + grain);
      int at = (rank * blocks + block) * slabs + slab;
      double clock = ofBlocks[at];
      if (blockEnd - chunk == grain) {
        if (clock < 0) {
          release(page(clock));
        }
        ofBlocks[at] = nanos;
      } else {
        int number = clock < 0 ? page(clock) : newPage(clock);
        ofBlocks[at] = -1 - number;
        Arrays.fill(pages[number], chunk - start, blockEnd - start, nanos);
      }
      chunk = blockEnd;
    }
  }

  private static int page(double clock) {
    return (int) (-1 - clock);
  }

  private int newPage(double clock) {
    if (unusedCount > 0) {
      int number = unused[--unusedCount];
      Arrays.fill(pages[number], clock);
      return number;
    }
    if (pagesMade == pages.length) {
      pages = Arrays.copyOf(pages, 2 * pagesMade);
    }
    double[] page = new double[grain];
    Arrays.fill(page, clock);
    pages[pagesMade] = page;
    return pagesMade++;
  }

  private void release(int number) {
    if (unusedCount == unused.length) {
      unused = Arrays.copyOf(unused, 2 * unusedCount);
    }
    unused[unusedCount++] = number;
  }
}
