package io.collectives.engine.run;

import io.collectives.Collective;
import io.collectives.plan.Chunks;

/**
 * The positions of the chunks of a call: in the payload, and in this rank's input and output, each
 * of which may hold a part of the payload only. Belongs to a {@link Call}; filled anew for each.
 *
 * <p>A payload is cut into chunks evenly, or into a part for each rank by counts that the user
 * gave, and each part evenly into its chunks. The payload of an all-to-all is that of the rank
 * whose chunk it is; what lies in the output there is a block from each rank, in the order of
 * ranks.
 */
final class Layout {
  private static final long[] NONE = new long[0];

  private final Program program;

  /** Part i holds positions {@code [starts[i], starts[i+1])}, unless the parts are even. */
  private long[] starts = NONE;

  /** Of a pairwise all-to-all: likewise, by the rank that a block of the output comes from. */
  private long[] receiveStarts = NONE;

  private boolean even;
  private long count;
  private int parts;
  private int chunksOfPart;
  private long inputShift;
  private long outputShift;
  private long blockCount;

  Layout(Program program) {
    this.program = program;
  }

  /** Of a payload that is cut evenly. */
  void even(long newCount) {
    even = true;
    count = newCount;
    parts = program.chunks;
    chunksOfPart = 1;
    if (program.collective == Collective.ALL_TO_ALL) {
      parts = program.chunks / program.ranks;
    }
    shift();
  }

  /** Of a payload of which each rank has so many elements. */
  void uneven(long[] counts) {
    even = false;
    starts = prefix(counts, starts);
    count = starts[counts.length];
    parts = counts.length;
    chunksOfPart = program.chunksOfPart();
    shift();
  }

  /** Of an all-to-all in which this rank sends and receives so many elements. */
  void pairwise(long[] sendCounts, long[] receiveCounts) {
    uneven(sendCounts);
    receiveStarts = prefix(receiveCounts, receiveStarts);
  }

  private static long[] prefix(long[] counts, long[] reused) {
    long[] sums = reused.length == counts.length + 1 ? reused : new long[counts.length + 1];
    for (int i = 0; i < counts.length; i++) {
      sums[i + 1] = sums[i] + counts[i];
    }
    return sums;
  }

  /** Input and output hold the whole payload, or this rank's part. */
  private void shift() {
    inputShift = 0;
    outputShift = 0;
    switch (program.collective) {
      case ALL_GATHER, GATHER -> inputShift = partStart();
      case REDUCE_SCATTER -> outputShift = partStart();
      case SCATTER -> outputShift = program.rank == program.root ? 0 : partStart();
      case ALL_TO_ALL -> {
        outputShift = partStart();
        blockCount = partCount();
      }
      case ALL_REDUCE, BARRIER, BROADCAST, REDUCE -> {}
    }
  }

  /** Returns whether positions in input and output are those in an evenly cut payload. */
  boolean isPlain() {
    return even
        && inputShift == 0
        && outputShift == 0
        && program.collective != Collective.ALL_TO_ALL;
  }

  /** The number of elements of the payload. */
  long count() {
    return count;
  }

  /** The first position of this rank's part. */
  long partStart() {
    return partStart(program.rank);
  }

  private long partStart(int part) {
    return even ? Chunks.start(count, part, program.ranks) : starts[part];
  }

  /** The number of elements of this rank's part. */
  long partCount() {
    return partStart(program.rank + 1) - partStart();
  }

  /** The number of elements of the longest chunk that this rank sends or receives. */
  long longest() {
    if (even) {
      return Chunks.longest(count, parts);
    }
    long longest = 0;
    for (int part = 0; part < parts; part++) {
      longest = Math.max(longest, Chunks.longest(starts[part + 1] - starts[part], chunksOfPart));
      if (program.pairwise) {
        longest = Math.max(longest, receiveCount(part));
      }
    }
    return longest;
  }

  /** Of a pairwise all-to-all: what goes to a rank. */
  long sendCount(int to) {
    return starts[to + 1] - starts[to];
  }

  /** Of a pairwise all-to-all: what comes from a rank. */
  long receiveCount(int from) {
    return receiveStarts[from + 1] - receiveStarts[from];
  }

  /** The first position of a chunk in the payload. */
  private long start(int chunk) {
    if (program.collective == Collective.ALL_TO_ALL) {
      return ofPart(chunk % (program.chunks / program.ranks));
    }
    return ofPart(chunk);
  }

  private long ofPart(int chunk) {
    if (even) {
      return Chunks.start(count, chunk, parts);
    }
    int part = chunk / chunksOfPart;
    if (chunksOfPart == 1) {
      return starts[part];
    }
    return starts[part]
        + Chunks.start(starts[part + 1] - starts[part], chunk % chunksOfPart, chunksOfPart);
  }

  /** The number of elements of a chunk. */
  long chunkCount(int chunk) {
    if (program.pairwise) {
      int from = chunk / program.ranks;
      return from == program.rank ? sendCount(chunk % program.ranks) : receiveCount(from);
    }
    int inPayload =
        program.collective == Collective.ALL_TO_ALL
            ? chunk % (program.chunks / program.ranks)
            : chunk;
    if (even) {
      return Chunks.count(count, inPayload, parts);
    }
    int part = inPayload / chunksOfPart;
    return Chunks.count(starts[part + 1] - starts[part], inPayload % chunksOfPart, chunksOfPart);
  }

  /** Returns the position in the input at which a chunk begins. */
  long inputStart(int chunk) {
    return start(chunk) - inputShift;
  }

  /** Returns the position in the output at which a chunk begins. */
  long outputStart(int chunk) {
    if (program.collective == Collective.ALL_TO_ALL) {
      int from = chunk / (program.chunks / program.ranks);
      return program.pairwise
          ? receiveStarts[from]
          : from * blockCount + start(chunk) - outputShift;
    }
    return start(chunk) - outputShift;
  }

  /** Returns the position in the output at which this rank's own block of an all-to-all begins. */
  long ownBlock() {
    return program.pairwise ? receiveStarts[program.rank] : program.rank * blockCount;
  }
}
