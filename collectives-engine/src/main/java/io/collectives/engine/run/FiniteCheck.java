package io.collectives.engine.run;

import io.collectives.Collective;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.Scratch;

/**
 * Finds numbers that are not finite, in calls that are to be checked, without a message.
 *
 * <p>Every rank keeps the lowest {@link Finding} of a call that it knows of, and puts it into each
 * frame that it sends; whoever gets the frame knows of it, too. So what is found travels at least
 * as far as the numbers do, by whatever plan.
 *
 * <p><b>Why all ranks of an all-reduce end with the same.</b> A rank looks at its own part in a
 * slab before it sends anything in that slab, or lets anything be added to it. Each rank's result
 * has the number that the lowest finding is about as an ancestor, so a chain of frames leads from
 * there to every rank, and each link of it was sent by one who knew. Nobody can know of a lower
 * one, as there is none. That frames carry findings about other chunks, too, makes some ranks know
 * earlier and changes nothing in the end.
 *
 * <p><b>Other reductions.</b> In a reduce-scatter every rank gets something of every other one in
 * the last slab, be it a frame without a body, so all end with the same finding about
 * contributions. Only the root of a reduction is sure to know all, so only it tells.
 *
 * <p><b>Results.</b> If nobody contributed anything that is not finite, whoever completes a piece
 * of a sum looks at it: it may have overflowed, or a part of it on a narrow wire. What is found
 * there goes on like the rest, and is the same on all ranks for the same reason. But of a
 * reduce-scatter the rank tells whose part it is, which looks whether it has completed the piece
 * itself or been sent it; nobody else need get a frame after that.
 */
final class FiniteCheck {
  private static final int PIECE = 1 << 20;

  private final Scratch scratch;

  FiniteCheck(Scratch scratch) {
    this.scratch = scratch;
  }

  /** Looks at this rank's part in a slab, unless that has been done. */
  void contribution(CallRun call, SlabRun run) {
    if (!call.checksFinite || run.isChecked || !call.program.contributes()) {
      return;
    }
    run.isChecked = true;
    for (int chunk = 0; chunk < call.program.chunks; chunk++) {
      contribution(call, call.position(chunk, run.slab, true), call.pieceCount(chunk, run.slab));
    }
  }

  /** Looks at all of this rank's part, of a call without frames. */
  void contribution(CallRun call) {
    if (call.checksFinite) {
      for (long at = 0; at < call.count(); at += PIECE) {
        contribution(call, at, (int) Math.min(PIECE, call.count() - at));
      }
    }
  }

  private void contribution(CallRun call, long at, int count) {
    int rank = call.program.rank;
    if (!Finding.isBefore(call.finding, rank, at)) {
      long found = call.input.firstNonFinite(at, count, scratch);
      if (found >= 0) {
        double value = call.input.value(found, scratch);
        call.finding = Math.min(call.finding, Finding.contribution(rank, found, value));
      }
    }
  }

  /** A frame of the call has come with a finding. */
  void heard(CallRun call, long finding) {
    if (call.checksFinite) {
      call.finding = Math.min(call.finding, finding);
    }
  }

  /** Looks at a piece of a chunk that has just been completed, be it a part of it. */
  void completed(CallRun call, int chunk, int slab, Memory result, long at, int count) {
    if (isHere(call)) {
      here(call, chunk, slab, result, at, count);
    } else {
      call.finding =
          Math.min(call.finding, result(call, shift(call, chunk, slab), result, at, count));
    }
  }

  /** Checks the sum that a rank which does not contribute has taken in any memory. */
  void served(CallRun call, int chunk, int slab, Memory sum, long at, int count) {
    call.finding =
        Math.min(call.finding, result(call, call.position(chunk, slab, true) - at, sum, at, count));
  }

  /** Looks at a piece that another rank has sent to take the place of what was here. */
  void replaced(CallRun call, int chunk, int slab, Memory result, long at, int count) {
    if (isHere(call)) {
      here(call, chunk, slab, result, at, count);
    }
  }

  private void here(CallRun call, int chunk, int slab, Memory result, long at, int count) {
    if (call.program.isResult(chunk)) {
      call.findingHere =
          Math.min(call.findingHere, result(call, shift(call, chunk, slab), result, at, count));
    }
  }

  /** Returns whether a finding about a result is of this rank's part, and told here only. */
  private static boolean isHere(CallRun call) {
    return call.program.collective == Collective.REDUCE_SCATTER;
  }

  private static long shift(CallRun call, int chunk, int slab) {
    // The input of a reduction is the whole payload, its result may be a part.
    return call.position(chunk, slab, true) - call.position(chunk, slab, false);
  }

  private long result(CallRun call, long shift, Memory result, long at, int count) {
    if (!call.checksFinite || Finding.isContribution(call.finding)) {
      return Finding.NONE;
    }
    long found = result.firstNonFinite(at, count, scratch);
    if (found < 0) {
      return Finding.NONE;
    }
    return Finding.result(found + shift, result.value(found, scratch));
  }
}
