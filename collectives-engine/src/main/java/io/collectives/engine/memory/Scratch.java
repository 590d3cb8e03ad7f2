package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A few blocks for each element type and what narrow numbers are converted by, small enough to stay
 * in the L1 cache; made when first used. Belongs to one thread at a time; one for each rank is
 * enough.
 */
public final class Scratch {
  private static final int TYPES = ElementType.values().length;

  /** How many {@link #more} there are. */
  static final int MORE = 3;

  private final Object @Nullable [][] more = new Object[TYPES][];
  private final @Nullable Object[] first = new Object[TYPES];
  private final @Nullable Object[] second = new Object[TYPES];

  private final @Nullable ExactSum[] exactSums = new ExactSum[TYPES];
  private final @Nullable Object[] marks = new Object[TYPES];

  private @Nullable Converter16 converter16;
  private @Nullable Converter8 converter8;
  private @Nullable Narrowing narrowing;

  /** Scratch without blocks. */
  public Scratch() {}

  Object first(Elements elements) {
    return block(first, elements);
  }

  Object second(Elements elements) {
    return block(second, elements);
  }

  /** Room for marks of a check, all zeros between two of them. */
  Object marks(Elements elements) {
    int type = elements.type.ordinal();
    Object made = marks[type];
    if (made == null) {
      marks[type] = made = elements.newArray(Elements.MARKS);
    }
    return made;
  }

  /** Room for as many sources as {@link Elements} combines at once. */
  Object[] more(Elements elements) {
    int type = elements.type.ordinal();
    Object[] blocks = more[type];
    if (blocks == null) {
      more[type] = blocks = new Object[MORE];
      for (int i = 0; i < MORE; i++) {
        blocks[i] = elements.newArray(elements.longestBlock);
      }
    }
    return blocks;
  }

  ExactSum exactSum(Elements elements) {
    int type = elements.type.ordinal();
    ExactSum made = exactSums[type];
    if (made == null) {
      exactSums[type] = made = ExactSum.of(elements.type);
    }
    return made;
  }

  Converter16 converter16() {
    Converter16 made = converter16;
    if (made == null) {
      converter16 = made = new Converter16();
    }
    return made;
  }

  Converter8 converter8() {
    Converter8 made = converter8;
    if (made == null) {
      converter8 = made = new Converter8();
    }
    return made;
  }

  /** Room for a block that is to become narrow. */
  float[] wide() {
    return narrowing().wide;
  }

  /** Room for a block that came as narrow numbers. */
  float[] widened() {
    return narrowing().widened;
  }

  /** The same room, alone among as many blocks as {@link Elements} combines at once. */
  Object[] widenedAlone() {
    return narrowing().alone;
  }

  /** The same room. */
  Memory widenedMemory() {
    return narrowing().widenedMemory;
  }

  /** Room for what a block has lost. */
  float[] lost() {
    return narrowing().lost;
  }

  /** Room for a packed block. */
  FrameBytes frame() {
    return narrowing().frame;
  }

  private Narrowing narrowing() {
    Narrowing made = narrowing;
    if (made == null) {
      narrowing = made = new Narrowing();
    }
    return made;
  }

  private static final class Narrowing {
    final float[] wide = new float[NarrowWire.MOST];
    final float[] widened = new float[NarrowWire.MOST];
    final Object[] alone = {widened};
    final Memory widenedMemory = Memory.of(Payload.of(widened));
    final float[] lost = new float[NarrowWire.MOST];
    final FrameBytes frame =
        new FrameBytes(ByteBuffer.allocateDirect(NarrowWire.MOST * Float.BYTES));
  }

  private static Object block(@Nullable Object[] blocks, Elements elements) {
    int type = elements.type.ordinal();
    Object block = blocks[type];
    if (block == null) {
      blocks[type] = block = elements.newArray(elements.longestBlock);
    }
    return block;
  }
}
