package io.collectives.engine.run;

import io.collectives.ElementType;
import io.collectives.engine.memory.BufferMemory;
import io.collectives.engine.memory.Memory;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.LeasedBody;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** A view of the memory that another process has leased to this rank. Objects are reused. */
final class LeasedFrame implements View {
  private final Deque<LeasedFrame> pool;
  private LeasedBody body;
  private static final int TYPES = ElementType.values().length;

  private @Nullable BufferMemory[] sources = new BufferMemory[TYPES];
  private @Nullable BufferMemory[] targets = new BufferMemory[TYPES];
  private int elementBytes = 1;

  private LeasedFrame(Deque<LeasedFrame> pool, LeasedBody body) {
    this.pool = pool;
    this.body = body;
  }

  /** A frame of a pool, to which it returns when it is released. */
  static LeasedFrame of(LeasedBody body, ArrayDeque<LeasedFrame> pool) {
    LeasedFrame frame = pool.poll();
    if (frame == null) {
      frame = new LeasedFrame(pool, body);
    }
    frame.body = body;
    if (body.pieces() * TYPES > frame.sources.length) {
      frame.sources = Arrays.copyOf(frame.sources, body.pieces() * TYPES);
      frame.targets = Arrays.copyOf(frame.targets, body.pieces() * TYPES);
    }
    return frame;
  }

  /**
   * Returns whether the pieces are those of a transfer, and whole elements as they are in memory.
   */
  boolean fits(CallRun call, int slab, Program.Step step) {
    if (call.narrow != null) {
      return false;
    }
    if (isPlaced()) {
      return true;
    }
    elementBytes = call.elementBytes();
    if (body.pieces() != step.chunkCount) {
      return false;
    }
    for (int i = 0; i < step.chunkCount; i++) {
      if (body.length(i) != call.pieceCount(step.firstChunk + i, slab) * elementBytes
          || body.offset(i) % elementBytes != 0
          || body.targetOffset(i) % elementBytes != 0) {
        return false;
      }
    }
    return true;
  }

  @Override
  public boolean isPlaced() {
    return body.isPlaced();
  }

  @Override
  public @Nullable FrameBytes copy() {
    return null;
  }

  @Override
  public Memory source(ElementType type, int piece) {
    return bound(sources, type, piece, body.region(piece));
  }

  @Override
  public long sourceAt(int piece) {
    return body.offset(piece) / elementBytes;
  }

  @Override
  public @Nullable Memory target(ElementType type, int piece) {
    FrameBytes region = body.targetRegion(piece);
    return region == null ? null : bound(targets, type, piece, region);
  }

  @Override
  public long targetAt(int piece) {
    return body.targetOffset(piece) / elementBytes;
  }

  private static Memory bound(
      @Nullable BufferMemory[] memories, ElementType type, int piece, FrameBytes region) {
    int index = piece * TYPES + type.ordinal();
    BufferMemory memory = memories[index];
    if (memory == null) {
      memories[index] = memory = BufferMemory.unbound(type);
    }
    memory.bind(region);
    return memory;
  }

  @Override
  public boolean holdOpen() {
    return body.holdOpen();
  }

  @Override
  public boolean isRevoked() {
    return body.isRevoked();
  }

  @Override
  public int length() {
    return body.length();
  }

  @Override
  public void store(FrameBytes target, int at) {
    body.store(target, at);
  }

  @Override
  public void release() {
    body.release();
    pool.push(this);
  }
}
