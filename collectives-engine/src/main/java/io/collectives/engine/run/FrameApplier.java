package io.collectives.engine.run;

import io.collectives.ReduceOp;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.Scratch;
import io.collectives.plan.Effect;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;

/**
 * Puts what arrives into this rank's memory. A frame holds the parts of its chunks that its slab
 * covers, one after the other without gaps.
 */
final class FrameApplier {
  private final Scratch scratch = new Scratch();
  private FrameBytes copy = new FrameBytes(ByteBuffer.allocateDirect(0));

  /**
   * Applies some bytes of a frame.
   *
   * @param done how many bytes of the frame have been applied before
   */
  void bytes(
      Call call,
      Call.SlabRun run,
      Program.Step step,
      int done,
      FrameBytes source,
      int at,
      int length) {
    int elementBytes = call.elementBytes();
    int from = done;
    int position = at;
    int left = length;
    int pieceAt = 0;
    for (int i = 0; i < step.chunkCount && left > 0; i++) {
      int chunk = step.firstChunk + i;
      int pieceBytes = call.pieceCount(chunk, run.slab) * elementBytes;
      int skip = from - pieceAt;
      if (skip < pieceBytes) {
        int bytes = Math.min(left, pieceBytes - skip);
        Memory result = call.memory(chunk, run.slab, false);
        long to = call.position(chunk, run.slab, false) + skip / elementBytes;
        int count = bytes / elementBytes;
        if (step.effect == Effect.REPLACE) {
          result.replace(to, count, source, position);
        } else {
          boolean untouched = step.untouched[i];
          Memory own = call.memory(chunk, run.slab, untouched);
          long ownFrom = call.position(chunk, run.slab, untouched) + skip / elementBytes;
          result.reduce(call.op, to, count, own, ownFrom, source, position, scratch);
          divide(call, step, i, result, to, count);
        }
        from += bytes;
        position += bytes;
        left -= bytes;
      }
      pieceAt += pieceBytes;
    }
  }

  /**
   * Applies a whole frame, from the sender's memory if it is there to be read.
   *
   * @return whether it was; if not, the sender's call has failed, and so must this one
   */
  boolean view(Call call, Call.SlabRun run, Program.Step step, FrameBody source) {
    boolean valid = true;
    if (source instanceof OutFrame out && out.isView()) {
      for (int i = 0; i < step.chunkCount; i++) {
        int chunk = step.firstChunk + i;
        int count = call.pieceCount(chunk, run.slab);
        Memory result = call.memory(chunk, run.slab, false);
        long to = call.position(chunk, run.slab, false);
        Memory theirs = out.call.memory(chunk, run.slab, out.step.untouched[i]);
        long from = out.call.position(chunk, run.slab, out.step.untouched[i]);
        if (step.effect == Effect.REPLACE) {
          result.replace(to, count, theirs, from);
        } else {
          boolean untouched = step.untouched[i];
          Memory own = call.memory(chunk, run.slab, untouched);
          long ownFrom = call.position(chunk, run.slab, untouched);
          result.reduce(call.op, to, count, own, ownFrom, theirs, from, scratch);
          divide(call, step, i, result, to, count);
        }
      }
      valid = !out.isRevoked();
    } else {
      bytes(call, run, step, 0, copy(source), 0, source.length());
    }
    source.release();
    return valid;
  }

  private void divide(Call call, Program.Step step, int i, Memory result, long at, int count) {
    if (call.op == ReduceOp.AVERAGE && step.completes[i]) {
      result.divide(at, count, call.group.size(), scratch);
    }
  }

  private FrameBytes copy(FrameBody source) {
    if (copy.bytes().capacity() < source.length()) {
      copy = new FrameBytes(ByteBuffer.allocateDirect(source.length() + 7 & ~7));
    }
    source.store(copy, 0);
    return copy;
  }
}
