package io.collectives.testkit;

import io.collectives.CollectiveBuffer;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/**
 * A pool of buffers that a communicator has allocated, of which each {@link TestPayload} takes a
 * range. Allocating is a collective, so all ranks prepare the same buffers; each rank may then take
 * different ranges.
 */
final class BufferPool {
  private final Communicator world;
  private final Map<ElementType, CollectiveBuffer> buffers = new EnumMap<>(ElementType.class);
  private int taken;

  BufferPool(Communicator world) {
    this.world = world;
  }

  /** Makes room for some elements and frees the ranges that were taken before. */
  void prepare(ElementType type, int count) {
    taken = 0;
    CollectiveBuffer buffer = buffers.get(type);
    if (buffer == null || buffer.count() < count) {
      if (buffer != null) {
        buffer.close();
      }
      buffers.put(type, world.allocate(type, count));
    }
  }

  /** Takes a range and returns its first element. */
  int take(int count) {
    int first = taken;
    taken += count;
    return first;
  }

  ByteBuffer bytes(ElementType type) {
    return prepared(type).bytes();
  }

  Payload payload(ElementType type, int first, int count) {
    return prepared(type).payload(first, count);
  }

  private CollectiveBuffer prepared(ElementType type) {
    return Objects.requireNonNull(buffers.get(type), () -> "no room was made for " + type);
  }
}
