package io.collectives.engine.run;

import io.collectives.Collective;
import io.collectives.ReduceOp;
import io.collectives.UserOp;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.NarrowWire;
import io.collectives.engine.memory.OrderedReduction;
import io.collectives.engine.memory.PairReduction;
import io.collectives.engine.memory.Scratch;
import io.collectives.spi.FrameBytes;
import java.util.Arrays;
import java.util.Objects;

/**
 * Puts what arrives into this rank's memory. A frame holds the parts of its chunks that its slab
 * covers, one after the other without gaps.
 */
final class FrameApplier {
  private final Scratch scratch = new Scratch();
  private final PairReduction pair = new PairReduction(scratch);
  private final OrderedReduction ordered = new OrderedReduction(scratch);
  private final FiniteCheck check = new FiniteCheck(scratch);

  /** Returns the scratch with which frames are made, too. */
  Scratch scratch() {
    return scratch;
  }

  /** Returns the check of the numbers of calls. */
  FiniteCheck check() {
    return check;
  }

  /**
   * Applies some bytes of a frame; all of them if its numbers are narrow.
   *
   * @param done how many bytes of the frame have been applied before
   */
  void bytes(
      CallRun call,
      SlabRun run,
      Program.Step step,
      int done,
      FrameBytes source,
      int at,
      int length) {
    NarrowWire narrow = call.narrow;
    if (narrow != null) {
      widen(call, run, step, narrow, source, at);
      return;
    }
    int elementBytes = call.elementBytes();
    int from = done;
    int position = at;
    int left = length;
    int pieceAt = 0;
    for (int i = 0; i < step.chunkCount && left > 0; i++) {
      int chunk = step.at + i;
      int pieceBytes = call.pieceCount(chunk, run.slab) * elementBytes;
      int skip = from - pieceAt;
      if (skip < pieceBytes) {
        int bytes = Math.min(left, pieceBytes - skip);
        Memory result = call.memory(chunk, run.slab, false);
        long to = call.position(chunk, run.slab, false) + skip / elementBytes;
        int count = bytes / elementBytes;
        if (run.replaces(step, chunk)) {
          result.replace(to, count, source, position);
          check.replaced(call, chunk, run.slab, result, to, count);
        } else {
          boolean untouched = run.isUntouched(chunk);
          Memory own = call.memory(chunk, run.slab, untouched);
          long ownFrom = call.position(chunk, run.slab, untouched) + skip / elementBytes;
          if (step.exchanges[i] && call.op instanceof UserOp) {
            orderSums(call, step, own, ownFrom, source, position);
            reduceInOrder(call, result, to, count, divisor(call, run, step, i));
          } else {
            pair.by(call.op, divisor(call, run, step, i), null)
                .run(result, to, count, own, ownFrom, source, position);
          }
          complete(call, run, step, i, result, to, count);
        }
        from += bytes;
        position += bytes;
        left -= bytes;
      }
      pieceAt += pieceBytes;
    }
  }

  /** Numbers become float32 again before they are added. */
  private void widen(
      CallRun call, SlabRun run, Program.Step step, NarrowWire narrow, FrameBytes source, int at) {
    int position = at;
    for (int i = 0; i < step.chunkCount; i++) {
      int chunk = step.at + i;
      int count = call.pieceCount(chunk, run.slab);
      Memory result = call.memory(chunk, run.slab, false);
      long to = call.position(chunk, run.slab, false);
      if (run.replaces(step, chunk)) {
        narrow.replace(result, to, count, source, position, scratch);
        check.replaced(call, chunk, run.slab, result, to, count);
      } else {
        boolean untouched = run.isUntouched(chunk);
        Memory own = call.memory(chunk, run.slab, untouched);
        long ownFrom = call.position(chunk, run.slab, untouched);
        if (step.exchanges[i]) {
          orderSums(call, step, own, ownFrom, source, position);
          reduceInOrder(call, result, to, count, divisor(call, run, step, i));
        } else {
          pair.by(call.op, divisor(call, run, step, i), narrow)
              .run(result, to, count, own, ownFrom, source, position);
        }
        complete(call, run, step, i, result, to, count);
      }
      position += narrow.length(count);
    }
  }

  /**
   * Applies a whole frame, from the sender's memory if it is there to be read.
   *
   * @return whether it was; if not, the sender's call has failed, and so must this one
   */
  boolean view(CallRun call, SlabRun run, Program.Step step, View source) {
    boolean valid = true;
    FrameBytes copy = source.copy();
    if (copy != null) {
      bytes(call, run, step, 0, copy, 0, source.length());
    } else {
      if (source.isPlaced()) {
        unstage(call, run, step);
      } else {
        pieces(call, run, step, source);
      }
      valid = !source.isRevoked();
    }
    source.release();
    return valid;
  }

  /** Takes the sums that the sender has put in the place of contributions of this rank. */
  private void unstage(CallRun call, SlabRun run, Program.Step step) {
    for (int i = 0; i < step.chunkCount; i++) {
      int chunk = step.at + i;
      int returning = call.program.returning(chunk);
      if (returning >= 0 && run.staged[returning]) {
        int count = call.pieceCount(chunk, run.slab);
        Memory result = call.memory(chunk, run.slab, false);
        long to = call.position(chunk, run.slab, false);
        int from = call.stage.at(chunk, run.slab);
        result.replace(to, count, call.stage.memory(), from / call.elementBytes());
        call.stage.region().check(from, count * call.elementBytes());
      }
    }
  }

  private void pieces(CallRun call, SlabRun run, Program.Step step, View source) {
    for (int i = 0; i < step.chunkCount; i++) {
      int chunk = step.at + i;
      int count = call.pieceCount(chunk, run.slab);
      Memory result = call.memory(chunk, run.slab, false);
      long to = call.position(chunk, run.slab, false);
      Memory theirs = source.source(result.type(), i);
      long from = source.sourceAt(i);
      if (run.replaces(step, chunk)) {
        result.replace(to, count, theirs, from);
        check.replaced(call, chunk, run.slab, result, to, count);
      } else {
        boolean untouched = run.isUntouched(chunk);
        Memory own = call.memory(chunk, run.slab, untouched);
        long ownFrom = call.position(chunk, run.slab, untouched);
        if (step.exchanges[i] && call.op instanceof UserOp) {
          orderSums(call, step, own, ownFrom, theirs, from);
          reduceInOrder(call, result, to, count, divisor(call, run, step, i));
        } else {
          pair.by(call.op, divisor(call, run, step, i), null)
              .run(result, to, count, own, ownFrom, theirs, from);
        }
        complete(call, run, step, i, result, to, count);
      }
    }
  }

  /**
   * Puts the sums that this rank and a peer exchange in order, the lower rank's first, each as the
   * other rank gets it, so that both reduce alike. Standard ops are commutative to the last bit, so
   * the order matters to those of users only.
   */
  private void orderSums(
      CallRun call, Program.Step step, Memory own, long ownFrom, FrameBytes theirs, int at) {
    if (step.peer < call.program.rank) {
      ordered.add(theirs, at);
      ordered.add(own, ownFrom);
    } else {
      ordered.add(own, ownFrom);
      ordered.add(theirs, at);
    }
  }

  private void orderSums(
      CallRun call, Program.Step step, Memory own, long ownFrom, Memory theirs, long from) {
    if (step.peer < call.program.rank) {
      ordered.add(theirs, from);
      ordered.add(own, ownFrom);
    } else {
      ordered.add(own, ownFrom);
      ordered.add(theirs, from);
    }
  }

  private void reduceInOrder(CallRun call, Memory result, long to, int count, int divisor) {
    ordered.run(
        call.op, OrderedReduction.Manner.SEQUENTIAL, result, to, count, divisor, call.narrow);
  }

  /**
   * Takes a fused sum, and puts it into every output that is to get it and can be reached.
   *
   * @param frames those of the receives of {@code fused}
   * @return -1, or a member whose call has failed, so that this one must, too
   */
  int reduceFused(CallRun call, SlabRun run, Program.FusedReduction fused, HeldFrame[] frames) {
    try {
      for (int i = 0; i < frames.length; i++) {
        if (isMemory(frames[i]) && !view(frames[i]).holdOpen()) {
          return fused.receives[i].peer;
        }
      }
      if (fused.placing) {
        for (int i = 0; i < frames.length; i++) {
          run.placed[fused.index][i] =
              isMemory(frames[i]) && hasTargets(call, fused.first, view(frames[i]));
        }
      }
      if (fused.inRankOrder) {
        takeInOrder(call, run, fused, frames);
      } else {
        place(call, run, fused, frames);
      }
      for (int i = 0; i < frames.length; i++) {
        if (isMemory(frames[i]) && view(frames[i]).isRevoked()) {
          return fused.receives[i].peer; // It was held, so its memory itself is gone.
        }
      }
      return -1;
    } finally {
      for (HeldFrame frame : frames) {
        if (frame.view != null) {
          frame.view.release();
          frame.view = null;
        }
      }
    }
  }

  /** Returns whether a frame is the memory of its sender, and not bytes. */
  private static boolean isMemory(HeldFrame frame) {
    return frame.view != null && frame.view.copy() == null;
  }

  private static View view(HeldFrame frame) {
    return Objects.requireNonNull(frame.view);
  }

  private void place(CallRun call, SlabRun run, Program.FusedReduction fused, HeldFrame[] frames) {
    Program.Step step = fused.first;
    int slab = run.slab;
    if (!call.program.contributes()) {
      serve(call, run, fused, frames);
      return;
    }
    for (int i = 0; i < step.chunkCount; i++) {
      int chunk = step.firstChunk + i;
      boolean untouched = run.isUntouched(chunk);
      Memory result = call.memory(chunk, slab, false);
      ordered.add(call.memory(chunk, slab, untouched), call.position(chunk, slab, untouched));
      for (int k = 0; k < frames.length; k++) {
        View theirs = view(frames[k]);
        boolean placed = run.placed[fused.index][k];
        ordered.add(
            theirs.source(result.type(), i),
            theirs.sourceAt(i),
            placed ? theirs.target(result.type(), i) : null,
            placed ? theirs.targetAt(i) : 0);
      }
      reduceAtOnce(call, result, call.position(chunk, slab, false), call.pieceCount(chunk, slab));
      check.completed(
          call,
          chunk,
          slab,
          result,
          call.position(chunk, slab, false),
          call.pieceCount(chunk, slab));
    }
  }

  /**
   * Takes the sum at a rank that contributes nothing: it begins with the first contribution. If all
   * outputs can be reached it goes there only, else to memory of the library, to be sent to all.
   */
  private void serve(CallRun call, SlabRun run, Program.FusedReduction fused, HeldFrame[] frames) {
    Program.Step step = fused.first;
    boolean all = true;
    for (boolean placed : run.placed[fused.index]) {
      all &= placed;
    }
    if (!all) {
      Arrays.fill(run.placed[fused.index], false);
    }
    for (int i = 0; i < step.chunkCount; i++) {
      int chunk = step.firstChunk + i;
      Memory work = call.memory(chunk, run.slab, false);
      View first = view(frames[0]);
      ordered.add(first.source(work.type(), i), first.sourceAt(i));
      for (int k = 1; k < frames.length; k++) {
        View theirs = view(frames[k]);
        ordered.add(
            theirs.source(work.type(), i),
            theirs.sourceAt(i),
            all ? theirs.target(work.type(), i) : null,
            all ? theirs.targetAt(i) : 0);
      }
      Memory sum = all ? Objects.requireNonNull(first.target(work.type(), i)) : work;
      long to = all ? first.targetAt(i) : call.position(chunk, run.slab, false);
      int count = call.pieceCount(chunk, run.slab);
      reduceAtOnce(call, sum, to, count);
      check.served(call, chunk, run.slab, sum, to, count);
    }
  }

  /** Takes the result of all contributions in the order in which they were added. */
  private void reduceAtOnce(CallRun call, Memory result, long to, int count) {
    ordered.run(
        call.op, OrderedReduction.Manner.SEQUENTIAL, result, to, count, divisor(call), null);
  }

  /** Returns whether the sum of all chunks can be put into the memory of a contributor. */
  private static boolean hasTargets(CallRun call, Program.Step step, View view) {
    for (int i = 0; i < step.chunkCount; i++) {
      if (view.target(call.output.type(), i) == null) {
        return false;
      }
    }
    return true;
  }

  /**
   * Takes the sum of what all ranks have told this one.
   *
   * @param chunk that it is of
   * @param frames by member; that of this rank is its own memory
   * @param at the index of their first byte
   */
  void exchange(CallRun call, int chunk, FrameBytes[] frames, int at) {
    Memory result = call.memory(chunk, 0, false);
    for (int member : call.program.summands) {
      if (member == call.program.rank) {
        ordered.add(call.memory(chunk, 0, true), call.position(chunk, 0, true));
      } else {
        ordered.add(frames[member], at);
      }
    }
    ordered.run(
        call.op,
        call.manner,
        result,
        call.position(chunk, 0, false),
        call.pieceCount(chunk, 0),
        divisor(call),
        null);
  }

  private void takeInOrder(
      CallRun call, SlabRun run, Program.FusedReduction fused, HeldFrame[] frames) {
    Program.Step step = fused.first;
    int slab = run.slab;
    int at = 0;
    for (int i = 0; i < step.chunkCount; i++) {
      int chunk = step.firstChunk + i;
      boolean untouched = run.isUntouched(chunk);
      int count = call.pieceCount(chunk, slab);
      Memory result = call.memory(chunk, slab, false);
      long to = call.position(chunk, slab, false);
      int me = call.program.rank;
      for (int rank = 0; rank < call.program.contributors; rank++) {
        if (rank == me) {
          ordered.add(call.memory(chunk, slab, untouched), call.position(chunk, slab, untouched));
          continue;
        }
        int place = rank < me ? rank : rank - 1;
        HeldFrame frame = frames[place];
        if (isMemory(frame)) {
          View theirs = view(frame);
          boolean placed = run.placed[fused.index][place];
          ordered.add(
              theirs.source(result.type(), i),
              theirs.sourceAt(i),
              placed ? theirs.target(result.type(), i) : null,
              placed ? theirs.targetAt(i) : 0);
        } else {
          ordered.add(frame.bytes(), at);
        }
      }
      ordered.run(call.op, call.manner, result, to, count, divisor(call), call.narrow);
      if (call.narrow != null && call.roundsSums()) {
        call.narrow.round(result, to, count, null, scratch);
      }
      check.completed(call, chunk, slab, result, to, count);
      at += call.pieceLength(count);
    }
  }

  /**
   * The exact sum of one contribution is that, but for the bits of what is not a number: of who has
   * nobody to add to, itself or at a server.
   */
  void reduceAlone(CallRun call) {
    boolean isAlone = call.program.contributors == 1 && call.program.rank == 0;
    if (!isAlone || call.manner != OrderedReduction.Manner.EXACT) {
      return;
    }
    Memory result = call.output;
    for (long done = 0; done < result.count(); ) {
      int piece = (int) Math.min(1 << 20, result.count() - done);
      ordered.add(result, done);
      ordered.run(call.op, call.manner, result, done, piece, 1, null);
      done += piece;
    }
  }

  private static int divisor(CallRun call) {
    return call.op == ReduceOp.AVERAGE ? call.program.contributors : 1;
  }

  /** Returns what the sum of chunk i of a step is divided by, as what comes completes it. */
  private static int divisor(CallRun call, SlabRun run, Program.Step step, int i) {
    return run.completes(step, i) ? divisor(call) : 1;
  }

  /** If all contributions to a chunk are in what was reduced just now, makes it the result. */
  private void complete(
      CallRun call, SlabRun run, Program.Step step, int i, Memory result, long at, int count) {
    if (!run.completes(step, i)) {
      return;
    }
    int chunk = step.firstChunk + i;
    if (call.narrow != null
        && (call.program.collective == Collective.ALL_REDUCE
            || call.residual != null && call.isPassedOn(chunk))) {
      // All others get it rounded, and all are to have the same bits; or the root gets it rounded,
      // and what that takes is kept here, where the residual of the sum has room.
      call.narrow.round(result, at, count, call.residual(chunk, run.slab), scratch);
    }
    check.completed(call, chunk, run.slab, result, at, count);
  }
}
