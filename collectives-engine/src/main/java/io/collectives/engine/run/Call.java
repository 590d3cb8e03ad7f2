package io.collectives.engine.run;

import io.collectives.CollectiveException;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.Memory;
import io.collectives.plan.Chunks;
import io.collectives.spi.CallFingerprint;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call under way, or waiting for its turn. Objects are reused: a call of the same program that
 * has ended serves the next one, with all its tables.
 */
public final class Call {
  private static final Memory NOTHING = Memory.of(Payload.of(new float[0]));

  final Group group;
  final Program program;
  final long[] fingerprint = new long[CallFingerprint.WORDS];
  private final SlabRun[] window;
  private @Nullable Completion completion;

  /** Frames of this call that have arrived before their turn. */
  final List<HeldFrame> held = new ArrayList<>();

  /** Frames that have gone out as views of this rank's memory and are still being read. */
  final List<OutFrame> views = new ArrayList<>();

  long sequence;
  Memory input;
  Memory output;
  ReduceOp op;
  int slabs;
  int slabsInFlight;
  private long count;
  private int elementBytes;

  /**
   * The lowest slab that is not over; slabs from here to {@code firstOpen + 2 * slabsInFlight - 1}
   * have a run.
   */
  int firstOpen;

  /** The first slab whose sends have not been begun. */
  int nextToIssue;

  long startNanos;

  long deadlineNanos;

  /**
   * The member whose call failed while this rank read its memory, so that this call must fail as
   * well; -1 if there is none.
   */
  int spoiler;

  /** Where the call is recorded; nothing before and after. */
  FlightRecorder.@Nullable Entry flight;

  private volatile boolean done;
  private @Nullable Failure failure;

  /** Hears of the end of a call. */
  public interface Completion {
    /**
     * The call has ended; called once by the driver, outside of the transport.
     *
     * @param error what went wrong, if anything
     */
    void ended(@Nullable CollectiveException error);
  }

  Call(Group group, Program program, int slabsInFlight) {
    this.group = group;
    this.program = program;
    this.input = NOTHING;
    this.output = NOTHING;
    this.op = ReduceOp.SUM;
    this.slabsInFlight = slabsInFlight;
    this.window = new SlabRun[2 * slabsInFlight];
    for (int i = 0; i < window.length; i++) {
      window[i] = new SlabRun(program);
    }
  }

  /** Describes the call; the sequence number is set when it is submitted. */
  void prepare(
      Memory in,
      Memory out,
      ReduceOp reduceOp,
      int frameLength,
      long now,
      long timeoutNanos,
      @Nullable Completion whenEnded) {
    input = in;
    output = out;
    op = reduceOp;
    count = in.count();
    ElementType type = in.type();
    elementBytes = type.bytes();
    long longest = Chunks.longest(count, program.chunks);
    long perFrame = Math.max(1, frameLength / ((long) program.widestTransfer * elementBytes));
    slabs = Math.toIntExact(Math.max(1, (longest + perFrame - 1) / perFrame));
    startNanos = now;
    deadlineNanos = now + timeoutNanos;
    spoiler = -1;
    firstOpen = 0;
    nextToIssue = 0;
    failure = null;
    completion = whenEnded;
    done = false;
    CallFingerprint.write(
        fingerprint, program.collective, reduceOp, type, type, slabs, count, program.algorithm);
    for (int i = 0; i < window.length; i++) {
      window[i].begin(i < slabs ? i : -1);
    }
  }

  /** The run of a slab, nothing if it is over or too far ahead. */
  @Nullable SlabRun run(int slab) {
    if (slab < firstOpen || slab >= slabs || slab - firstOpen >= window.length) {
      return null;
    }
    return window[slab % window.length];
  }

  /** Moves the window on past slabs that are over. Returns whether all are. */
  boolean advanceWindow() {
    while (firstOpen < slabs && window[firstOpen % window.length].openSteps == 0) {
      int next = firstOpen + window.length;
      window[firstOpen % window.length].begin(next < slabs ? next : -1);
      firstOpen++;
    }
    return firstOpen == slabs;
  }

  /** The first element of the part of a chunk that a slab covers. */
  long pieceStart(int chunk, int slab) {
    long start = Chunks.start(count, chunk, program.chunks);
    if (slabs == 1) {
      return start;
    }
    return start
        + Chunks.start(Chunks.start(count, chunk + 1, program.chunks) - start, slab, slabs);
  }

  /** The number of elements of that part. */
  int pieceCount(int chunk, int slab) {
    long chunkCount = Chunks.count(count, chunk, program.chunks);
    return (int) (slabs == 1 ? chunkCount : Chunks.count(chunkCount, slab, slabs));
  }

  /** The number of bytes of a transfer's part in a slab. */
  int frameLength(Program.Step step, int slab) {
    int elements = 0;
    for (int i = 0; i < step.chunkCount; i++) {
      elements += pieceCount(step.firstChunk + i, slab);
    }
    return elements * elementBytes;
  }

  int elementBytes() {
    return elementBytes;
  }

  /** Lets go of the user's memory. */
  void forget() {
    input = NOTHING;
    output = NOTHING;
    completion = null;
  }

  /** Whether somebody wants to hear of the end. */
  boolean hasCompletion() {
    return completion != null;
  }

  void end(@Nullable Failure why) {
    failure = why;
    done = true;
  }

  /** The group that makes the call. */
  public Group group() {
    return group;
  }

  /** Whether the call has ended; may be asked by any thread, which then sees what it has done. */
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

  /** Tells the completion how the call ended. To be called once. */
  public void runCompletion() {
    if (completion != null) {
      completion.ended(error());
    }
  }

  @Override
  public String toString() {
    String name = program.collective + " #" + sequence + " (" + program.algorithm.name() + ")";
    return group.isWorld() ? name : name + " of " + group;
  }

  /** One slab's state at this rank. */
  static final class SlabRun {
    final int[] writes;
    final int[] reads;
    final LaneRun[] lanes;
    private final int steps;

    /** Which slab, -1 if none. */
    int slab;

    /** Steps that are not over. */
    int openSteps;

    SlabRun(Program program) {
      writes = new int[program.chunks];
      reads = new int[program.chunks];
      lanes = new LaneRun[program.lanes.length];
      for (int i = 0; i < lanes.length; i++) {
        lanes[i] = new LaneRun(program.lanes[i]);
      }
      steps = program.steps;
    }

    void begin(int newSlab) {
      slab = newSlab;
      openSteps = newSlab < 0 ? 0 : steps;
      Arrays.fill(writes, 0);
      Arrays.fill(reads, 0);
      for (LaneRun lane : lanes) {
        lane.begin();
      }
    }

    boolean sendReady(Program.Step step) {
      for (int i = 0; i < step.chunkCount; i++) {
        if (writes[step.firstChunk + i] != step.writesBefore[i]) {
          return false;
        }
      }
      return true;
    }

    boolean receiveReady(Program.Step step) {
      for (int i = 0; i < step.chunkCount; i++) {
        int chunk = step.firstChunk + i;
        if (writes[chunk] != step.writesBefore[i] || reads[chunk] != step.readsBefore[i]) {
          return false;
        }
      }
      return true;
    }

    void sendOver(Program.Step step) {
      for (int i = 0; i < step.chunkCount; i++) {
        reads[step.firstChunk + i]++;
      }
      openSteps--;
    }

    void receiveOver(Program.Step step) {
      for (int i = 0; i < step.chunkCount; i++) {
        writes[step.firstChunk + i]++;
      }
      openSteps--;
    }
  }

  /** One lane's state in a slab. */
  static final class LaneRun {
    final Program.Lane lane;

    /** The next send to go out. */
    int nextSend;

    /** By index of the peer: the next receive whose frame has not begun to arrive. */
    final int[] nextReceive;

    LaneRun(Program.Lane lane) {
      this.lane = lane;
      this.nextReceive = new int[lane.receives.length];
    }

    void begin() {
      nextSend = 0;
      Arrays.fill(nextReceive, 0);
    }
  }
}
