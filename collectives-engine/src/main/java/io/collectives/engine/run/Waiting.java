package io.collectives.engine.run;

import org.jspecify.annotations.Nullable;

/** The peers that a call which is not over waits for. */
final class Waiting {
  private Waiting() {}

  /** Returns whether frames are still to come from a member, or to go to it. */
  static boolean needs(Call call, int member, Inbound[] inbound) {
    int peer = call.program.peerIndex(member);
    if (peer < 0) {
      return false;
    }
    if (call.abortedPeer == member) {
      return true;
    }
    int windowEnd = Math.min(call.slabs, call.firstOpen + 2 * call.slabsInFlight);
    if (windowEnd < call.slabs && call.involves(member, windowEnd)) {
      return true;
    }
    Inbound in = inbound[call.group.members[member]];
    if (in.call == call || in.held != null && call.held.contains(in.held)) {
      return true;
    }
    for (OutFrame view : call.views) {
      if (view.step().peer == member) {
        return true;
      }
    }
    for (int slab = call.firstOpen; slab < windowEnd; slab++) {
      SlabRun run = call.openRun(slab);
      // Who has left waits for no echo.
      if (run.echoDue[peer] || run.echoOwed[peer] && !call.group.left[member]) {
        return true;
      }
      for (LaneRun lane : run.lanes) {
        if (lane.nextReceive[peer] < lane.lane.receives[peer].length) {
          return true;
        }
        for (int i = lane.nextSend; i < lane.lane.sends.length; i++) {
          if (lane.lane.sends[i].peer == member && !call.isAbsent(lane.lane.sends[i], slab)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  /** Returns whether data that a member is to send has not begun to arrive. */
  static boolean lacks(Call call, int member) {
    int peer = call.program.peerIndex(member);
    int windowEnd = Math.min(call.slabs, call.firstOpen + 2 * call.slabsInFlight);
    if (peer < 0 || windowEnd < call.slabs && call.involves(member, windowEnd)) {
      return peer >= 0;
    }
    for (int slab = call.firstOpen; slab < windowEnd; slab++) {
      SlabRun run = call.openRun(slab);
      if (run.echoDue[peer]) {
        return true;
      }
      for (LaneRun lane : run.lanes) {
        if (lane.nextReceive[peer] < lane.lane.receives[peer].length) {
          return true;
        }
      }
    }
    return false;
  }

  /** For people; ranks are those of the whole job. */
  static String describe(Call call, long now, Inbound[] inbound) {
    Group group = call.group;
    StringBuilder text = new StringBuilder();
    text.append(call)
        .append(": rank ")
        .append(group.members[group.rank])
        .append(" waited ")
        .append((now - call.startNanos) / 1_000_000);
    text.append(" ms for rank ").append(group.members[member(call, inbound)]);
    Program.Step step = firstMissing(call);
    if (withoutMemory(call) >= 0) {
      text.append(" to share its memory");
    } else if (step != null) {
      text.append(" to send chunk ")
          .append(step.firstChunk)
          .append(" in round ")
          .append(step.round);
    } else if (call.views.isEmpty() && echoDue(call) >= 0) {
      text.append(" to confirm what was sent to it");
    }
    text.append(" (slab ").append(call.firstOpen).append(" of ").append(call.slabs).append(')');
    return text.toString();
  }

  /** The first member whose exchange buffer a call needs and does not have; -1 if there is none. */
  private static int withoutMemory(Call call) {
    ExchangeBuffers buffers = call.isInline ? call.buffers : null;
    return buffers == null ? -1 : buffers.awaited();
  }

  /** The earliest transfer of the first open slab that has not begun to arrive. */
  private static Program.@Nullable Step firstMissing(Call call) {
    Program.Step first = null;
    for (LaneRun lane : call.openRun(call.firstOpen).lanes) {
      for (int peer = 0; peer < lane.nextReceive.length; peer++) {
        Program.Step[] steps = lane.lane.receives[peer];
        int next = lane.nextReceive[peer];
        if (next < steps.length && (first == null || steps[next].round < first.round)) {
          first = steps[next];
        }
      }
    }
    return first;
  }

  /** The index of a peer that has not confirmed the first open slab, -1 if there is none. */
  private static int echoDue(Call call) {
    boolean[] due = call.openRun(call.firstOpen).echoDue;
    for (int peer = 0; peer < due.length; peer++) {
      if (due[peer]) {
        return peer;
      }
    }
    return -1;
  }

  /** The rank of the group that the call waits for. */
  static int member(Call call, Inbound[] inbound) {
    for (int sender : call.program.peers) {
      Inbound in = inbound[call.group.members[sender]];
      if (in.call == call) {
        return sender;
      }
    }
    int member = withoutMemory(call);
    if (member >= 0) {
      return member;
    }
    Program.Step step = firstMissing(call);
    if (step != null) {
      return step.peer;
    }
    if (!call.views.isEmpty()) {
      return call.views.get(0).step().peer;
    }
    int peer = echoDue(call);
    if (peer >= 0) {
      return call.program.peers[peer];
    }
    return call.program.peers[0];
  }
}
