package io.collectives.engine.run;

import io.collectives.CollectiveException;
import io.collectives.ReduceOp;
import io.collectives.Statistics;
import io.collectives.UserOp;
import io.collectives.engine.memory.Memory;
import io.collectives.internal.CallFingerprint;
import io.collectives.spi.BodyViews;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.MemoryFaults;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.Transport;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs the plans of one rank.
 *
 * <p><b>Vocabulary.</b> A call is cut into slabs; each slab is one run of the plan over a part of
 * every chunk. A slab runs as soon as its turn has come: at most {@code slabsInFlight} of them send
 * at a time, of all calls of this rank, but one of each call. Within a slab a step runs when the
 * earlier steps on its chunks have (see {@link Program}). One transfer of one slab is one frame.
 *
 * <p><b>Path of a frame.</b> A send step offers a view of this rank's memory to the link; a
 * transport of bytes copies it once, one that shares memory hands it over. At the receiver the
 * bytes are combined with the chunk, or stored into it, while they arrive, straight from the
 * transport's buffer or from the sender's memory. A frame whose turn has not come (a sum is taken
 * in the order of the plan, unless that of arrival is asked for; or this rank has not entered the
 * call yet) is <em>held</em>: a copy of the bytes, or the sender's view.
 *
 * <p><b>Why calls share the slabs in flight.</b> More calls do not make a link faster; they only
 * have more bytes under way, which presumably fall out of the caches of a host: gradients in two
 * calls at once took 1.2 to 1.8 times as long over TCP between processes of one host while each
 * call had slabs of its own.
 *
 * <p><b>Why what is held is bounded.</b> A rank begins slab s only when its slab s - slabsInFlight
 * is over. In a collective in which every rank contributes to every result, that means that every
 * rank had begun that slab; so no frame arrives that is 2 slabsInFlight slabs ahead of the
 * receiver's first open slab, and a receiver that has not entered the call gets at most what its
 * peers send before they need its contribution. The limit of {@link HeldFrames} is checked all the
 * same.
 *
 * <p><b>Echoes.</b> The root of a broadcast needs nobody's contribution, so nothing would hold it
 * back. Hence in rooted collectives, and in an all-to-all in which a pair of ranks may have nothing
 * for each other, a rank whose steps of a slab are over tells each peer that it received from in
 * that slab, by an empty frame; and its own slab is over only when all echoes are sent, and one has
 * come from each peer that it sent to. Echoes are sent in the slabs in flight only, so the first
 * slab that a receiver has not echoed is at most slabsInFlight ahead of its first open one, and its
 * senders' frames less than 2 slabsInFlight. An echo waits for the steps of its own rank and no
 * step waits for an echo of its own slab, so there is no circle. A call returns when all that this
 * rank sent has been taken in.
 *
 * <p><b>Why nothing deadlocks.</b> A rank always takes what arrives, so links always drain and a
 * refused send is accepted later. The order of steps is free of circles; see {@link Program}.
 *
 * <p><b>Why differences are found.</b> Every frame says what call it is of. Ranks that have made
 * different calls may all wait for each other, though, and send nothing; so a rank that waits for
 * {@value Call#WORD_NANOS} ns tells all its peers in what, again and again. As soon as all ranks
 * have entered, two of different calls hear of each other.
 *
 * <p><b>Parts.</b> This class starts calls and lets them go on; {@link Sender} sends; {@link
 * Arrivals} takes what comes, and {@link Turns} applies what was held; {@link InlineExchanges} does
 * all of it for exchanges of few bytes; {@link Failures} decides what breaks groups; {@link Calls}
 * keeps the books for all of them.
 *
 * <p><b>Threads.</b> None of its own. One thread at a time may call it: the driver.
 */
public final class Engine {
  private final Transport transport;
  private final LongSupplier clock;
  private final HeldFrames heldFrames;
  private final Inbound[] inbound;
  private final FlightRecorder recorder;
  private final TraceLog trace;
  private final Calls calls;
  private final Failures failures;
  private final Liveness liveness;
  private final InlineExchanges inline;
  private final InlineChannels inlineChannels;
  private final Arrivals arrivals;
  private final FrameApplier applier = new FrameApplier();
  private final Sender sender;
  private final Turns turns;
  private final Landing landing;

  private boolean callSites;

  private final List<Service> services = new ArrayList<>();
  private final Deque<Service> endedServices = new ArrayDeque<>();

  /**
   * An engine.
   *
   * @param clock nanoseconds, as {@link System#nanoTime}
   * @param heldLimit the most bytes of frames that may be held before their turn has come; see
   *     {@link #heldLimit}
   * @param silenceLimitNanos after how long without a sign of life a peer is given up
   * @param warnings hears of ranks that lag; must return soon
   */
  public Engine(
      Transport transport,
      LongSupplier clock,
      long heldLimit,
      long silenceLimitNanos,
      Consumer<String> warnings) {
    Inbound[] inbound = new Inbound[transport.size()];
    for (int peer = 0; peer < inbound.length; peer++) {
      inbound[peer] = new Inbound(Ballot.mostLength(transport.size()));
    }
    this.transport = transport;
    this.clock = clock;
    this.heldFrames = new HeldFrames(heldLimit);
    this.inbound = inbound;
    this.recorder = new FlightRecorder(transport.rank(), transport.size(), clock);
    this.trace = new TraceLog(transport.rank(), transport.size(), clock);
    Traffic traffic = new Traffic(transport.size());
    this.calls = new Calls(heldFrames, MemoryFaults.of(transport), recorder, traffic, trace);
    this.liveness = new Liveness(transport, silenceLimitNanos, clock.getAsLong());
    this.sender = new Sender(transport, liveness, applier, traffic, trace);
    this.failures = new Failures(transport, clock, calls, inbound, liveness, warnings);
    MemoryLeases leases = transport.capability(MemoryLeases.class);
    this.inline = new InlineExchanges(transport, clock, calls, failures, liveness, applier, trace);
    this.inlineChannels = new InlineChannels(transport.capability(InlineExchange.class), leases);
    this.turns = new Turns(failures, heldFrames, applier, trace);
    this.arrivals = new Arrivals(calls, failures, liveness, applier, inbound, inline, turns);
    BodyViews views = transport.capability(BodyViews.class);
    if (views != null) {
      views.viewBy(arrivals);
    }
    if (leases != null) {
      leases.viewBy(arrivals);
    }
    this.landing = new Landing(leases, heldLimit, warnings);
  }

  /**
   * A limit that calls with these settings do not reach: from every peer, of every call under way,
   * the slabs in flight of both ranks, in two lanes on average: a torus has four, but to four
   * peers.
   */
  public static long heldLimit(int ranks, int frameLength, int slabsInFlight) {
    long frames = 4L * Math.max(1, ranks - 1) * Calls.IN_FLIGHT * slabsInFlight;
    return frames * (frameLength + HeldFrames.OVERHEAD);
  }

  /**
   * The most bytes of frames that this engine holds: those whose turn has not come, with what each
   * takes beside its body, and, a quarter of that at most, copies of what is sent from memory that
   * is written to meanwhile or as narrow numbers, and what has arrived of frames that are applied
   * as a whole; and, as it is now, the memory that peers reach for what this rank relays or staged
   * contributions, which is as much as the held frames at most, and for exchanges, which is 1 MiB
   * at most. Any thread may call this.
   */
  public long memoryLimit() {
    return heldFrames.limit() + heldFrames.limit() / 4 + landing.bytes() + inlineChannels.bytes();
  }

  /** Makes a group known. Frames of it that have come already are waiting. */
  public void add(Group group) {
    inlineChannels.added(group);
    calls.add(group);
    arrivals.added(group);
    failures.added(group);
  }

  /** Makes the group of the survivors of another one known, which has the channel of that. */
  public void add(Group survivors, Group of) {
    of.takeInlineChannel();
    of.closeExchangeBuffers();
    add(survivors);
    failures.succeeded(of, survivors);
  }

  /** Leaves a group and tells its members; calls under way end. */
  public void leave(Group group) {
    failures.leave(group);
    inlineChannels.left(group);
  }

  /** Returns the channels from which groups that are made get theirs. */
  public InlineChannels inlineChannels() {
    return inlineChannels;
  }

  /** Returns whether a call under way, or waiting for its turn, uses a region. */
  public boolean uses(Region region) {
    return calls.uses(region);
  }

  /** Ends all calls of all groups of this rank, for good. The transport tells the peers. */
  public void close() {
    for (Group group : calls.groups()) {
      failures.notices().tellLosses(group);
      failures.close(group);
      group.closeExchangeBuffers();
    }
    landing.close();
  }

  /**
   * Breaks all groups after an error that none of them can be blamed for, and tells their members.
   */
  public void crash(Throwable error) {
    failures.crash(error);
  }

  /** The last calls of this rank, for people and for programs; see {@link FlightRecorder}. */
  public String flightRecord() {
    return recorder.text(inbound);
  }

  /** Describes this rank at this moment, for another process; see {@link RankReport}. */
  public String report() {
    return new RankReport(transport, calls, recorder, inbound, clock.getAsLong()).text(heldFrames);
  }

  /** Returns the counters of the calls that have ended, by kind. */
  public List<Statistics.Row> statistics() {
    return calls.statistics();
  }

  /**
   * Returns the number of groups that have broken by a failure, as opposed to having been closed.
   */
  public int failures() {
    return calls.failures();
  }

  /** Returns why a group has broken last, nothing if none has. */
  public @Nullable String lastFailure() {
    return calls.lastFailure();
  }

  /** Returns the rank that the oldest call under way waits for, -1 if there is no call. */
  public int waitedFor() {
    List<Call> underWay = calls.underWay();
    return underWay.isEmpty()
        ? -1
        : underWay.get(0).group.members[Waiting.member(underWay.get(0), inbound)];
  }

  /** Returns the name of the oldest call under way, an empty one if there is none. */
  public String waitedIn() {
    List<Call> underWay = calls.underWay();
    return underWay.isEmpty() ? "" : underWay.get(0).toString();
  }

  /** Says whether the places in the program are looked for that make calls. */
  public void lookForCallSites(boolean wanted) {
    callSites = wanted;
  }

  /** Begins to record what this rank does; see {@link TraceLog}. */
  public void beginTrace() {
    trace.begin();
  }

  /** Ends what {@link #beginTrace} began. */
  public void endTrace() {
    trace.end();
  }

  /** Returns a copy of what is recorded, and of what is still under way. */
  public TraceLog.Record traced() {
    return trace.record(calls);
  }

  /** Returns where events of other threads are recorded. */
  public TraceLog trace() {
    return trace;
  }

  /** Returns the reasons for which the first groups have broken. */
  public List<String> failureMessages() {
    return calls.failureMessages();
  }

  /** Returns the number of groups that this rank has made and not left. */
  int groups() {
    return calls.groups().size();
  }

  /** Returns the number of frames that are held. */
  int held() {
    return heldFrames.held();
  }

  /** Why no call can be made in a group any more; nothing while it is whole. */
  public @Nullable CollectiveException errorOf(Group group) {
    return group.broken == null ? null : group.broken.exception();
  }

  /** Breaks a group and tells its members. */
  public void abort(Group group, String reason) {
    failures.abort(group, reason, null);
  }

  /** Begins to agree with the survivors of a group, or goes on. */
  public Agreement shrink(Group group, long timeoutNanos) {
    return failures.shrink(group, clock.getAsLong(), timeoutNanos);
  }

  /**
   * Breaks a group, or leaves the agreement of its survivors if that is not over.
   *
   * @return whether there was anything to do
   */
  public boolean interrupt(Group group, String reason) {
    boolean wasWhole = !group.isBroken();
    failures.abort(group, reason, null);
    return failures.leaveAgreement(group, reason) || wasWhole;
  }

  /**
   * A call to be {@linkplain Call#describe described} and {@linkplain #start started}. If it is not
   * kept, that is to be done at once, and the call {@linkplain #recycle recycled} when it has
   * ended.
   *
   * @param kept whether it is to be started again and again; else it is one that has served before,
   *     if there is any
   */
  public Call call(Group group, Program program, int slabsInFlight, boolean kept) {
    Call call = kept ? null : group.takeFree(program);
    return call == null || call.slabsInFlight != slabsInFlight
        ? new Call(group, program, slabsInFlight, kept)
        : call;
  }

  /**
   * Starts a call, or lets it wait until earlier ones have ended. If the group is broken the call
   * ends at once.
   *
   * @param call not under way
   * @param timeoutNanos from now to the deadline
   * @param completion hears of the end from {@link Call#runCompletion}; nothing if the caller looks
   *     at the call
   */
  public void start(Call call, long timeoutNanos, Call.@Nullable Completion completion) {
    Group group = call.group;
    Program program = call.program;
    calls.now = clock.getAsLong();
    call.start(calls.now, timeoutNanos, completion);
    if (trace.isOn) {
      // It may send at once, so this rank does not wait in others any more.
      trace.turn(calls.now, true, null, inbound);
      trace.looked(calls.now);
    }
    call.isInline = InlineExchanges.fits(call);
    call.isTimed = trace.isOn && call.isInline && (program.chunks > 1 || trace.times(calls.now));
    if (callSites) {
      call.site = CallSites.here();
    }
    for (int peer : program.peers) {
      if (!group.contacts[peer]) {
        group.contacts[peer] = true;
        liveness.watch(group.members[peer]);
      }
    }
    failures.checkLosses(group);
    if (group.isBroken()) {
      for (int peer : program.peers) {
        failures.notices().tellLate(group, peer);
      }
      if (group.broken == null) {
        calls.stop(call);
      } else {
        calls.end(call, group.broken);
      }
    } else if (calls.enter(call)) {
      begin(call);
    }
  }

  /**
   * Enters the all-reduces of a group as they come, as a rank that contributes nothing; until the
   * others have left, or the group breaks.
   *
   * @param program one of them: all have the same contributors, and the same peers
   * @param programs of the calls that come
   * @param userOps what others may reduce by, beside the standard ops
   * @param options of each call, as far as its frames do not say otherwise
   * @param completion hears of the end from {@link Service#runCompletion}
   */
  public void serve(
      Group group,
      Program program,
      Service.Programs programs,
      List<UserOp> userOps,
      CallOptions options,
      Call.Completion completion) {
    services.add(new Service(group, program, programs, userOps, options, completion));
  }

  private int poll(Service service) {
    Group group = service.group;
    List<Call> entered = service.calls;
    for (int i = entered.size() - 1; i >= 0; i--) {
      if (entered.get(i).isDone()) {
        recycle(entered.remove(i));
      }
    }
    service.passOnWhoLeft(failures.notices());
    Failure loss = service.loss();
    if (loss != null) {
      failures.fail(group, loss);
    }
    if (group.broken != null || entered.isEmpty() && service.isNeedless()) {
      services.remove(service);
      service.end(group.broken);
      endedServices.add(service);
      return 1;
    }
    long[] next = group.isBroken() ? null : arrivals.early(group, group.nextSequence);
    if (next == null) {
      return 0;
    }
    try {
      Memory shape = service.shape(next);
      ReduceOp op = service.op(next);
      CallOptions options = service.options(next);
      Call call = call(group, service.program(op, shape, next), options.slabsInFlight(), false);
      call.describe(options, shape, shape, op, null);
      call.followedBy(CallFingerprint.typesToCome(next));
      call.numbered(CallFingerprint.buffer(next));
      call.keepResidual(service.residuals);
      entered.add(call);
      start(call, options.timeoutNanos(), null);
    } catch (RuntimeException e) {
      failures.abort(group, e.toString(), e);
    }
    return 1;
  }

  /** Gives back a call that has ended and that nobody will look at again, unless it is kept. */
  public void recycle(Call call) {
    if (!call.kept && forget(call)) {
      call.group.giveBack(call);
    }
  }

  /** Lets go of the memory of a call that will not be started again. Returns whether it could. */
  public boolean forget(Call call) {
    // After a failure a peer may still look at what this call has sent.
    boolean unseen = call.error() == null;
    if (unseen) {
      call.forget();
    }
    return unseen;
  }

  /** Looks once for the messages of an inline call alone. Returns whether it has ended. */
  public boolean look(Call call) {
    return inline.look(call);
  }

  /**
   * Moves everything that can be moved without waiting.
   *
   * @return how much was done; 0 if nothing
   */
  public int poll() {
    long now = clock.getAsLong();
    calls.now = now;
    liveness.begin(now);
    if (trace.isOn) {
      trace.looked(now);
    }
    int work = transport.poll(arrivals);
    List<Call> underWay = calls.underWay();
    // A failure may have ended several. And where a loop goes down by one to zero, C2 takes it to
    // go
    // round at least once: an empty list then costs a trap, and half a second of compiling anew.
    for (int i = underWay.size() - 1; i >= 0; i = Math.min(i, underWay.size()) - 1) {
      Call call = underWay.get(i);
      try {
        if (advance(call)) {
          work++;
        }
        if (now - call.nextWordNanos >= 0 && !call.hasStopped()) {
          sender.tellPeers(call, now);
        }
      } catch (Throwable t) {
        failures.abort(call.group, t.toString(), t);
      }
    }
    for (Call next = calls.nextWaiting(); next != null; next = calls.nextWaiting()) {
      begin(next);
    }
    for (int i = services.size() - 1; i >= 0; i--) {
      work += poll(services.get(i));
    }
    sender.collectCopies();
    liveness.poll(failures);
    work += failures.poll(now);
    if (trace.isOn) {
      trace.turn(now, work > 0, underWay.isEmpty() ? null : underWay.get(0), inbound);
    }
    return work;
  }

  /** Returns whether peers are still to be told of a failure; polling goes on trying. */
  public boolean hasNews() {
    return failures.hasNews();
  }

  /** Returns whether there are completions to run. */
  public boolean hasCompletions() {
    return calls.hasEnded() || !endedServices.isEmpty();
  }

  /** Takes a service that has ended, nothing if there is none. The caller runs its completion. */
  public @Nullable Service takeEndedService() {
    return endedServices.poll();
  }

  /**
   * Takes a call whose completion is to be run, nothing if there is none. The caller runs and
   * recycles it.
   */
  public @Nullable Call takeEnded() {
    return calls.takeEnded();
  }

  private void begin(Call call) {
    try {
      call.takeRoom(landing);
      if (call.isInline) {
        inline.begin(call);
      } else {
        issue(call);
      }
      copyOwn(call);
      if (call.program.steps == 0) {
        applier.reduceAlone(call);
        applier.check().contribution(call);
        calls.end(call, null);
        return;
      }
      arrivals.deliverEarly(call);
      failures.checkDepartures(call);
      if (!call.hasStopped()) {
        advance(call);
      }
    } catch (Throwable t) {
      failures.abort(call.group, t.toString(), t);
    }
  }

  private void copyOwn(Call call) {
    if (!trace.isOn || call.input == call.output) {
      call.copyOwn();
      return;
    }
    call.copyOwn();
    trace.worked(call, 0, 0, 0);
  }

  /** Sends what may be sent. Returns whether anything was. */
  private boolean issue(Call call) {
    int inFlight = calls.share(call.slabsInFlight);
    call.nextToIssue = Math.max(call.nextToIssue, Math.min(call.slabs, call.firstOpen + inFlight));
    boolean any = false;
    for (int slab = call.firstOpen; slab < call.nextToIssue; slab++) {
      any |= sender.sendReady(call, call.openRun(slab));
    }
    return any;
  }

  /** Sends what may be sent and applies what may be applied. Returns whether anything was done. */
  private boolean advance(Call call) {
    if (call.isInline) {
      return inline.advance(call);
    }
    boolean any = false;
    boolean again;
    do {
      again = sender.collectReleased(call) | issue(call) | turns.apply(call);
      if (call.hasStopped()) {
        return true;
      }
      if (call.program.echoes) {
        again |= sender.sendEchoes(call);
      }
      if (call.advanceWindow()) {
        applier.reduceAlone(call);
        calls.end(call, null);
        return true;
      }
      any |= again;
    } while (again);
    return any;
  }
}
