package io.collectives.engine.run;

import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.Residuals;
import io.collectives.WireType;
import io.collectives.engine.memory.ArrayMemory;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.NarrowWire;
import io.collectives.engine.memory.OrderedReduction;
import io.collectives.engine.memory.Residual;
import io.collectives.internal.CallFingerprint;
import io.collectives.plan.Chunks;
import io.collectives.spi.Region;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * This rank's part in one call: how the payload is dealt and where it lies, and how far its slabs
 * are. It knows nothing of the group that makes the call, nor of the frames that its bytes travel
 * in. Objects are reused with all their tables; see {@link Call}.
 *
 * <p><b>Work memory.</b> Chunks that pass through this rank without being part of its result have
 * room in memory of the library, for each slab of the window. With as many slabs as the window has,
 * that is at most {@code 2 * slabsInFlight * workSlotCount * frameLength} bytes, and it is never
 * much more than the payload, because a payload of fewer slabs has fewer of them. The call keeps it
 * for the next call, that of each element type by itself. What is relayed has as much room for each
 * of its places, in a {@link Landing} or in memory that the call keeps, too.
 */
public abstract class CallRun {
  private static final ArrayMemory[] NO_WORK = {};
  private static final Memory NOTHING = Memories.of(Payload.of(new float[0]));

  final Program program;

  final long[] fingerprint = new long[CallFingerprint.WORDS];
  private final SlabRun[] window;
  private final Layout layout;
  Memory input;
  Memory output;

  ReduceOp op;
  int slabs;
  int slabsInFlight;
  private int elementBytes;

  /** The form of elements in frames; null if they cross as they are in memory. */
  @Nullable NarrowWire narrow;

  /** The manner in which the contributions to a fused reduction in rank order are taken. */
  OrderedReduction.Manner manner = OrderedReduction.Manner.SEQUENTIAL;

  /**
   * The amounts that rounding to narrow numbers has taken from earlier inputs of this rank; null if
   * nobody keeps them.
   */
  @Nullable Memory residual;

  private final Residual residualAt = new Residual();

  /**
   * The counts by which the payload is distributed, until the call is described; null if evenly.
   */
  private long @Nullable [] counts;

  private long @Nullable [] receiveCounts;

  /** The element of the payload that the residual begins with. */
  private long residualStart;

  /** If true, numbers are checked; see {@link FiniteCheck}. */
  boolean checksFinite;

  /** The lowest finding that this rank knows of, which goes with its frames. */
  long finding;

  /** The lowest one that is told here only. */
  long findingHere;

  /** If true, payload, input and output have the same positions and there is no work memory. */
  private boolean plain;

  /** The count of the payload; of a plain call. */
  private long count;

  /** Of a pairwise call: the most elements of a frame. */
  private long perFrame;

  /** Room for the slabs of the window, each with one piece for each slot; by element type. */
  private final ArrayMemory[][] workByType = new ArrayMemory[ElementType.values().length][0];

  /** The work memory of this call's type. */
  private ArrayMemory[] work = NO_WORK;

  /** The room for one piece of work memory, in elements. */
  private int workPiece;

  /** Room for what is relayed, as that of {@link #workByType}, where peers do not reach it. */
  private final ArrayMemory[][] landingByType = new ArrayMemory[ElementType.values().length][0];

  /** Room for what this rank relays, by slab of the window; of a call under way. */
  private Memory[] landing = NO_WORK;

  /** The part of the landing that this call has, if peers reach where it lands. */
  private Landing.@Nullable Place place;

  /** The room for contributions that peers read, and put the sum in their place. */
  final Stage stage;

  /**
   * The lowest slab that is not over; slabs from here to {@code firstOpen + 2 * slabsInFlight - 1}
   * have a run.
   */
  int firstOpen;

  /** The first slab whose sends have not been begun. */
  int nextToIssue;

  CallRun(Program program, int slabsInFlight) {
    this.program = program;
    this.stage = new Stage(program);
    this.input = NOTHING;
    this.output = NOTHING;
    this.op = ReduceOp.SUM;
    this.slabsInFlight = slabsInFlight;
    this.layout = new Layout(program);
    this.window = new SlabRun[2 * slabsInFlight];
    for (int i = 0; i < window.length; i++) {
      window[i] = new SlabRun(program);
    }
  }

  /**
   * Says how the payload is dealt, before the call is described; if it is not said, evenly.
   *
   * @param perRank how many elements each rank has of the payload, or, of a pairwise call, is sent
   * @param perSender of a pairwise call: how many elements come from each rank
   */
  public void deal(long[] perRank, long @Nullable [] perSender) {
    counts = perRank;
    receiveCounts = perSender;
  }

  /**
   * Describes the call, which then may be {@linkplain Engine#start started}, if it is kept again
   * and again.
   *
   * @param in the payload or this rank's part of it; where this rank has neither, the output
   * @param out the payload or this rank's part of it; where this rank gets nothing, anything
   * @param keptResidual of a reduction: what that took from this rank's numbers before, and takes
   *     now; nothing if nobody keeps it
   */
  public void describe(
      CallOptions options,
      Memory in,
      Memory out,
      ReduceOp reduceOp,
      @Nullable Memory keptResidual) {
    long[] given = counts;
    long[] givenReceived = receiveCounts;
    counts = null;
    receiveCounts = null;
    input = in;
    output = out;
    op = reduceOp;
    ElementType type = in.type();
    elementBytes = type.bytes();
    WireType wire = wireType(options.wireType(), type);
    narrow = NarrowWire.of(wire);
    residual = narrow == null ? null : keptResidual;
    residualStart = 0;
    manner =
        options.repeatability() == Repeatability.EXACT
                && (program.inRankOrder || isExactAlone(op, type))
            ? OrderedReduction.Manner.EXACT
            : OrderedReduction.Manner.SEQUENTIAL;
    checksFinite = options.finiteCheck() && checks(type);
    perFrame = program.elementsOfFrame(type, narrow, options.frameLength());
    int dealt = 0;
    if (given == null) {
      layout.even(
          switch (program.collective) {
            case ALL_REDUCE, BARRIER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL -> in.count();
            case ALL_GATHER -> out.count();
            case GATHER -> program.ranks * in.count();
            case SCATTER -> program.ranks * out.count();
          });
    } else if (program.pairwise) {
      layout.pairwise(given, Objects.requireNonNull(givenReceived));
      dealt = CallFingerprint.PAIRWISE;
    } else {
      layout.uneven(given);
      dealt = CallFingerprint.hash(given);
    }
    count = layout.count();
    plain = layout.isPlain() && program.workSlots == null && program.landings() == 0;
    long longest = layout.longest();
    slabs = Program.slabs(longest, perFrame);
    workPiece = (int) ((longest + slabs - 1) / slabs);
    if (program.workSlotCount > 0) {
      work = rooms(workByType, type, program.workSlotCount);
    }
    CallFingerprint.begin(fingerprint, program.collective, reduceOp, type);
    CallFingerprint.numbers(
        fingerprint, wire, reduces() ? options.repeatability() : Repeatability.FASTEST);
    if (checksFinite) {
      CallFingerprint.checkFinite(fingerprint);
    }
    CallFingerprint.size(fingerprint, count, program.pairwise ? (int) perFrame : slabs);
    CallFingerprint.plan(fingerprint, program.nameWords, program.root, dealt);
  }

  /**
   * Says that it is a call for a type of a payload of several, after it was described.
   *
   * @param types for how many other types calls follow
   */
  public void followedBy(int types) {
    CallFingerprint.typesToCome(fingerprint, types);
  }

  /**
   * Says by what number servers know the buffer of this all-reduce, after it was described.
   *
   * @param number 0 if it has none
   */
  public void numbered(int number) {
    CallFingerprint.buffer(fingerprint, number);
  }

  /**
   * Lets a rank that serves keep what narrow numbers take from the sums that it completes, after
   * the call was described.
   */
  void keepResidual(Residuals residuals) {
    int number = CallFingerprint.buffer(fingerprint);
    int[] slots = program.workSlots;
    if (number == 0 || narrow == null || slots == null) {
      return;
    }
    long from = Long.MAX_VALUE;
    long to = 0;
    for (int chunk = 0; chunk < program.chunks; chunk++) {
      if (slots[chunk] >= 0) {
        from = Math.min(from, layout.inputStart(chunk));
        to = Math.max(to, layout.inputStart(chunk) + layout.chunkCount(chunk));
      }
    }
    residual = Memories.of(residuals.of(number, to - from, op));
    residualStart = from;
  }

  /** Returns the residual at a slab's piece of a chunk, if there is one; good until asked again. */
  @Nullable Residual residual(int chunk, int slab) {
    return residual == null
        ? null
        : residualAt.at(residual, position(chunk, slab, true) - residualStart);
  }

  /** Begins anew, with what was described. */
  final void begin() {
    finding = Finding.NONE;
    findingHere = Finding.NONE;
    firstOpen = 0;
    nextToIssue = 0;
    for (int i = 0; i < window.length; i++) {
      begin(window[i], i < slabs ? i : -1);
    }
  }

  /** Returns the wire type that is used in this call if another one is wanted. */
  private WireType wireType(WireType wanted, ElementType type) {
    boolean adds = op == ReduceOp.SUM || op == ReduceOp.AVERAGE;
    if (type != ElementType.FLOAT32 || wanted == WireType.INT8 && !adds) {
      return WireType.AS_IN_MEMORY;
    }
    return reduces() ? wanted : WireType.AS_IN_MEMORY;
  }

  /** Returns whether this is a sum of one contribution, which needs no order. */
  private boolean isExactAlone(ReduceOp op, ElementType type) {
    boolean isSum = op == ReduceOp.SUM || op == ReduceOp.AVERAGE;
    return program.contributors == 1 && reduces() && isSum && !type.isInteger();
  }

  private boolean reduces() {
    return program.collective.reduces();
  }

  /**
   * Returns whether fused sums are rounded where they are taken, because they are on their way to
   * others, as narrow numbers in some plans: whatever the plan, all are to have the same bits.
   */
  boolean roundsSums() {
    return program.inRankOrder && program.collective != Collective.REDUCE_SCATTER;
  }

  /** Returns whether this call has numbers to check. */
  private boolean checks(ElementType type) {
    return reduces() && !type.isInteger();
  }

  /** Returns whether a frame of this call may carry such a finding. */
  boolean takes(long findingOfFrame) {
    return !checksFinite || Finding.isPossible(findingOfFrame, program.ranks, count);
  }

  /** Returns memory with room for so many pieces for each slab of the window. */
  private ArrayMemory[] rooms(ArrayMemory[][] byType, ElementType type, int pieces) {
    int rooms = Math.min(window.length, slabs);
    int room = Math.multiplyExact(workPiece, pieces);
    ArrayMemory[] made = byType[type.ordinal()];
    if (made.length < rooms || made[0].count() < room) {
      made = new ArrayMemory[rooms];
      for (int i = 0; i < rooms; i++) {
        made[i] = ArrayMemory.ofZeros(type, room);
      }
      byType[type.ordinal()] = made;
    }
    return made;
  }

  /**
   * Takes room for what this rank relays, before any of it arrives.
   *
   * @param peers to whom it goes on, counted in the job
   */
  final void land(Landing at, int[] peers) {
    ElementType type = input.type();
    int rooms = Math.min(window.length, slabs);
    long room = (long) workPiece * program.landings();
    // What is in memory is not what is to arrive if numbers are narrow.
    place = narrow == null ? at.take(type, rooms, room, peers) : null;
    landing = place == null ? rooms(landingByType, type, program.landings()) : place.rooms();
  }

  /**
   * Takes room where peers reach contributions of this rank that return as the sum.
   *
   * @param peers from whom they return, counted in the job
   */
  final void stage(Landing at, int[] peers) {
    // What is in memory is not what is to arrive if numbers are narrow.
    if (narrow == null) {
      // More slabs than that are not issued at once.
      int underWay = Math.min(slabsInFlight, slabs);
      stage.take(at, peers, input, (long) workPiece * elementBytes, underWay);
    }
  }

  /** Gives back the room for what peers reach; nothing of it is leased any more. */
  final void leaveLanding() {
    stage.giveBack();
    if (place != null) {
      place.giveBack();
      place = null;
      landing = NO_WORK; // Else threads may still look at it, after a failure.
    }
  }

  private void begin(SlabRun run, int slab) {
    run.begin(slab);
    if (program.pairwise && slab > 0) {
      for (LaneRun lane : run.lanes) {
        for (int peer = 0; peer < program.peers.length; peer++) {
          for (Program.Step step : lane.lane.receives[peer]) {
            if (isAbsent(step, slab)) {
              lane.nextReceive[peer]++;
              run.receiveOver(step);
              run.noEchoTo(peer);
            }
          }
        }
        for (Program.Step step : lane.lane.sends) {
          if (isAbsent(step, slab)) {
            run.noEchoFrom(program.peerIndex(step.peer));
          }
        }
      }
    }
  }

  /**
   * Copies what this rank has for itself, and what one rank alone would reduce. To be called once,
   * when the call's turn has come. What is sent untouched comes from the input, so that it need not
   * wait for this.
   */
  void copyOwn() {
    boolean isRoot = program.rank == program.root;
    switch (program.collective) {
      case ALL_REDUCE -> {
        for (int chunk : program.ownChunks) {
          long start = Chunks.start(count, chunk, program.chunks);
          copy(start, start, Chunks.count(count, chunk, program.chunks));
        }
      }
      case REDUCE_SCATTER, REDUCE -> {
        if (program.steps == 0) {
          copy(0, 0, count);
        }
      }
      case ALL_GATHER -> copyPart();
      case GATHER -> {
        if (isRoot) {
          copyPart();
        }
      }
      case SCATTER -> {
        if (isRoot) {
          copy(layout.partStart(), 0, layout.partCount());
        }
      }
      case ALL_TO_ALL -> copy(layout.partStart(), layout.ownBlock(), layout.partCount());
      case BARRIER, BROADCAST -> {}
    }
  }

  private void copyPart() {
    copy(0, layout.partStart(), layout.partCount());
  }

  private void copy(long from, long to, long elements) {
    if (input == output && from == to) {
      return;
    }
    for (long done = 0; done < elements; ) {
      int piece = (int) Math.min(1 << 20, elements - done);
      output.replace(to + done, piece, input, from + done);
      done += piece;
    }
  }

  /** The run of a slab, nothing if it is over or too far ahead. */
  @Nullable SlabRun run(int slab) {
    if (slab < firstOpen || slab >= slabs || slab - firstOpen >= window.length) {
      return null;
    }
    return window[slab % window.length];
  }

  /**
   * Returns the run of a slab that is neither over nor too far ahead.
   *
   * @throws IllegalStateException if it is
   */
  SlabRun openRun(int slab) {
    SlabRun run = run(slab);
    if (run == null) {
      throw new IllegalStateException("slab " + slab + " of " + this + " is not open");
    }
    return run;
  }

  /** Moves the window on past slabs that are over. Returns whether all are. */
  boolean advanceWindow() {
    while (firstOpen < slabs && window[firstOpen % window.length].isOver()) {
      int next = firstOpen + window.length;
      begin(window[firstOpen % window.length], next < slabs ? next : -1);
      firstOpen++;
    }
    return firstOpen == slabs;
  }

  /**
   * The memory that holds a slab's piece of a chunk.
   *
   * @param untouched whether it has not been written, so that it is still in the input only
   */
  Memory memory(int chunk, int slab, boolean untouched) {
    if (untouched) {
      return input;
    }
    if (chunk >= program.chunks) {
      return landing[slab % window.length];
    }
    int[] slots = program.workSlots;
    return slots == null || slots[chunk] < 0 ? output : work[slab % window.length];
  }

  /** Returns whether a chunk is written here without being part of this rank's result. */
  boolean isPassedOn(int chunk) {
    int[] slots = program.workSlots;
    return slots != null && slots[chunk] >= 0;
  }

  /** The first element of that piece in that memory. */
  long position(int chunk, int slab, boolean untouched) {
    if (plain) {
      long start = Chunks.start(count, chunk, program.chunks);
      if (slabs == 1) {
        return start;
      }
      return start
          + Chunks.start(Chunks.start(count, chunk + 1, program.chunks) - start, slab, slabs);
    }
    if (chunk >= program.chunks) {
      return (long) (chunk - program.chunks) * workPiece;
    }
    int[] slots = program.workSlots;
    if (!untouched && slots != null && slots[chunk] >= 0) {
      return (long) slots[chunk] * workPiece;
    }
    long start = untouched ? layout.inputStart(chunk) : layout.outputStart(chunk);
    return start + Chunks.start(layout.chunkCount(chunk), slab, pieces(chunk));
  }

  /** The number of elements of a slab's piece of a chunk. */
  int pieceCount(int chunk, int slab) {
    long chunkCount =
        plain
            ? Chunks.count(count, chunk, program.chunks)
            : layout.chunkCount(program.chunkAt(chunk));
    int pieces = pieces(chunk);
    return (int) (pieces == 1 ? chunkCount : Chunks.count(chunkCount, slab, pieces));
  }

  /** Returns the number of slabs that have a piece of a chunk. */
  private int pieces(int chunk) {
    return program.pairwise ? pieces(layout.chunkCount(chunk)) : slabs;
  }

  private int pieces(long elements) {
    return (int) Math.max(1, (elements + perFrame - 1) / perFrame);
  }

  /** Returns whether a slab has no piece of the data that a pair of ranks exchanges. */
  boolean isAbsent(Program.Step step, int slab) {
    return program.pairwise && slab >= pieces(step.firstChunk);
  }

  /** Returns whether frames are exchanged with a member in a slab or later. */
  boolean involves(int member, int slab) {
    return !program.pairwise
        || slab < pieces(layout.sendCount(member))
        || slab < pieces(layout.receiveCount(member));
  }

  /** Returns the fingerprint that goes with the frames to a member. */
  long[] fingerprintTo(int member) {
    if (program.pairwise) {
      CallFingerprint.count(fingerprint, layout.sendCount(member));
    }
    return fingerprint;
  }

  /** Returns the fingerprint that must come with the frames from a member. */
  long[] fingerprintFrom(int member) {
    if (program.pairwise) {
      CallFingerprint.count(fingerprint, layout.receiveCount(member));
    }
    return fingerprint;
  }

  /** Returns whether this call reads or writes a region. */
  boolean uses(Region region) {
    return input.liesIn(region) || output.liesIn(region);
  }

  /** The number of elements of the payload. */
  long count() {
    return count;
  }

  /** The bytes in memory of the longest chunk of the payload in a slab. */
  long longestPiece() {
    return (long) workPiece * elementBytes;
  }

  /** The number of bytes of a transfer's part in a slab. */
  int frameLength(Program.Step step, int slab) {
    int length = 0;
    for (int i = 0; i < step.chunkCount; i++) {
      length += pieceLength(pieceCount(step.firstChunk + i, slab));
    }
    return length;
  }

  /** The number of bytes that so many elements of a chunk take in a frame. */
  int pieceLength(int elements) {
    return narrow == null ? elements * elementBytes : narrow.length(elements);
  }

  int elementBytes() {
    return elementBytes;
  }

  /** Lets go of the user's memory. */
  void forget() {
    input = NOTHING;
    output = NOTHING;
    residual = null;
    residualAt.unbind();
  }
}
