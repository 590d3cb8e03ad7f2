package io.collectives.engine.run;

import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.NarrowWire;
import io.collectives.engine.memory.Scratch;
import io.collectives.plan.Effect;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * What a send step offers to the transport: pieces of this rank's memory, or a copy of them where
 * the plan writes to the same chunks in the same round. Reused.
 *
 * <p><b>States.</b> A frame that is offered is read by its receiver and then released. When the
 * sender's call fails meanwhile the frame is revoked: its user may write to the memory again, so
 * whoever has read it must ask afterwards. A receiver that wants to <em>write</em> to the sender's
 * memory (see {@link Program.Meeting}) cannot ask afterwards; it holds the frame first, and a
 * sender whose call fails waits for the moment that this takes.
 */
final class OutFrame implements FrameBody {
  private static final int OFFERED = 0;
  private static final int HELD_OPEN = 1;
  private static final int RELEASED = 2;
  private static final int REVOKED = 3;
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(OutFrame.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  // Written by the rank that sends before the frame is handed over, read by whoever has the frame.
  Call call;
  Call.SlabRun run;
  Program.Step step;
  int slab;
  private final Scratch scratch;
  private int length;
  private FrameBytes copy;
  private boolean copied;

  /**
   * Whether the receiver has the bytes already: a {@linkplain Program.Meeting meeting} put them.
   */
  private boolean placed;

  private volatile int state;

  /** A frame of the rank whose scratch this is. */
  OutFrame(Scratch scratch) {
    this.scratch = scratch;
  }

  void fill(Call newCall, Call.SlabRun newRun, Program.Step newStep, int newLength) {
    call = newCall;
    run = newRun;
    step = newStep;
    slab = newRun.slab;
    length = newLength;
    copied = false;
    placed = false;
    state = OFFERED;
  }

  /** The receiver has the bytes already. */
  void place() {
    placed = true;
  }

  boolean isPlaced() {
    return placed;
  }

  /** Copies what is to be sent, so that the memory may be written at once. */
  void snapshot() {
    if (copy == null || copy.bytes().capacity() < length) {
      copy = new FrameBytes(java.nio.ByteBuffer.allocateDirect(length + 7 & ~7));
    }
    storePieces(copy, 0);
    copied = true;
  }

  /** What {@link #snapshot} has copied. */
  FrameBytes copy() {
    return copy;
  }

  /** Whether the receiver may read the pieces of the sender's memory itself. */
  boolean isView() {
    return !copied;
  }

  /**
   * Keeps the sender's memory what it is until {@link #release}, even if its call fails. To be
   * asked by the receiver before it writes there.
   *
   * @return whether it does; if not, the sender's call has failed
   */
  boolean holdOpen() {
    return STATE.compareAndSet(this, OFFERED, HELD_OPEN);
  }

  /** The call has failed: from now on the memory may hold anything. */
  void revoke() {
    while (!STATE.compareAndSet(this, OFFERED, REVOKED) && state == HELD_OPEN) {
      LockSupport.parkNanos(this, 1);
    }
  }

  /**
   * Whether what a receiver has just read may have been written over by the sender's user; to be
   * asked after reading.
   */
  boolean isRevoked() {
    VarHandle.acquireFence();
    return state == REVOKED;
  }

  boolean isReleased() {
    return state == RELEASED;
  }

  @Override
  public int length() {
    return length;
  }

  @Override
  public void store(FrameBytes target, int at) {
    if (copied) {
      target.bytes().put(at, copy.bytes(), 0, length);
    } else {
      storePieces(target, at);
    }
  }

  private void storePieces(FrameBytes target, int at) {
    int position = at;
    for (int i = 0; i < step.chunkCount; i++) {
      int chunk = step.firstChunk + i;
      int count = call.pieceCount(chunk, slab);
      boolean untouched = step.untouched[i];
      Memory memory = call.memory(chunk, slab, untouched);
      long from = call.position(chunk, slab, untouched);
      NarrowWire narrow = call.narrow;
      if (narrow == null) {
        memory.store(from, count, target, position);
      } else {
        // Sums are on their way to all, who are to get them as they are here.
        Memory residual = step.effect == Effect.REDUCE ? call.residual : null;
        long residualFrom = call.position(chunk, slab, true);
        narrow.store(memory, from, count, target, position, residual, residualFrom, scratch);
      }
      position += call.pieceLength(count);
    }
  }

  @Override
  public void release() {
    state = RELEASED;
  }
}
