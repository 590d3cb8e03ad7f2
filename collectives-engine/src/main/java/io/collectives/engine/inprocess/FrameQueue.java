package io.collectives.engine.inprocess;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Frames on their way from one thread to another: a ring of slots that are made once, one writer,
 * one reader.
 *
 * <p>The two cursors lie 128 bytes apart, so that the threads do not fight for a cache line. A
 * slot's fields are written before the tail is released and read after it was acquired; the same
 * holds for the head in the other direction.
 */
final class FrameQueue {
  private static final int SLOTS = 64;
  private static final int HEAD = 16;
  private static final int TAIL = 32;
  private static final VarHandle CURSOR = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] cursors = new long[48];
  private final Slot[] slots = new Slot[SLOTS];

  FrameQueue() {
    for (int i = 0; i < SLOTS; i++) {
      slots[i] = new Slot();
    }
  }

  /** Called by the writer only. */
  boolean offer(FrameHeader header, FrameBody body) {
    long tail = cursors[TAIL];
    if (tail - (long) CURSOR.getAcquire(cursors, HEAD) == SLOTS) {
      return false;
    }
    Slot slot = slots[(int) (tail & SLOTS - 1)];
    slot.header.copyFrom(header);
    slot.body = body;
    CURSOR.setRelease(cursors, TAIL, tail + 1);
    return true;
  }

  /** The oldest frame, which stays until {@link #remove}. Called by the reader only. */
  @Nullable Slot peek() {
    long head = cursors[HEAD];
    return head == (long) CURSOR.getAcquire(cursors, TAIL) ? null : slots[(int) (head & SLOTS - 1)];
  }

  /** Called by the reader only. */
  void remove() {
    long head = cursors[HEAD];
    slots[(int) (head & SLOTS - 1)].body = FrameBody.EMPTY;
    CURSOR.setRelease(cursors, HEAD, head + 1);
  }

  static final class Slot {
    final FrameHeader header = new FrameHeader();
    FrameBody body = FrameBody.EMPTY;
  }
}
