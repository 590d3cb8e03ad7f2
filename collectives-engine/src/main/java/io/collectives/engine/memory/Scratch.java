package io.collectives.engine.memory;

import io.collectives.ElementType;
import org.jspecify.annotations.Nullable;

/**
 * A few blocks for each element type, small enough to stay in the L1 cache; made when first used.
 * Belongs to one thread at a time; one for each rank is enough.
 */
public final class Scratch {
  private static final int TYPES = ElementType.values().length;

  /** How many {@link #more} there are. */
  static final int MORE = 3;

  private final Object @Nullable [][] more = new Object[TYPES][];
  private final @Nullable Object[] first = new Object[TYPES];
  private final @Nullable Object[] second = new Object[TYPES];

  /** Scratch without blocks. */
  public Scratch() {}

  Object first(Elements elements) {
    return block(first, elements);
  }

  Object second(Elements elements) {
    return block(second, elements);
  }

  /** Room for as many sources as {@link Elements} combines at once. */
  Object[] more(Elements elements) {
    int type = elements.type.ordinal();
    Object[] blocks = more[type];
    if (blocks == null) {
      more[type] = blocks = new Object[MORE];
      for (int i = 0; i < MORE; i++) {
        blocks[i] = elements.newArray(elements.block);
      }
    }
    return blocks;
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
