package io.collectives.engine.run;

import io.collectives.plan.Effect;
import java.util.Arrays;

/** The state of one slab at this rank. */
final class SlabRun {
  final int[] writes;
  final int[] reads;
  final LaneRun[] lanes;
  private final Program program;

  /** By index of the peer: whether it is still to say that it has what was sent to it. */
  final boolean[] echoDue;

  /** By index of the peer: whether it is still to be told that what it sent is here. */
  final boolean[] echoOwed;

  /** By fused reduction: the number of contributions that are here. */
  final int[] gathered;

  /**
   * By fused reduction: whether a contribution has come as bytes, so that each is taken by itself
   * when its turn has come.
   */
  final boolean[] isApart;

  /**
   * By fused reduction and receive: whether the sum was put into the memory of that contributor.
   */
  final boolean[][] placed;

  /** By number of the chunk among those that return: whether it was leased in a stage. */
  final boolean[] staged;

  /** If true, this rank's part was checked. */
  boolean isChecked;

  /** The number of acknowledgements that are due or owed. */
  int openEchoes;

  /** Which slab, -1 if none. */
  int slab;

  /** Steps that are not over. */
  int openSteps;

  SlabRun(Program program) {
    writes = new int[program.places()];
    reads = new int[program.places()];
    lanes = new LaneRun[program.lanes.length];
    for (int i = 0; i < lanes.length; i++) {
      lanes[i] = new LaneRun(program.lanes[i]);
    }
    echoDue = new boolean[program.peers.length];
    echoOwed = new boolean[program.peers.length];
    gathered = new int[program.fusedReductions.length];
    isApart = new boolean[program.fusedReductions.length];
    placed = new boolean[program.fusedReductions.length][program.fusedContributions()];
    staged = new boolean[program.returns];
    this.program = program;
  }

  /** Begins a slab, or, if it is -1, stays without one, as nobody then looks at the rest. */
  void begin(int newSlab) {
    slab = newSlab;
    openSteps = 0;
    openEchoes = 0;
    if (newSlab < 0) {
      return;
    }
    openSteps = program.steps;
    isChecked = false;
    Arrays.fill(writes, 0);
    Arrays.fill(reads, 0);
    Arrays.fill(gathered, 0);
    Arrays.fill(isApart, false);
    Arrays.fill(staged, false);
    for (boolean[] of : placed) {
      Arrays.fill(of, false);
    }
    for (LaneRun lane : lanes) {
      lane.begin();
    }
    if (program.echoes) {
      for (int peer = 0; peer < echoDue.length; peer++) {
        echoDue[peer] = program.sendsTo[peer];
        echoOwed[peer] = program.receivesFrom[peer];
        openEchoes += (echoDue[peer] ? 1 : 0) + (echoOwed[peer] ? 1 : 0);
      }
    }
  }

  boolean isOver() {
    return openSteps == 0 && openEchoes == 0;
  }

  /** Returns whether a fused reduction has put the data of this step into its peer's memory. */
  boolean isPlaced(Program.Step send) {
    return send.fused != null && placed[send.fused.index][send.fused.placeOf(send.peer)];
  }

  /** A peer has what was sent to it, or nothing is. Returns whether that was still open. */
  boolean noEchoFrom(int peer) {
    boolean due = echoDue[peer];
    if (due) {
      echoDue[peer] = false;
      openEchoes--;
    }
    return due;
  }

  /** A peer knows that what it sent is here, or nothing is sent. */
  void noEchoTo(int peer) {
    if (echoOwed[peer]) {
      echoOwed[peer] = false;
      openEchoes--;
    }
  }

  /**
   * Returns whether a chunk has not been written, so that this rank's contribution is still the
   * input.
   */
  boolean isUntouched(int chunk) {
    return writes[chunk] == 0;
  }

  /** Returns whether incoming data replaces a chunk: that of another rank, or none at all. */
  boolean replaces(Program.Step receive, int chunk) {
    return receive.effect == Effect.REPLACE || isUntouched(chunk) && !program.contributes();
  }

  /** Returns whether incoming data completes chunk i of a step. */
  boolean completes(Program.Step receive, int i) {
    return receive.completes[i] && writes[receive.at + i] == receive.writesAtMost[i];
  }

  boolean sendReady(Program.Step step) {
    for (int i = 0; i < step.chunkCount; i++) {
      if (writes[step.at + i] != step.writesBefore[i]) {
        return false;
      }
    }
    return true;
  }

  boolean receiveReady(Program.Step step) {
    for (int i = 0; i < step.chunkCount; i++) {
      int chunk = step.at + i;
      if (writes[chunk] < step.writesBefore[i]
          || writes[chunk] > step.writesAtMost[i]
          || reads[chunk] != step.readsBefore[i]) {
        return false;
      }
    }
    return true;
  }

  void sendOver(Program.Step step) {
    for (int i = 0; i < step.chunkCount; i++) {
      reads[step.at + i]++;
    }
    openSteps--;
  }

  void receiveOver(Program.Step step) {
    for (int i = 0; i < step.chunkCount; i++) {
      writes[step.at + i]++;
    }
    openSteps--;
  }
}
