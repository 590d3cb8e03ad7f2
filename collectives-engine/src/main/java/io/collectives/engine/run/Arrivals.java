package io.collectives.engine.run;

import io.collectives.ProtocolException;
import io.collectives.internal.CallFingerprint;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.LeasedBody;
import io.collectives.spi.Link;
import io.collectives.spi.ViewSink;
import java.util.ArrayDeque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Takes what arrives: checks every frame against this rank's own calls and plans, and applies it,
 * or holds it until its turn has come.
 *
 * <p>One class because each check of a frame decides how its bytes are read, applied or held.
 */
final class Arrivals implements FrameSink, ViewSink {
  /**
   * The number of calls of a group that a rank may be ahead of another one. Nearly every call needs
   * something of every rank, which keeps them together; but ranks may make some without one that is
   * sent nothing in them.
   */
  private static final long MOST_CALLS_AHEAD = 1 << 16;

  private final Calls calls;
  private final Failures failures;
  private final Notices notices;
  private final Liveness liveness;
  private final HeldFrames heldFrames;
  private final FrameApplier applier;
  private final Inbound[] inbound;
  private final InlineExchanges inline;
  private final Turns turns;
  private final TraceLog trace;

  private final FrameHeader answer = new FrameHeader();
  private final ArrayDeque<LeasedFrame> freeLeased = new ArrayDeque<>();

  /** Frames of calls that this rank has not entered, in the order of arrival. */
  private final List<HeldFrame> early;

  Arrivals(
      Calls calls,
      Failures failures,
      Liveness liveness,
      FrameApplier applier,
      Inbound[] inbound,
      InlineExchanges inline,
      Turns turns) {
    this.trace = turns.trace();
    this.calls = calls;
    this.failures = failures;
    this.notices = failures.notices();
    this.liveness = liveness;
    this.heldFrames = turns.heldFrames();
    this.early = heldFrames.early();
    this.applier = applier;
    this.inbound = inbound;
    this.inline = inline;
    this.turns = turns;
  }

  /** A group is made of which frames may have come. */
  void added(Group group) {
    for (int i = 0; i < early.size(); i++) {
      HeldFrame held = early.get(i);
      if (held.header.group == group.id) {
        int sender = group.rankOf(held.peer);
        if (sender < 0) {
          notAMember(group, held.peer, held.header);
          return;
        }
        group.contacts[sender] = true;
      }
    }
  }

  /** Gives a call that starts the frames that came before it. */
  void deliverEarly(Call call) {
    for (int i = 0; i < early.size() && !call.hasStopped(); ) {
      HeldFrame held = early.get(i);
      if (held.header.group != call.group.id) {
        i++;
      } else if (held.header.sequence == call.sequence) {
        early.remove(i);
        if (accept(call, held.peer, held.header, held) && fits(call, held.peer, held, held.view)) {
          call.held.add(held);
          turns.join(call, held, held.header, held.view != null);
        } else {
          heldFrames.discard(held);
        }
      } else {
        i++;
      }
    }
    for (int i = 0; i < early.size() && !call.hasStopped(); i++) {
      HeldFrame held = early.get(i);
      if (held.header.group == call.group.id) {
        isTooFarAhead(call, held.peer, held.header);
      }
    }
  }

  /**
   * Returns the fingerprint that came with a frame of a call which this rank has not entered, or
   * null if no frame came.
   */
  long @Nullable [] early(Group group, long sequence) {
    for (int i = 0; i < early.size(); i++) {
      FrameHeader head = early.get(i).header;
      if (head.group == group.id && head.sequence == sequence) {
        return head.call;
      }
    }
    return null;
  }

  @Override
  public void header(Link link, FrameHeader head) {
    header(link, head, false);
  }

  private void header(Link link, FrameHeader head, boolean isView) {
    int peer = link.peer();
    Inbound in = inbound[peer];
    in.drop();
    in.length = head.length;
    in.isView = isView;
    in.received = 0;
    liveness.heard(peer);
    if (in.isDistrusted && !head.kind.isNotice()) {
      return;
    }
    switch (head.kind) {
      case DATA -> {
        calls.traffic().received(peer, head.length);
        data(peer, in, head);
      }
      case ECHO -> echo(peer, head);
      case WAITING -> waits(link, head);
      case FAILURE, AGREEMENT -> notice(peer, in, head);
      case HEARTBEAT -> {}
    }
  }

  private void notice(int peer, Inbound in, FrameHeader head) {
    int most = in.noticeBytes.bytes().capacity();
    if (head.length <= most) {
      in.notice(head);
    } else {
      distrust(
          peer,
          new ProtocolException(
              "rank "
                  + peer
                  + " sent a frame that cannot be: "
                  + head
                  + "; notices have "
                  + most
                  + " bytes at most"));
    }
  }

  /**
   * A peer has sent what makes no sense whatever calls this rank has made: it is given up. It still
   * gets signs of life, as it may wait for this rank in a group that is told of it when it is made.
   */
  private void distrust(int peer, ProtocolException why) {
    if (inbound[peer].isDistrusted) {
      return;
    }
    inbound[peer].isDistrusted = true;
    heldFrames.forgetPeer(peer);
    inline.look(calls.groups());
    failures.lost(peer, why);
  }

  /**
   * The member of a whole group that a frame is of.
   *
   * @return -1 if there is no such group any more, or the frame breaks it
   */
  private int senderIn(Group group, int peer, FrameHeader head) {
    int sender = group.rankOf(peer);
    if (sender < 0) {
      notAMember(group, peer, head);
      return -1;
    }
    // It may wait for this rank, and must hear of it if this rank leaves.
    group.contacts[sender] = true;
    if (group.isBroken()) {
      notices.tellLate(group, sender);
      return -1;
    }
    return sender;
  }

  private boolean protocol(Group group, int worldRank, FrameHeader head, String expected) {
    failures.fail(group, FrameErrors.protocol(group, worldRank, head, expected));
    return false;
  }

  private void notAMember(Group group, int peer, FrameHeader head) {
    protocol(group, peer, head, "the sender is not a member of " + group);
  }

  /**
   * Breaks the group and returns true if a frame shows that its sender has ended a call in which
   * this rank still lacks what it was to send.
   */
  private boolean isTooFarAhead(Call call, int peer, FrameHeader head) {
    int sender = call.group.rankOf(peer);
    if (head.sequence - call.sequence < Calls.WINDOW || !Waiting.lacks(call, sender)) {
      return false;
    }
    protocol(
        call.group,
        peer,
        head,
        "before it may come to that call it has to send its part of " + call);
    return true;
  }

  private void data(int peer, Inbound in, FrameHeader head) {
    Group group = calls.group(head.group);
    if (group == null) {
      if (!notices.tellClosed(peer, head.group)) {
        hold(in, peer, head, early);
      }
      return;
    }
    if (senderIn(group, peer, head) < 0) {
      return;
    }
    Call call = calls.underWay(group, head.sequence);
    if (call == null) {
      early(group, peer, in, head);
      return;
    }
    if (!accept(call, peer, head, in)) {
      return;
    }
    if (turns.join(call, in, head, in.isView)) {
      holdForCall(in, peer, head, call);
    } else if (in.run().receiveReady(in.step())) {
      in.call = call;
      if (trace.isOn) {
        in.arrivedNanos = trace.look();
        in.lane = head.lane;
      }
      if (head.length == 0) {
        if (trace.isOn) {
          trace.received(call, in, in.lane);
        }
        in.over();
      }
    } else {
      holdForCall(in, peer, head, call);
    }
  }

  /** A frame of a call that is not under way here. */
  private void early(Group group, int peer, Inbound in, FrameHeader head) {
    long firstNotStarted = group.nextSequence - group.waiting.size();
    if (head.sequence < firstNotStarted) {
      failures.fail(group, FrameErrors.afterTheEnd(group, peer, head));
      return;
    }
    List<Call> underWay = calls.underWay();
    for (int i = 0; i < underWay.size(); i++) {
      Call call = underWay.get(i);
      if (call.group == group && isTooFarAhead(call, peer, head)) {
        return;
      }
    }
    if (head.sequence - firstNotStarted > MOST_CALLS_AHEAD) {
      protocol(
          group,
          peer,
          head,
          "the next call of this rank is #"
              + firstNotStarted
              + ", and no rank may be "
              + MOST_CALLS_AHEAD
              + " calls ahead");
      return;
    }
    hold(in, peer, head, early);
  }

  private void holdForCall(Inbound in, int peer, FrameHeader head, Call call) {
    HeldFrame held = hold(in, peer, head, call.held);
    if (held != null) {
      in.heldFor = call;
      held.aim(in.run(), in.step());
    }
  }

  /**
   * Returns whether the memory that a peer leases is that of the transfer; if not, breaks the
   * group.
   */
  private boolean fits(Call call, int worldRank, Target target, @Nullable View view) {
    if (view instanceof LeasedFrame leased
        && !leased.fits(call, target.run().slab, target.step())) {
      failures.fail(
          call.group,
          FrameErrors.protocolError(
              call,
              worldRank,
              "memory of other pieces than those of chunks "
                  + target.step().firstChunk
                  + "+"
                  + target.step().chunkCount
                  + " of "
                  + call));
      return false;
    }
    return true;
  }

  /**
   * A peer waits in a call, or has ended one in which this rank waits: is it this rank's, too, and
   * has all come that the peer has sent in it? What it sends comes in order, so what is missing now
   * has gone elsewhere.
   */
  private void waits(Link link, FrameHeader head) {
    int worldRank = link.peer();
    Group group = calls.group(head.group);
    if (group == null) {
      notices.tellClosed(worldRank, head.group);
      return;
    }
    if (group.isBroken()) {
      notices.tellAgain(group, group.rankOf(worldRank));
    }
    int sender = senderIn(group, worldRank, head);
    if (sender < 0) {
      return;
    }
    // Bytes that the peer left inline may have come before this frame.
    inline.look(calls.groups());
    Call call = calls.underWay(group, head.sequence);
    if (call == null) {
      if (head.sequence < group.completed() && head.tag <= head.sequence) {
        answer.copyFrom(head);
        answer.round = 0;
        answer.tag = group.completed();
        // If it cannot be sent now, it will be asked again.
        link.trySend(answer, FrameBody.EMPTY);
      }
      return;
    }
    int peer = call.program.peerIndex(sender);
    if (head.tag > head.sequence) {
      // The answer to a word of this rank, whose fingerprint it carries.
      if (Waiting.lacks(call, sender)) {
        protocol(
            group,
            worldRank,
            head,
            "it has ended the call, but not all has come that it had to send");
      }
    } else if (peer < 0 || !CallFingerprint.same(call.fingerprintFrom(sender), head.call)) {
      mismatch(call, sender, head);
    } else if (head.round != call.framesFrom[peer]) {
      protocol(
          group,
          worldRank,
          head,
          "it says that it has sent "
              + head.round
              + " frames of the call, and "
              + call.framesFrom[peer]
              + " have come");
    }
  }

  /** The sender must hear of it, even if it is no peer in this rank's call. */
  private void mismatch(Call call, int sender, FrameHeader head) {
    call.group.contacts[sender] = true;
    failures.fail(call.group, FrameErrors.mismatch(call, call.group.members[sender], head));
  }

  /** A peer has done its part of a slab; see {@link Engine}. */
  private void echo(int worldRank, FrameHeader head) {
    Group group = calls.group(head.group);
    if (group == null) {
      if (!notices.tellClosed(worldRank, head.group)) {
        distrust(
            worldRank,
            new ProtocolException(
                "rank " + worldRank + " sent an echo in a group that was not made here: " + head));
      }
      return;
    }
    int sender = senderIn(group, worldRank, head);
    if (sender < 0) {
      return;
    }
    Call call = calls.underWay(group, head.sequence);
    if (call == null) {
      protocol(group, worldRank, head, "nothing was sent to it in such a call");
      return;
    }
    int peer = call.program.peerIndex(sender);
    if (!CallFingerprint.same(call.fingerprintTo(sender), head.call)) {
      mismatch(call, sender, head);
      return;
    }
    SlabRun run = call.run(head.slab);
    if (run == null || peer < 0 || !run.noEchoFrom(peer)) {
      protocol(group, worldRank, head, "the slab needs no echo from it");
      return;
    }
    call.framesFrom[peer]++;
  }

  /**
   * Checks a header against this rank's own call and plan, and finds its step. Returns false if the
   * group failed.
   */
  private boolean accept(Call call, int worldRank, FrameHeader head, Target target) {
    int sender = call.group.rankOf(worldRank);
    if (!CallFingerprint.same(call.fingerprintFrom(sender), head.call)) {
      mismatch(call, sender, head);
      return false;
    }
    SlabRun run = call.run(head.slab);
    if (run == null) {
      return protocol(
          call.group,
          worldRank,
          head,
          "slabs "
              + call.firstOpen
              + " to "
              + (call.firstOpen + 2 * call.slabsInFlight - 1)
              + " are open");
    }
    int peer = call.program.peerIndex(sender);
    if (peer < 0 || head.lane < 0 || head.lane >= run.lanes.length) {
      return protocol(call.group, worldRank, head, "the plan has no such transfer");
    }
    LaneRun lane = run.lanes[head.lane];
    Program.Step[] steps = lane.lane.receives[peer];
    int next = lane.nextReceive[peer];
    if (next == steps.length) {
      return protocol(
          call.group,
          worldRank,
          head,
          "the plan expects no more frames from it in this slab and lane");
    }
    Program.Step step = steps[next];
    if (head.round != step.round
        || head.firstChunk != step.firstChunk
        || head.chunkCount != step.chunkCount
        || head.length != call.frameLength(step, head.slab)) {
      return protocol(
          call.group,
          worldRank,
          head,
          "the plan expects round="
              + step.round
              + " chunks="
              + step.firstChunk
              + "+"
              + step.chunkCount
              + " length="
              + call.frameLength(step, head.slab));
    }
    if (!call.takes(head.tag)) {
      return protocol(
          call.group, worldRank, head, "a finding of its check makes no sense: " + head.tag);
    }
    lane.nextReceive[peer]++;
    call.framesFrom[peer]++;
    applier.check().contribution(call, run);
    applier.check().heard(call, head.tag);
    target.aim(run, step);
    return true;
  }

  private @Nullable HeldFrame hold(Inbound in, int peer, FrameHeader head, List<HeldFrame> where) {
    HeldFrame held = heldFrames.take(peer, head, in.isView);
    if (held != null) {
      held.arrivedNanos = trace.isOn ? trace.look() : 0;
      where.add(held);
      // A frame without a body is complete; the object may soon hold that of another peer.
      in.held = head.length == 0 ? null : held;
    } else {
      String why = "more than " + heldFrames.limit() + " bytes would wait for their turn";
      Group group = calls.group(head.group);
      if (group != null) {
        protocol(group, peer, head, why);
      } else {
        // A frame must not vanish: without its group, only the peer can be given up.
        distrust(
            peer,
            new ProtocolException(
                "rank " + peer + ": " + why + " in groups not made here: " + head));
      }
    }
    return held;
  }

  @Override
  public void bytes(Link link, FrameBytes source, int at, int length) {
    Inbound in = inbound[link.peer()];
    liveness.heard(link.peer());
    Call call = in.call;
    if (call != null && !call.hasStopped()) {
      try {
        if (call.narrow == null && !in.step().anyOrder || length == in.length) {
          applier.bytes(call, in.run(), in.step(), in.received, source, at, length);
        } else {
          FrameBytes whole = in.gather(source, at, length);
          if (whole != null) {
            applier.bytes(call, in.run(), in.step(), 0, whole, 0, in.length);
          }
        }
      } catch (Throwable t) {
        failures.abort(call.group, t.toString(), t);
      }
      if (trace.isOn) {
        applied(call, in, length);
      }
    } else if (in.held != null) {
      in.held.take(source, at, length);
      if (trace.isOn) {
        trace.held(in.held.header, length);
      }
      if (in.held.unwanted && in.held.isComplete()) {
        heldFrames.giveBack(in.held);
        in.held = null;
      }
    } else if (in.isNotice) {
      in.noticeBytes.bytes().put(in.received, source.bytes(), at, length);
    }
    in.received += length;
    if (in.received == in.length) {
      finish(link.peer(), in);
    }
  }

  /** Records that bytes of a frame were applied. */
  private void applied(Call call, Inbound in, int length) {
    if (in.received + length == in.length) {
      trace.received(call, in, in.lane);
    } else {
      trace.worked(call, in.run().slab, in.lane, length);
    }
  }

  @Override
  public void view(Link link, FrameHeader head, FrameBody source) {
    header(link, head, true);
    Inbound in = inbound[link.peer()];
    Call call = in.call;
    HeldFrame held = in.held;
    in.received = in.length;
    if (call != null && !call.hasStopped()) {
      View view = viewOf(source);
      try {
        if (!fits(call, link.peer(), in, view)) {
          view.release();
        } else if (!applier.view(call, in.run(), in.step(), view)) {
          failures.spoiled(call, in.step().peer);
          in.drop();
        }
        if (trace.isOn && !call.hasStopped()) {
          trace.received(call, in, in.lane);
        }
      } catch (Throwable t) {
        view.release();
        failures.abort(call.group, t.toString(), t);
      }
    } else if (held != null && !held.unwanted) {
      View view = viewOf(source);
      held.take(view);
      if (in.heldFor != null) {
        fits(in.heldFor, link.peer(), held, view);
      }
    } else {
      if (in.isNotice) {
        source.store(in.noticeBytes, 0);
      }
      source.release();
    }
    finish(link.peer(), in);
  }

  private View viewOf(FrameBody body) {
    return body instanceof LeasedBody leased ? LeasedFrame.of(leased, freeLeased) : (View) body;
  }

  private void finish(int peer, Inbound in) {
    Call call = in.call;
    if (call != null && !call.hasStopped()) {
      in.over();
    } else if (in.isNotice) {
      in.drop();
      inline.look(calls.groups());
      try {
        if (in.noticeKind == FrameHeader.Kind.FAILURE) {
          Failure told = Failure.read(in.noticeBytes, in.length, inbound.length);
          failures.toldOf(peer, in.noticeGroup, told);
        } else {
          failures.ballot(peer, in.noticeGroup, in.noticeBytes, in.length);
        }
      } catch (ProtocolException e) {
        distrust(peer, new ProtocolException("rank " + peer + " sent " + e.getMessage()));
      }
    } else {
      in.drop();
    }
  }

  @Override
  public void lost(Link link, @Nullable Throwable cause) {
    int peer = link.peer();
    Inbound in = inbound[peer];
    if (in.held != null) {
      heldFrames.cutOff(in.held);
      in.held = null;
    }
    if (cause != null) {
      heldFrames.forgetPeer(peer);
    }
    inline.look(calls.groups());
    liveness.forget(peer);
    failures.lost(peer, cause);
  }
}
