package io.collectives.engine.run;

import io.collectives.ElementType;
import io.collectives.engine.memory.BufferMemory;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.Region;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Memory of one rank that all others reach, as a buffer of one type. */
final class SimulatedRegion implements Region, BufferMemory.InRegion {
  private final ElementType type;
  private final int count;
  private final FrameBytes shared;

  SimulatedRegion(ElementType type, int count) {
    this.type = type;
    this.count = count;
    shared = new FrameBytes(ByteBuffer.allocateDirect(Math.max(1, count * type.bytes())));
  }

  /** Returns the memory as its lessees see it. */
  FrameBytes shared() {
    return shared;
  }

  @Override
  public ElementType type() {
    return type;
  }

  @Override
  public long count() {
    return count;
  }

  @Override
  public Region region() {
    return this;
  }

  @Override
  public ByteBuffer bytes() {
    return shared.bytes().duplicate().order(ByteOrder.LITTLE_ENDIAN);
  }

  @Override
  public int number() {
    return 0;
  }

  @Override
  public void map(int peer, int number) {}

  @Override
  public void share() {}

  @Override
  public void announce() {}

  @Override
  public void close() {}
}
