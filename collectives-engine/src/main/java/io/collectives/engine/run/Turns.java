package io.collectives.engine.run;

import io.collectives.spi.FrameHeader;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Applies the frames that a call holds when their turn has come: one by itself when the steps
 * before it are over, and those of a fused reduction when all of them are here.
 */
final class Turns {
  private final Failures failures;
  private final HeldFrames heldFrames;
  private final FrameApplier applier;
  private final TraceLog trace;

  Turns(Failures failures, HeldFrames heldFrames, FrameApplier applier, TraceLog trace) {
    this.trace = trace;
    this.failures = failures;
    this.heldFrames = heldFrames;
    this.applier = applier;
  }

  /** Returns where it is recorded what is applied. */
  TraceLog trace() {
    return trace;
  }

  /** Returns the frames that wait for their turns. */
  HeldFrames heldFrames() {
    return heldFrames;
  }

  /**
   * Counts a frame to those of its fused reduction.
   *
   * @param isView whether its body is read where it is
   * @return whether it waits for the others, to be applied together with them
   */
  boolean join(Call call, Target target, FrameHeader head, boolean isView) {
    Program.FusedReduction fused = target.step().fused;
    if (fused == null || head.length == 0) {
      return false;
    }
    if (!fused.inRankOrder && (call.narrow != null || !isView)) {
      target.run().isApart[fused.index] = true;
    }
    target.run().gathered[fused.index]++;
    return !target.run().isApart[fused.index];
  }

  /** Returns the fused reduction for whose other frames a held one waits, if it does. */
  private static Program.@Nullable FusedReduction fused(HeldFrame held) {
    Program.FusedReduction fused = held.step().fused;
    return fused == null || held.header.length == 0 || held.run().isApart[fused.index]
        ? null
        : fused;
  }

  /** Applies the held frames of a call whose turn has come. Returns whether there were any. */
  boolean apply(Call call) {
    boolean any = false;
    List<HeldFrame> held = call.held;
    for (int i = 0; i < held.size(); ) {
      HeldFrame frame = held.get(i);
      Program.FusedReduction fused = fused(frame);
      if (fused != null) {
        if (reduceFused(call, frame.run(), fused)) {
          any = true;
          i = 0;
        } else {
          i++;
        }
        if (call.hasStopped()) {
          return true;
        }
      } else if (frame.isComplete() && frame.run().receiveReady(frame.step())) {
        boolean valid = true;
        if (frame.view != null) {
          valid = applier.view(call, frame.run(), frame.step(), frame.view);
          frame.view = null;
        } else {
          applier.bytes(call, frame.run(), frame.step(), 0, frame.bytes(), 0, frame.header.length);
        }
        if (trace.isOn) {
          trace.received(call, frame, frame.header.lane);
        }
        if (valid) {
          frame.run().receiveOver(frame.step());
        } else {
          failures.spoiled(call, frame.step().peer);
          if (call.hasStopped()) {
            return true;
          }
        }
        held.remove(i);
        heldFrames.giveBack(frame);
        any = true;
        i = 0;
      } else {
        i++;
      }
    }
    return any;
  }

  /** Takes a fused sum if all its contributions are here. Returns whether that was so. */
  private boolean reduceFused(Call call, SlabRun run, Program.FusedReduction fused) {
    Program.Step[] receives = fused.receives;
    if (run.gathered[fused.index] < receives.length
        || !run.receiveReady(fused.first)
        || !gather(call, run, fused)) {
      return false;
    }
    int failed = applier.reduceFused(call, run, fused, call.contributions);
    if (trace.isOn) {
      trace.worked(call, run.slab, 0, receives.length * call.frameLength(fused.first, run.slab));
    }
    List<HeldFrame> held = call.held;
    int i = 0;
    while (i < held.size()) {
      HeldFrame frame = held.get(i);
      if (frame.run() == run && frame.step().fused == fused) {
        if (trace.isOn) {
          trace.gathered(call, frame);
        }
        held.remove(i);
        heldFrames.giveBack(frame);
      } else {
        i++;
      }
    }
    if (failed >= 0) {
      failures.spoiled(call, failed);
      return true;
    }
    for (Program.Step receive : receives) {
      run.receiveOver(receive);
    }
    return true;
  }

  /** Puts the frames of a fused sum in its order. Returns whether they are complete. */
  private static boolean gather(Call call, SlabRun run, Program.FusedReduction fused) {
    for (int i = 0; i < call.held.size(); i++) {
      HeldFrame frame = call.held.get(i);
      if (frame.run() == run && frame.step().fused == fused) {
        if (!frame.isComplete()) {
          return false;
        }
        int place = 0;
        while (fused.receives[place] != frame.step()) {
          place++;
        }
        call.contributions[place] = frame;
      }
    }
    return true;
  }
}
