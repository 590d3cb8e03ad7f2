package io.collectives.engine.run;

import io.collectives.internal.CallFingerprint;
import io.collectives.spi.BodyViews;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Sends the frames of calls: what a step of the plan sends, the echoes of slabs that are over, and
 * in what this rank waits.
 */
final class Sender {
  private final Transport transport;
  private final Liveness liveness;
  private final FrameApplier applier;
  private final Traffic traffic;
  private final TraceLog trace;
  private final FrameHeader header = new FrameHeader();
  private final Deque<OutFrame> freeOut = new ArrayDeque<>();

  /** Copies that were sent but not yet read; their steps are over. */
  private final List<OutFrame> lingering = new ArrayList<>();

  /** If true, peers read bodies where this rank has them. */
  private final boolean bodiesAreViews;

  Sender(
      Transport transport,
      Liveness liveness,
      FrameApplier applier,
      Traffic traffic,
      TraceLog trace) {
    this.trace = trace;
    this.transport = transport;
    this.liveness = liveness;
    this.applier = applier;
    this.traffic = traffic;
    this.bodiesAreViews = transport.capability(BodyViews.class) != null;
  }

  /** Takes back the copies that have been read. */
  void collectCopies() {
    for (int i = lingering.size() - 1; i >= 0; i--) {
      if (lingering.get(i).isReleased()) {
        freeOut.add(lingering.remove(i));
      }
    }
  }

  /** Takes back the views that have been read. Returns whether there were any. */
  boolean collectReleased(Call call) {
    boolean any = false;
    List<OutFrame> views = call.views;
    int i = 0;
    while (i < views.size()) {
      OutFrame out = views.get(i);
      if (out.isReleased()) {
        out.run().sendOver(out.step());
        views.set(i, views.get(views.size() - 1));
        views.remove(views.size() - 1);
        freeOut.add(out);
        any = true;
      } else {
        i++;
      }
    }
    return any;
  }

  /** Sends what may be sent in a slab. Returns whether anything was. */
  boolean sendReady(Call call, SlabRun run) {
    applier.check().contribution(call, run);
    boolean any = false;
    for (int i = 0; i < run.lanes.length; i++) {
      LaneRun lane = run.lanes[i];
      Program.Step[] sends = lane.lane.sends;
      while (lane.nextSend < sends.length
          && run.sendReady(sends[lane.nextSend])
          && sendOrSkip(call, run, i, sends[lane.nextSend])) {
        lane.nextSend++;
        any = true;
      }
    }
    return any;
  }

  private boolean sendOrSkip(Call call, SlabRun run, int lane, Program.Step step) {
    if (call.isAbsent(step, run.slab)) {
      run.sendOver(step);
      return true;
    }
    if (!trace.isOn) {
      return send(call, run, lane, step);
    }
    boolean sent = send(call, run, lane, step);
    if (sent) {
      trace.sent(call, run.slab, lane, step);
    }
    return sent;
  }

  /** Tells peers that what they sent is here. Returns whether anybody was told. */
  boolean sendEchoes(Call call) {
    boolean any = false;
    for (int slab = call.firstOpen; slab < call.nextToIssue; slab++) {
      SlabRun run = call.openRun(slab);
      if (run.openSteps == 0 && run.openEchoes > 0) {
        for (int peer = 0; peer < run.echoOwed.length; peer++) {
          if (run.echoOwed[peer] && sendEcho(call, slab, call.program.peers[peer])) {
            call.framesTo[peer]++;
            run.noEchoTo(peer);
            any = true;
          }
        }
      }
    }
    return any;
  }

  /** Tells the peers of a call that this rank waits in it. */
  void tellPeers(Call call, long now) {
    call.nextWordNanos = now + Call.WORD_NANOS;
    for (int peer = 0; peer < call.program.peers.length; peer++) {
      int member = call.program.peers[peer];
      header.clear();
      header.kind = FrameHeader.Kind.WAITING;
      header.round = call.framesTo[peer];
      header.tag = call.group.completed();
      // If it cannot be sent now, it will be said again.
      say(call, member, call.fingerprintTo(member));
    }
  }

  private boolean sendEcho(Call call, int slab, int member) {
    header.clear();
    header.kind = FrameHeader.Kind.ECHO;
    header.slab = slab;
    return say(call, member, call.fingerprintFrom(member));
  }

  private boolean say(Call call, int member, long[] fingerprint) {
    Link link = transport.link(call.group.members[member]);
    header.group = call.group.id;
    header.sequence = call.sequence;
    System.arraycopy(fingerprint, 0, header.call, 0, CallFingerprint.WORDS);
    if (!link.trySend(header, FrameBody.EMPTY)) {
      return false;
    }
    liveness.said(link.peer());
    return true;
  }

  private boolean send(Call call, SlabRun run, int lane, Program.Step step) {
    Link link = transport.link(call.group.members[step.peer]);
    int length = call.frameLength(step, run.slab);
    header.kind = FrameHeader.Kind.DATA;
    header.group = call.group.id;
    header.sequence = call.sequence;
    header.slab = run.slab;
    header.lane = lane;
    header.round = step.round;
    header.firstChunk = step.firstChunk;
    header.chunkCount = step.chunkCount;
    header.length = length;
    header.tag = call.finding;
    System.arraycopy(call.fingerprintTo(step.peer), 0, header.call, 0, CallFingerprint.WORDS);
    if (length == 0) {
      if (!link.trySend(header, FrameBody.EMPTY)) {
        return false;
      }
      sent(call, step, link.peer(), 0);
      run.sendOver(step);
      return true;
    }
    OutFrame out = call.takeRefused(run, step);
    if (out == null) {
      out = freeOut.isEmpty() ? new OutFrame(applier.scratch()) : freeOut.pop();
      out.fill(call, run, step, length);
      if (mustBeCopied(call, step, out)) {
        out.makeCopy();
      } else if (run.isPlaced(step)) {
        out.place();
      }
    }
    boolean copied = out.copy() != null;
    if (!link.trySend(header, out)) {
      if (copied) {
        call.refused(out);
      } else {
        freeOut.push(out);
      }
      return false;
    }
    sent(call, step, link.peer(), length);
    if (out.isReleased()) {
      run.sendOver(step);
      freeOut.push(out);
    } else if (copied) {
      run.sendOver(step);
      lingering.add(out);
    } else {
      call.views.add(out);
    }
    return true;
  }

  private void sent(Call call, Program.Step step, int worldRank, int length) {
    liveness.said(worldRank);
    traffic.sent(worldRank, length);
    call.framesTo[call.program.peerIndex(step.peer)]++;
  }

  /**
   * Returns whether a receiver would read this rank's memory, but that is written to before all
   * have, or holds no narrow numbers. Such bodies are made here, by the rank whose scratch it
   * takes. Bodies that are not read in place are copied by the link.
   */
  private boolean mustBeCopied(Call call, Program.Step step, OutFrame out) {
    return bodiesAreViews ? step.copied || call.narrow != null : step.copied && out.pieces() > 0;
  }
}
