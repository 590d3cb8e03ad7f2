package io.collectives.engine.run;

import io.collectives.ElementType;
import io.collectives.engine.memory.BufferMemory;
import io.collectives.engine.memory.Memory;
import io.collectives.plan.Chunks;
import io.collectives.spi.FrameBytes;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A chunk in the {@linkplain ExchangeBuffers exchange buffer} of one member, as if a frame had
 * brought it: the member's contribution, and later the sum, which goes to the same place. A chunk
 * lies where it lies in the payload.
 *
 * <p>Nobody but the library writes there, so nothing has to be held or revoked.
 */
final class ExchangeView implements View {
  private final FrameBytes buffer;

  /** By type, made when it is first needed. */
  private final @Nullable BufferMemory[] memories = new BufferMemory[ElementType.values().length];

  private @Nullable BufferMemory memory;
  private long first;
  private int length;

  ExchangeView(FrameBytes buffer) {
    this.buffer = buffer;
  }

  /**
   * Shows a chunk of a call.
   *
   * @param at the byte at which the payload of the call begins
   */
  ExchangeView show(CallRun call, int chunk, int at) {
    ElementType type = call.output.type();
    BufferMemory of = memories[type.ordinal()];
    if (of == null) {
      of = BufferMemory.unbound(type);
      of.bind(buffer);
      memories[type.ordinal()] = of;
    }
    memory = of;
    first = at / type.bytes() + Chunks.start(call.count(), chunk, call.program.chunks);
    length = call.pieceCount(chunk, 0) * type.bytes();
    return this;
  }

  @Override
  public boolean isPlaced() {
    return false;
  }

  @Override
  public @Nullable FrameBytes copy() {
    return null;
  }

  @Override
  public Memory source(ElementType type, int piece) {
    return shown();
  }

  private BufferMemory shown() {
    return Objects.requireNonNull(memory, "a chunk is shown");
  }

  @Override
  public long sourceAt(int piece) {
    return first;
  }

  @Override
  public Memory target(ElementType type, int piece) {
    return shown();
  }

  @Override
  public long targetAt(int piece) {
    return first;
  }

  @Override
  public boolean holdOpen() {
    return true;
  }

  @Override
  public boolean isRevoked() {
    return false;
  }

  @Override
  public int length() {
    return length;
  }

  @Override
  public void store(FrameBytes target, int at) {
    shown().store(first, length / shown().type().bytes(), target, at);
  }

  @Override
  public void release() {}
}
