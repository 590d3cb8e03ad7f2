package io.collectives.engine.run;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import java.lang.invoke.VarHandle;

/**
 * What a send step offers to the transport: pieces of this rank's memory, or a copy of them where
 * the plan writes to the same chunks in the same round. Reused.
 */
final class OutFrame implements FrameBody {
  // Written by the rank that sends before the frame is handed over, read by whoever has the frame.
  Call call;
  Call.SlabRun run;
  Program.Step step;
  int slab;
  private int length;
  private FrameBytes copy;
  private boolean copied;
  private volatile boolean released;
  private volatile boolean revoked;

  void fill(Call newCall, Call.SlabRun newRun, Program.Step newStep, int newLength) {
    call = newCall;
    run = newRun;
    step = newStep;
    slab = newRun.slab;
    length = newLength;
    copied = false;
    released = false;
    revoked = false;
  }

  /** Copies what is to be sent, so that the memory may be written at once. */
  void snapshot() {
    if (copy == null || copy.bytes().capacity() < length) {
      copy = new FrameBytes(java.nio.ByteBuffer.allocateDirect(length + 7 & ~7));
    }
    storePieces(copy, 0);
    copied = true;
  }

  /** Whether the receiver may read the pieces of the sender's memory itself. */
  boolean isView() {
    return !copied;
  }

  /** The call has failed: from now on the memory may hold anything. */
  void revoke() {
    revoked = true;
  }

  /**
   * Whether what a receiver has just read may have been written over by the sender's user; to be
   * asked after reading.
   */
  boolean isRevoked() {
    VarHandle.acquireFence();
    return revoked;
  }

  boolean isReleased() {
    return released;
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
      call.memory(chunk, slab, untouched)
          .store(call.position(chunk, slab, untouched), count, target, position);
      position += count * call.elementBytes();
    }
  }

  @Override
  public void release() {
    released = true;
  }
}
