package io.collectives.engine.run;

import io.collectives.ElementType;
import io.collectives.engine.memory.BufferMemory;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Memory of one rank that all others reach, as a buffer of one type. */
final class SimulatedRegion implements Region, BufferMemory.InRegion {
  private final ElementType type;
  private final int count;
  private final FrameBytes shared;

  private final List<SimulatedRegion> all;
  private final int number;
  private boolean closed;
  private @Nullable SimulatedRegion mapped;

  /** A region of a test that has no other ones. */
  SimulatedRegion(ElementType type, int count) {
    this(type, count, new ArrayList<>());
  }

  /**
   * A region.
   *
   * @param all that the ranks have made, by number; this one is added
   */
  SimulatedRegion(ElementType type, int count, List<SimulatedRegion> all) {
    this.type = type;
    this.count = count;
    this.all = all;
    this.number = all.size();
    all.add(this);
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
    return number;
  }

  @Override
  public void map(int peer, int theirs) throws IOException {
    mapped = all.get(theirs);
    if (mapped.closed || mapped.count != count) {
      throw new IOException("region " + theirs + " of rank " + peer + " is not there");
    }
  }

  @Override
  public FrameBytes hold(int peer) {
    return new FrameBytes(Objects.requireNonNull(mapped).bytes());
  }

  @Override
  public void share() {}

  @Override
  public void announce() {}

  boolean isClosed() {
    return closed;
  }

  @Override
  public void close() {
    closed = true;
  }
}
