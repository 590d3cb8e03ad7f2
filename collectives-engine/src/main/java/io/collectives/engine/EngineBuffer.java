package io.collectives.engine;

import io.collectives.CollectiveBuffer;
import io.collectives.ElementType;
import io.collectives.engine.memory.BufferMemory;
import io.collectives.spi.Region;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A buffer of a group: a region, or where the transport has none, memory of this rank. */
final class EngineBuffer implements CollectiveBuffer, BufferMemory.InRegion {
  private final Driver driver;
  private final Consumer<EngineBuffer> whenClosed;
  private final ElementType type;
  private final long count;
  private final @Nullable Region region;
  private volatile @Nullable ByteBuffer bytes;

  /**
   * A buffer of a group of a rank.
   *
   * @param driver that of the rank
   * @param whenClosed hears of it with the driver's lock held
   */
  EngineBuffer(
      Driver driver,
      Consumer<EngineBuffer> whenClosed,
      ElementType type,
      long count,
      @Nullable Region region,
      ByteBuffer bytes) {
    this.driver = driver;
    this.whenClosed = whenClosed;
    this.type = type;
    this.count = count;
    this.region = region;
    this.bytes = bytes.slice(0, Math.toIntExact(count * type.bytes()));
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
  public ByteBuffer bytes() {
    ByteBuffer all = bytes;
    if (all == null) {
      throw new IllegalStateException(this + " is closed");
    }
    return all.duplicate().order(ByteOrder.LITTLE_ENDIAN);
  }

  @Override
  public @Nullable Region region() {
    return region;
  }

  boolean isClosed() {
    return bytes == null;
  }

  @Override
  public void close() {
    driver.lock();
    try {
      if (region != null && driver.engine().uses(region)) {
        throw new IllegalStateException(
            this + " is used by a call under way: wait for that, or close the communicator");
      }
      bytes = null;
      whenClosed.accept(this);
    } finally {
      driver.unlock();
    }
    if (region != null) {
      region.close();
    }
  }

  @Override
  public String toString() {
    return "a buffer of " + count + " " + type + " elements";
  }
}
