package io.collectives.engine.run;

import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.engine.memory.BufferMemory;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.NarrowWire;
import io.collectives.engine.memory.Residual;
import io.collectives.engine.memory.Scratch;
import io.collectives.plan.Effect;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.LeasableBody;
import io.collectives.spi.Region;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The frame that a send step offers to the transport: pieces of this rank's memory, or a copy of
 * them where the plan writes to the same chunks in the same round. Objects are reused.
 *
 * <p><b>States.</b> A frame that is offered is read by its receiver and then released. When the
 * sender's call fails meanwhile the frame is revoked: its user may write to the memory again, so
 * whoever has read it must ask afterwards. A receiver that wants to <em>write</em> to the sender's
 * memory (see {@link Program.FusedReduction}) cannot ask afterwards; it holds the frame first, and
 * a sender whose call fails waits for the moment that this takes.
 *
 * <p>Where the two are different processes the states are the same, but in memory that both have
 * mapped: this frame has become a {@link LeasableBody.Lease} then, and the receiver has a {@link
 * LeasedFrame}.
 */
final class OutFrame implements View, LeasableBody {
  private static final int OFFERED = 0;
  private static final int HELD_OPEN = 1;
  private static final int RELEASED = 2;
  private static final int REVOKED = 3;
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(OutFrame.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  // Written by the rank that sends before the frame is handed over, read by whoever has the frame.
  private @Nullable CallRun call;
  private @Nullable SlabRun run;
  private Program.@Nullable Step step;
  private int slab;
  private final Scratch scratch;
  private int length;
  private @Nullable FrameBytes copy;

  /** If true, the frame is its copy. */
  private boolean copied;

  private boolean placed;

  /** If true, what is leased is a copy of the pieces, which the sum replaces. */
  private boolean staged;

  /** The lease that the transport has made of it, if another process reads it. */
  private LeasableBody.@Nullable Lease lease;

  private volatile int state;

  /** A frame of the rank whose scratch this is. */
  OutFrame(Scratch scratch) {
    this.scratch = scratch;
  }

  void fill(CallRun newCall, SlabRun newRun, Program.Step newStep, int newLength) {
    call = newCall;
    run = newRun;
    step = newStep;
    slab = newRun.slab;
    length = newLength;
    copied = false;
    placed = false;
    staged = newStep.returns && newCall.stage.isOpen();
    lease = null;
    state = OFFERED;
  }

  private CallRun call() {
    CallRun of = call;
    if (of == null) {
      throw notFilled();
    }
    return of;
  }

  /** Returns the run of the slab that the frame is of. */
  SlabRun run() {
    SlabRun of = run;
    if (of == null) {
      throw notFilled();
    }
    return of;
  }

  /** Returns the step that sends the frame. */
  Program.Step step() {
    Program.Step of = step;
    if (of == null) {
      throw notFilled();
    }
    return of;
  }

  private static IllegalStateException notFilled() {
    return new IllegalStateException("the frame has not been filled");
  }

  /** The receiver has the bytes already. */
  void place() {
    placed = true;
  }

  @Override
  public boolean isPlaced() {
    return placed;
  }

  /** Copies the pieces, so that the memory may be written at once. */
  void makeCopy() {
    FrameBytes to = copy;
    if (to == null || to.bytes().capacity() < length) {
      copy = to = new FrameBytes(ByteBuffer.allocateDirect(length + 7 & ~7));
    }
    storePieces(to, 0);
    copied = true;
  }

  @Override
  public @Nullable FrameBytes copy() {
    return copied ? copy : null;
  }

  @Override
  public Memory source(ElementType type, int piece) {
    return call().memory(step().at + piece, slab, step().untouched[piece]);
  }

  @Override
  public long sourceAt(int piece) {
    return call().position(step().at + piece, slab, step().untouched[piece]);
  }

  @Override
  public Memory target(ElementType type, int piece) {
    return call().memory(step().at + piece, slab, false);
  }

  @Override
  public long targetAt(int piece) {
    return call().position(step().at + piece, slab, false);
  }

  @Override
  public boolean holdOpen() {
    return STATE.compareAndSet(this, OFFERED, HELD_OPEN);
  }

  /** The call has failed: from now on the memory may hold anything. */
  void revoke() {
    if (lease != null) {
      lease.revoke();
      return;
    }
    while (!STATE.compareAndSet(this, OFFERED, REVOKED) && state == HELD_OPEN) {
      LockSupport.parkNanos(this, 1);
    }
  }

  @Override
  public boolean isRevoked() {
    VarHandle.acquireFence();
    return state == REVOKED;
  }

  boolean isReleased() {
    return lease == null ? state == RELEASED : lease.isOver();
  }

  @Override
  public int length() {
    return length;
  }

  @Override
  public void store(FrameBytes target, int at) {
    FrameBytes from = copy();
    if (from != null) {
      target.bytes().put(at, from.bytes(), 0, length);
    } else {
      storePieces(target, at);
    }
  }

  private void storePieces(FrameBytes target, int at) {
    CallRun of = call();
    Program.Step sent = step();
    int position = at;
    for (int i = 0; i < sent.chunkCount; i++) {
      int chunk = sent.at + i;
      int count = of.pieceCount(chunk, slab);
      boolean untouched = sent.untouched[i];
      Memory memory = of.memory(chunk, slab, untouched);
      long from = of.position(chunk, slab, untouched);
      NarrowWire narrow = of.narrow;
      if (narrow == null) {
        memory.store(from, count, target, position);
      } else {
        // Sums are on their way to all, who are to get them as they are here.
        Residual residual = sent.effect == Effect.REDUCE ? of.residual(chunk, slab) : null;
        narrow.store(memory, from, count, target, position, residual, scratch);
      }
      position += of.pieceLength(count);
    }
  }

  @Override
  public int pieces() {
    if (copied || call().narrow != null) {
      return 0; // What is in memory is not what is to arrive.
    }
    if (staged) {
      return step().chunkCount;
    }
    for (int i = 0; i < step().chunkCount; i++) {
      if (regionOf(source(call().input.type(), i)) == null) {
        return 0;
      }
    }
    return step().chunkCount;
  }

  @Override
  public Region region(int piece) {
    return staged
        ? call().stage.region()
        : Objects.requireNonNull(regionOf(source(call().input.type(), piece)));
  }

  @Override
  public int offset(int piece) {
    return staged
        ? stagedAt(piece)
        : ((BufferMemory) source(call().input.type(), piece)).regionOffset(sourceAt(piece));
  }

  @Override
  public int length(int piece) {
    return call().pieceCount(step().firstChunk + piece, slab) * call().elementBytes();
  }

  /** Only contributions to an all-reduce are certain to end where they come from. */
  @Override
  public @Nullable Region targetRegion(int piece) {
    if (staged) {
      return call().stage.region();
    }
    return step().effect == Effect.REDUCE && call().program.collective == Collective.ALL_REDUCE
        ? regionOf(target(call().input.type(), piece))
        : null;
  }

  @Override
  public int targetOffset(int piece) {
    return staged
        ? stagedAt(piece)
        : ((BufferMemory) target(call().input.type(), piece)).regionOffset(targetAt(piece));
  }

  private static @Nullable Region regionOf(Memory memory) {
    return memory instanceof BufferMemory buffer ? buffer.region() : null;
  }

  @Override
  public void leased(LeasableBody.Lease begun) {
    lease = begun;
    if (staged) {
      stagePieces();
    }
  }

  private int stagedAt(int piece) {
    return call().stage.at(step().firstChunk + piece, slab);
  }

  /** Copies the pieces to where the receiver is to read them. */
  private void stagePieces() {
    CallRun of = call();
    Memory stage = of.stage.memory();
    for (int i = 0; i < step().chunkCount; i++) {
      int chunk = step().firstChunk + i;
      int count = of.pieceCount(chunk, slab);
      int at = stagedAt(i);
      stage.replace(at / of.elementBytes(), count, source(stage.type(), i), sourceAt(i));
      of.stage.region().check(at, count * of.elementBytes());
      run().staged[of.program.returning(chunk)] = true;
    }
  }

  @Override
  public void release() {
    state = RELEASED;
  }
}
