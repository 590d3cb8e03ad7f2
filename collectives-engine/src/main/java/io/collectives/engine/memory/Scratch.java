package io.collectives.engine.memory;

import io.collectives.ElementType;
import org.jspecify.annotations.Nullable;

/**
 * Two blocks for each element type and what narrow numbers are converted by, small enough to stay
 * in the L1 cache; made when first used. Belongs to one thread at a time; one for each rank is
 * enough.
 */
public final class Scratch {
  private static final int TYPES = ElementType.values().length;

  private final @Nullable Object[] first = new Object[TYPES];
  private final @Nullable Object[] second = new Object[TYPES];

  private @Nullable Converter16 converter16;
  private @Nullable ArrayMemory widened;

  /** Scratch without blocks. */
  public Scratch() {}

  Object first(Elements elements) {
    return block(first, elements);
  }

  Object second(Elements elements) {
    return block(second, elements);
  }

  Converter16 converter16() {
    Converter16 made = converter16;
    if (made == null) {
      converter16 = made = new Converter16();
    }
    return made;
  }

  /** Room for a block that came as narrow numbers, all of it: an array from index 0. */
  ArrayMemory widened() {
    ArrayMemory made = widened;
    if (made == null) {
      widened = made = ArrayMemory.ofZeros(ElementType.FLOAT32, NarrowWire.BLOCK);
    }
    return made;
  }

  private static Object block(@Nullable Object[] blocks, Elements elements) {
    int type = elements.type.ordinal();
    Object block = blocks[type];
    if (block == null) {
      blocks[type] = block = elements.newArray(elements.block);
    }
    return block;
  }
}
