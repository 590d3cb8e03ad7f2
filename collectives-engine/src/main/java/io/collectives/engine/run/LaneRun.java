package io.collectives.engine.run;

import java.util.Arrays;

/** The state of one lane in a slab. */
final class LaneRun {
  final Program.Lane lane;

  /** The next send to go out. */
  int nextSend;

  /** By index of the peer: the next receive whose frame has not begun to arrive. */
  final int[] nextReceive;

  /** By index of the peer, in an inline exchange: the bytes of the message that it sends. */
  final int[] lengths;

  LaneRun(Program.Lane lane) {
    this.lane = lane;
    this.nextReceive = new int[lane.receives.length];
    this.lengths = new int[lane.receives.length];
  }

  void begin() {
    nextSend = 0;
    Arrays.fill(nextReceive, 0);
  }
}
