package io.collectives.engine.run;

import io.collectives.Collective;
import io.collectives.internal.CallFingerprint;
import io.collectives.plan.Chunks;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.Transport;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs {@linkplain Program#isExchange exchanges} of few bytes by an {@link InlineExchange}: each
 * rank leaves its contribution, or its part, for every other one, and takes the sum, or the parts,
 * when all have come. What a frame costs beside its bytes (its header, its place in a queue, the
 * word that it was read) is most of the time of such a call, above all where ranks outnumber the
 * cores and each wait is a change of threads.
 *
 * <p>Each group has slots of its own, if its members agree on an {@link InlineChannel} when they
 * make it. Which calls go by it follows from what all ranks know; see {@link #fits}. What is too
 * long for a slot lies in {@link ExchangeBuffers}, if the group has them: then the message only
 * says that it is there. {@linkplain Program#isDirect Direct} programs go by them, too, and leave a
 * second message that says that the sums are there.
 *
 * <p><b>Turns.</b> Messages of all to all are a turn, and turns are counted. A rank leaves what it
 * has for one when it has taken everything of the one before. So when it leaves that of turn t,
 * everybody has left that of t - 1 and therefore taken that of t - 2, which lies where t is to lie.
 * A message carries a number that follows from that of its call in the group, so that it is not
 * taken for that of another call, and the fingerprint. The first call with exchange buffers takes a
 * turn more: in that the ranks tell each other where their buffers are.
 *
 * <p><b>Failure.</b> Rounds, steps and deadlines are those of the plan, so whoever is waited for is
 * found as in any other call. A rank that has completed a call may leave at once, while another one
 * is still to look for messages; so they are looked into before any news of a peer is heard.
 */
final class InlineExchanges {
  /** For so long a rank tries to map what a peer shares that is not known to have left. */
  private static final long MAP_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final @Nullable InlineExchange exchange;
  private final LongSupplier clock;
  private final Calls calls;
  private final Failures failures;
  private final Liveness liveness;
  private final FrameApplier applier;
  private final TraceLog trace;
  private final OutFrame out;
  private final FrameHeader header = new FrameHeader();

  InlineExchanges(
      Transport transport,
      LongSupplier clock,
      Calls calls,
      Failures failures,
      Liveness liveness,
      FrameApplier applier,
      TraceLog trace) {
    this.trace = trace;
    this.clock = clock;
    this.calls = calls;
    this.failures = failures;
    this.liveness = liveness;
    this.applier = applier;
    this.out = new OutFrame(applier.scratch());
    this.exchange = transport.capability(InlineExchange.class);
  }

  /** Returns whether a call goes by inline exchange; all ranks that make the same call agree. */
  static boolean fits(Call call) {
    Program program = call.program;
    return call.group.inlineChannel() != null
        && call.narrow == null
        && !call.checksFinite // What is found travels with frames.
        && call.slabs == 1
        && (program.isExchange && call.longestPiece() <= InlineExchange.CAPACITY
            || buffers(call) != null);
  }

  /** The buffers by which a call goes if it goes inline; nothing if it goes by slots alone. */
  private static @Nullable ExchangeBuffers buffers(Call call) {
    ExchangeBuffers buffers = call.group.exchangeBuffers;
    return buffers != null && buffers.take(call, call.group.leasesMemory()) ? buffers : null;
  }

  /** A call begins: looks for messages are many, so what they need is computed once. */
  void begin(Call call) {
    Group group = call.group;
    if (group.taken.length == 0) {
      group.taken = new FrameBytes[group.size()];
      for (int member = 0; member < group.taken.length; member++) {
        group.taken[member] = new FrameBytes(ByteBuffer.allocateDirect(InlineExchange.CAPACITY));
      }
    }
    call.buffers = buffers(call);
    call.isInBuffer = false;
    call.inlineRound = 0;
    LaneRun lane = call.openRun(0).lanes[0];
    for (int i = 0; i < lane.lengths.length; i++) {
      lane.lengths[i] = call.frameLength(lane.lane.receives[i][0], 0);
    }
  }

  /** Does what can be done for a call. Returns whether anything was. */
  boolean advance(Call call) {
    if (call.group.inlineCalls.peek() != call) {
      return false;
    }
    boolean any = post(call);
    return take(call) || any;
  }

  /** Looks once for what a call waits for, and for nothing else. Returns whether it has ended. */
  boolean look(Call call) {
    try {
      return advance(call) && call.isDone();
    } catch (Throwable t) {
      failures.abort(call.group, t.toString(), t); // A user's op, or no memory.
      return false;
    }
  }

  /** Takes what has been left for calls under way. To be called before a peer's end is heard of. */
  void look(Collection<Group> groups) {
    for (Group group : groups) {
      Call call = group.inlineCalls.peek();
      if (call != null) {
        try {
          take(call);
        } catch (Throwable t) {
          failures.abort(group, t.toString(), t); // A user's op, or no memory.
        }
      }
    }
  }

  private boolean post(Call call) {
    InlineExchange by = Objects.requireNonNull(exchange);
    ExchangeBuffers buffers = call.buffers;
    if (buffers != null && !buffers.areOpen()) {
      return tellNumber(call, buffers, by);
    }
    SlabRun run = call.openRun(0);
    LaneRun lane = run.lanes[0];
    Program.Step[] sends = lane.lane.sends;
    InlineChannel channel = Objects.requireNonNull(call.group.inlineChannel());
    int slot = channel.slot(call.group.inlineTurn);
    long number = channel.message(call.sequence, call.inlineRound);
    if (buffers != null && !call.isInBuffer) {
      fill(call, run, buffers);
      call.isInBuffer = true;
    }
    int end = (call.inlineRound + 1) * call.program.peers.length;
    int before = lane.nextSend;
    while (lane.nextSend < end) {
      Program.Step step = sends[lane.nextSend];
      int peer = call.group.members[step.peer];
      int length = call.frameLength(step, 0);
      FrameBody body = FrameBody.EMPTY;
      if (length > 0 && buffers == null) {
        out.fill(call, run, step, length);
        body = out;
      }
      if (!by.post(peer, slot, number, call.fingerprint, body)) {
        break;
      }
      if (trace.isOn && call.isTimed) {
        trace.sentInline(call, step);
      }
      liveness.said(peer);
      calls.traffic().sent(peer, length);
      run.sendOver(step);
      lane.nextSend++;
    }
    return lane.nextSend > before;
  }

  /** Lays the contribution of this rank open to the others. */
  private void fill(Call call, SlabRun run, ExchangeBuffers buffers) {
    long turn = call.group.inlineTurn;
    int chunks = call.program.isDirect ? call.program.peers.length : 1;
    for (int i = 0; i < chunks; i++) {
      Program.Step send = run.lanes[0].lane.sends[i];
      out.fill(call, run, send, call.frameLength(send, 0));
      long start = Chunks.start(call.count(), send.firstChunk, call.program.chunks);
      buffers.fill(turn, (int) start * call.elementBytes(), out);
    }
    buffers.check(turn, (int) call.bytes());
  }

  private boolean take(Call call) {
    InlineExchange by = Objects.requireNonNull(exchange);
    ExchangeBuffers buffers = call.buffers;
    if (buffers != null && !buffers.areOpen()) {
      return takeNumbers(call, buffers, by);
    }
    Group group = call.group;
    SlabRun run = call.openRun(0);
    LaneRun lane = run.lanes[0];
    InlineChannel channel = Objects.requireNonNull(group.inlineChannel());
    int slot = channel.slot(group.inlineTurn);
    int round = call.inlineRound;
    long number = channel.message(call.sequence, round);
    boolean any = false;
    boolean all = lane.nextSend == (round + 1) * call.program.peers.length;
    for (int i = 0; i < lane.nextReceive.length; i++) {
      if (lane.nextReceive[i] == round) {
        int member = call.program.peers[i];
        int rank = group.members[member];
        int wanted = buffers == null ? lane.lengths[i] : 0;
        if (by.take(rank, slot, number, header.call, group.taken[member], wanted)) {
          Program.Step receive = lane.lane.receives[i][round];
          calls.traffic().received(rank, buffers == null ? wanted : call.frameLength(receive, 0));
          if (!isOf(call, rank)) {
            return true;
          }
          if (trace.isOn && call.isTimed) {
            trace.receivedInline(call, receive);
          }
          lane.nextReceive[i]++;
          any = true;
        } else {
          all = false;
        }
      }
    }
    if (all && call.program.isDirect && round == 0) {
      reduceOwn(call, run, Objects.requireNonNull(buffers));
      return post(call) || any;
    }
    if (all) {
      complete(call, run, lane);
    }
    return any;
  }

  /** A message of a peer was taken. Returns whether it is of the same call; if not, that fails. */
  private boolean isOf(Call call, int rank) {
    liveness.heard(rank);
    boolean isSame = CallFingerprint.same(call.fingerprint, header.call);
    if (!isSame) {
      failures.fail(call.group, FrameErrors.mismatch(call, rank, header));
    }
    return isSame;
  }

  /** Tells the members of a group where the exchange buffer of this rank is. */
  private boolean tellNumber(Call call, ExchangeBuffers buffers, InlineExchange by) {
    if (!isMade(call, buffers)) {
      return true;
    }
    Group group = call.group;
    InlineChannel channel = Objects.requireNonNull(group.inlineChannel());
    boolean any = false;
    for (int next = buffers.nextToTell(); next >= 0; next = buffers.nextToTell()) {
      int peer = group.members[next];
      if (!by.post(
          peer,
          channel.slot(group.inlineTurn),
          channel.message(call.sequence, 0),
          call.fingerprint,
          buffers.number())) {
        return any;
      }
      liveness.said(peer);
      buffers.told();
      any = true;
    }
    return any;
  }

  /** Maps the exchange buffers of the members that have told where they are. */
  private boolean takeNumbers(Call call, ExchangeBuffers buffers, InlineExchange by) {
    if (!isMade(call, buffers)) {
      return true;
    }
    Group group = call.group;
    InlineChannel channel = Objects.requireNonNull(group.inlineChannel());
    int slot = channel.slot(group.inlineTurn);
    long number = channel.message(call.sequence, 0);
    boolean any = false;
    for (int member = 0; member < group.size(); member++) {
      int rank = group.members[member];
      FrameBytes room = group.taken[member];
      if (!buffers.isMapped(member)
          && by.take(rank, slot, number, header.call, room, ExchangeBuffers.NUMBER_LENGTH)) {
        if (!isOf(call, rank)) {
          return true;
        }
        any |= map(call, buffers, member, room.bytes().getLong(0));
      }
    }
    if (buffers.tryToOpen()) {
      group.inlineTurn++;
    }
    return any;
  }

  private boolean isMade(Call call, ExchangeBuffers buffers) {
    try {
      buffers.make();
      return true;
    } catch (IOException | OutOfMemoryError e) {
      String why = "no memory to share for " + call + ": " + e.getMessage();
      failures.abort(call.group, why, e);
      return false;
    }
  }

  /**
   * Maps the buffer of a member, which may have left since, as this rank is to learn soon; only
   * what is wrong for long is an error of its own.
   */
  private boolean map(Call call, ExchangeBuffers buffers, int member, long region) {
    try {
      buffers.map(member, region);
      return true;
    } catch (IOException | OutOfMemoryError e) {
      long now = clock.getAsLong();
      if (buffers.hasFailedFor(now) < MAP_NANOS) {
        return false;
      }
      String why =
          "the memory that rank "
              + call.group.members[member]
              + " shares for "
              + call
              + " cannot be mapped: "
              + e.getMessage();
      failures.abort(call.group, why, e);
      return true;
    }
  }

  /** All contributions to the chunk of this rank are there. Their sum goes in their places. */
  private void reduceOwn(Call call, SlabRun run, ExchangeBuffers buffers) {
    Program.FusedReduction fused = call.program.fusedReductions[0];
    Group group = call.group;
    applier.reduceFused(call, run, fused, buffers.contributions(call, fused, group.inlineTurn));
    worked(call, call.program.ranks * call.frameLength(fused.first, 0));
    group.inlineTurn++;
    call.inlineRound = 1;
  }

  private void complete(Call call, SlabRun run, LaneRun lane) {
    if (call.program.isDirect) {
      takeSums(call, run, lane, Objects.requireNonNull(call.buffers));
    } else if (call.program.collective == Collective.ALL_GATHER) {
      takeParts(call, run, lane);
    } else if (call.program.collective != Collective.BARRIER) {
      reduce(call, lane.lane.receives[0][0].firstChunk);
    }
    for (Program.Step[] receives : lane.lane.receives) {
      for (Program.Step receive : receives) {
        run.receiveOver(receive);
      }
    }
    call.group.inlineTurn++;
    call.advanceWindow();
    calls.now = clock.getAsLong();
    calls.end(call, null);
  }

  private void takeSums(Call call, SlabRun run, LaneRun lane, ExchangeBuffers buffers) {
    long turn = call.group.inlineTurn - 1;
    for (Program.Step[] receives : lane.lane.receives) {
      Program.Step receive = receives[1];
      applier.view(call, run, receive, buffers.sum(call, receive.firstChunk, turn));
    }
    buffers.check(turn, (int) call.bytes());
    buffers.share();
    worked(call, (int) call.bytes());
  }

  private void takeParts(Call call, SlabRun run, LaneRun lane) {
    for (int i = 0; i < lane.lengths.length; i++) {
      FrameBytes part = call.group.taken[call.program.peers[i]];
      applier.bytes(call, run, lane.lane.receives[i][0], 0, part, 0, lane.lengths[i]);
    }
    worked(call, (int) call.bytes());
  }

  private void reduce(Call call, int chunk) {
    ExchangeBuffers buffers = call.buffers;
    if (buffers == null) {
      applier.exchange(call, chunk, call.group.taken, 0);
    } else {
      applier.exchange(call, chunk, buffers.memories(), buffers.at(call.group.inlineTurn));
      buffers.share();
    }
    worked(call, (int) call.bytes());
  }

  private void worked(Call call, int bytes) {
    if (trace.isOn && call.isTimed) {
      trace.worked(call, 0, 0, bytes);
    }
  }
}
