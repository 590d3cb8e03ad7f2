package io.collectives.engine.run;

import io.collectives.Collective;
import io.collectives.CollectiveException;
import io.collectives.NonFiniteException;
import io.collectives.internal.CallFingerprint;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call under way, or waiting for its turn: its place in its group, its frames, its deadline and
 * its end. Objects are reused: a call of the same program that has ended serves the next one, with
 * all its tables.
 */
public final class Call extends CallRun {
  /**
   * The time between two messages in which a rank that waits tells its peers in what call it does.
   */
  static final long WORD_NANOS = 250_000_000;

  final Group group;

  /**
   * If true, a caller keeps this call to start it again; if false, it is reused by any later call.
   */
  final boolean kept;

  /** Frames of this call that have arrived before their turn. */
  final List<HeldFrame> held = new ArrayList<>();

  /** Frames that have gone out as views of this rank's memory and are still being read. */
  final List<OutFrame> views = new ArrayList<>();

  /** Copies that a link has refused, and that cannot be made again. */
  private final List<OutFrame> refused = new ArrayList<>();

  /** The ranks of the job to which this rank relays. */
  private final int[] relaysTo;

  /** From whom contributions return as the sum, counted in the job, ascending. */
  private final int[] returnsFrom;

  /** Room for the frames of a fused reduction. */
  final HeldFrame[] contributions;

  long sequence;

  /** The place in the user's program that made the call, if places are looked for, else empty. */
  String site = "";

  /** By index of the peer: how many frames of the call, echoes too, have gone to it. */
  final int[] framesTo;

  /** By index of the peer: how many have come from it. */
  final int[] framesFrom;

  long startNanos;

  /** The time at which its turn came. */
  long begunNanos;

  long deadlineNanos;

  /** The time at which this rank tells its peers next in what it waits. */
  long nextWordNanos;

  /**
   * The member whose call failed while this rank read its memory, so that this call must fail as
   * well; -1 if there is none.
   */
  int abortedPeer;

  /** By what number {@link FlightRecorder} knows it, -1 before and after. */
  long flight = -1;

  /** If true, the bytes of this call go by {@link InlineExchanges}, not by frames. */
  boolean isInline;

  /** The memory by which its contributions go inline; nothing if they go in slots or by frames. */
  @Nullable ExchangeBuffers buffers;

  /** If true, the contribution of this rank lies there. */
  boolean isInBuffer;

  /** In an inline exchange: 0, and 1 while the sums of a direct program are exchanged. */
  int inlineRound;

  /** If true, a trace has the times of what happens in this call by inline exchange. */
  boolean isTimed;

  /** If true, no data of this call moves any more, though it may not have ended. */
  private boolean stopped;

  private volatile boolean done;
  private @Nullable Failure failure;

  private @Nullable Completion completion;

  /** The counters of the calls of the program in the group. */
  private final CallTally tally;

  /** Hears of the end of a call. */
  public interface Completion {
    /**
     * The call has ended; called once by the driver, outside of the transport.
     *
     * @param error what is to be thrown, if anything: the error of the call, or what its check has
     *     found
     */
    void ended(@Nullable RuntimeException error);
  }

  Call(Group group, Program program, int slabsInFlight, boolean kept) {
    super(program, slabsInFlight);
    this.group = group;
    this.kept = kept;
    this.tally = group.tally(program);
    this.framesTo = new int[program.peers.length];
    this.framesFrom = new int[program.peers.length];
    this.relaysTo =
        Arrays.stream(program.relaysTo).map(member -> group.members[member]).sorted().toArray();
    this.returnsFrom =
        Arrays.stream(program.returnsFrom).map(member -> group.members[member]).sorted().toArray();
    this.contributions =
        new HeldFrame[program.fusedReductions.length == 0 ? 0 : program.fusedContributions()];
  }

  /** Begins anew; the sequence number is set when the call enters its group. */
  void start(long now, long timeoutNanos, @Nullable Completion whenEnded) {
    begin();
    startNanos = now;
    begunNanos = now;
    deadlineNanos = now + timeoutNanos;
    nextWordNanos = now + WORD_NANOS;
    abortedPeer = -1;
    refused.clear();
    Arrays.fill(framesTo, 0);
    Arrays.fill(framesFrom, 0);
    failure = null;
    completion = whenEnded;
    stopped = false;
    done = false;
  }

  /**
   * Takes room for what this rank relays, and for contributions that return, before any is sent.
   */
  void takeRoom(Landing at) {
    if (program.landings() > 0) {
      land(at, relaysTo);
    }
    if (program.returns > 0 && !isInline) {
      stage(at, returnsFrom);
    }
  }

  /** A link has refused a copy, which is to be offered again. */
  void refused(OutFrame copy) {
    refused.add(copy);
  }

  /** The copy that is to be offered again for a step, nothing if there is none. */
  @Nullable OutFrame takeRefused(SlabRun run, Program.Step step) {
    for (int i = 0; i < refused.size(); i++) {
      OutFrame copy = refused.get(i);
      if (copy.run() == run && copy.step() == step) {
        return refused.remove(i);
      }
    }
    return null;
  }

  /** Lets go of the user's memory. */
  @Override
  void forget() {
    super.forget();
    completion = null;
  }

  /** Returns whether a completion is to be run at the end. */
  boolean hasCompletion() {
    return completion != null;
  }

  /** Stops all transfers of this call; it ends when the reason is known. */
  void stop() {
    stopped = true;
  }

  /** Returns whether this call, since its start, goes without frames. */
  public boolean isInline() {
    return isInline;
  }

  /** Returns whether this call goes on by messages of an inline exchange. */
  public boolean isInlineUnderWay() {
    return isInline && !stopped;
  }

  /** Returns whether this call has ended, or will without going on. */
  boolean hasStopped() {
    return stopped;
  }

  /**
   * The call has ended.
   *
   * @param now the time, as of the last look at the clock
   */
  void end(@Nullable Failure why, long now) {
    tally.ended(count() * elementBytes(), why != null, now - startNanos);
    failure = why;
    stopped = true;
    done = true;
  }

  /** The group that makes the call. */
  public Group group() {
    return group;
  }

  /** Returns its number in its group. */
  public long sequence() {
    return sequence;
  }

  /** Returns the number of bytes of its payload. */
  public long bytes() {
    return count() * elementBytes();
  }

  /** Returns when it was submitted, on the clock of the engine. */
  public long startNanos() {
    return startNanos;
  }

  /**
   * Returns whether the call has ended. Any thread may ask, and then sees the results of the call.
   */
  public boolean isDone() {
    return done;
  }

  /**
   * The error of a call that has ended.
   *
   * @return nothing if it ended well
   */
  public @Nullable CollectiveException error() {
    Failure why = failure;
    return why == null ? null : why.exception();
  }

  /**
   * Returns the error that the check of numbers has found in a call that has ended well, if this
   * rank is to tell of it, else null.
   */
  public @Nullable NonFiniteException nonFinite() {
    boolean isPartly = program.collective == Collective.REDUCE && program.rank != program.root;
    long found = isPartly ? Finding.NONE : Math.min(finding, findingHere);
    return failure != null || found == Finding.NONE ? null : exception(found);
  }

  private NonFiniteException exception(long found) {
    long index = Finding.index(found);
    double value = Finding.value(found);
    int rank = Finding.isContribution(found) ? group.worldRank(Finding.rank(found)) : -1;
    return new NonFiniteException(
        this
            + ": element "
            + index
            + (rank < 0
                ? " of the result is " + value + ", though all contributions are finite"
                : " of rank " + rank + " is " + value)
            + "; the call has ended and the group is whole",
        rank,
        input.type(),
        index,
        value);
  }

  /** Tells the completion how the call ended. To be called once. */
  public void runCompletion() {
    if (completion != null) {
      CollectiveException error = error();
      completion.ended(error == null ? nonFinite() : error);
    }
  }

  @Override
  public String toString() {
    if (program.algorithmName.equals(CallFingerprint.MESSAGE)) {
      return "send/receive #"
          + sequence
          + " from rank "
          + group.members[0]
          + " to rank "
          + group.members[1];
    }
    String name = program.collective + " #" + sequence + " (" + program.algorithm.name() + ")";
    return group.isWorld() ? name : name + " of " + group;
  }
}
