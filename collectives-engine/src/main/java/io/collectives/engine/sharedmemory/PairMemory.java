package io.collectives.engine.sharedmemory;

import io.collectives.internal.InlineSlots;
import io.collectives.spi.FrameBytes;

/** The memory that two ranks share, as one of them sees it; see {@link Ring}. */
final class PairMemory implements AutoCloseable {
  private final MappedMemory memory;
  final Ring.Writer out;
  final Ring.Reader in;
  final Ring.Sleep sleep;
  final Ring.LeaseStates leasesOut;
  final Ring.LeaseStates leasesIn;
  final InlineSlots outbox;
  final InlineSlots inbox;

  /**
   * Memory of {@link Ring#fileLength} bytes.
   *
   * @param side which of the two this rank is
   */
  PairMemory(MappedMemory memory, Ring.Side side, int capacity) {
    Ring.Side other = side == Ring.Side.MAKER ? Ring.Side.TAKER : Ring.Side.MAKER;
    FrameBytes bytes = new FrameBytes(memory.bytes());
    this.memory = memory;
    out = new Ring.Writer(bytes, side, capacity);
    in = new Ring.Reader(bytes, other, capacity);
    sleep = new Ring.Sleep(bytes, side);
    leasesOut = new Ring.LeaseStates(bytes, side);
    leasesIn = new Ring.LeaseStates(bytes, other);
    outbox = Ring.slots(bytes, side);
    inbox = Ring.slots(bytes, other);
  }

  /** Returns whether nothing that was read from it or written to it has failed; else it is lost. */
  boolean isWhole() {
    return memory.isWhole();
  }

  /** Returns the same for sure, of memory that this rank alone writes now. */
  boolean isWhole(int from, int to) {
    return memory.isWhole(from, to);
  }

  /** Returns the same for sure, of the record that is being read. */
  boolean isRecordWhole() {
    return memory.isWhole(in.recordAt(), in.recordEnd());
  }

  /** The memory is gone; nothing may touch it any more. */
  @Override
  public void close() {
    memory.close();
  }
}
