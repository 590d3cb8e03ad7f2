package io.collectives.engine.memory;

import io.collectives.Payload;
import java.util.List;

/** Makes the memories that payloads describe; the one place that knows all kinds of both. */
public final class Memories {
  private Memories() {}

  /**
   * The memory that a payload describes.
   *
   * @throws IllegalArgumentException if a part is not what its element type needs
   */
  public static Memory of(Payload payload) {
    if (payload instanceof Payload.OfParts several) {
      return several.parts().size() == 1
          ? of(several.parts().get(0))
          : parts(payload, several.parts());
    }
    if (payload instanceof Payload.OfStrided strided && !StridedMemory.isWorthwhile(strided)) {
      return parts(payload, List.of(strided));
    }
    return flat(payload);
  }

  private static Memory parts(Payload payload, List<Payload> parts) {
    return new PartsMemory(ElementTypes.of(payload.type()), parts, Memories::flat);
  }

  private static FlatMemory flat(Payload payload) {
    Elements elements = ElementTypes.of(payload.type());
    if (payload instanceof Payload.OfArray range) {
      ArrayMemory memory = new ArrayMemory(range.type());
      memory.bind(range.array(), range.offset(), Math.toIntExact(range.count()));
      return memory;
    }
    if (payload instanceof Payload.OfBuffer direct) {
      return new BufferMemory(elements, direct.buffer());
    }
    if (payload instanceof Payload.OfCollectiveBuffer range) {
      return BufferMemory.of(range);
    }
    Payload.OfStrided strided = (Payload.OfStrided) payload;
    return new StridedMemory(elements, strided, flat(strided.base()));
  }
}
