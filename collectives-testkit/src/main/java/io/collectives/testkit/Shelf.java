package io.collectives.testkit;

import io.collectives.CollectiveBuffer;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;

/**
 * Buffers that a communicator has allocated, of which {@link Cells} take ranges. Allocating is a
 * collective, so all ranks prepare the same; how much each of them takes then is up to it.
 */
final class Shelf {
  private final Communicator world;
  private final Map<ElementType, CollectiveBuffer> buffers = new EnumMap<>(ElementType.class);
  private int taken;

  Shelf(Communicator world) {
    this.world = world;
  }

  /** Makes room for so many elements; what was taken before is free again. */
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

  /** The first of some elements that nobody else takes. */
  int take(int count) {
    int first = taken;
    taken += count;
    return first;
  }

  ByteBuffer bytes(ElementType type) {
    return buffers.get(type).bytes();
  }

  Payload payload(ElementType type, int first, int count) {
    return buffers.get(type).payload(first, count);
  }
}
