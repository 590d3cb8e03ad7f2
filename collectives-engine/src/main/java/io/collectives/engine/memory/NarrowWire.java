package io.collectives.engine.memory;

import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.spi.FrameBytes;
import java.nio.IntBuffer;
import org.jspecify.annotations.Nullable;

/**
 * How a piece of float32 memory lies in a frame as numbers of 16 bits, and what has become of it
 * when it comes out again.
 *
 * <p>A piece is cut into blocks of {@value Converter16#BLOCK} elements, the last one shorter. A
 * block is packed in planes ({@link Converter16}), not in the order of its elements: only so both
 * ends convert at the speed of a copy. The last of an odd number of elements takes four bytes.
 */
public final class NarrowWire {
  private static final NarrowWire BFLOAT16 = new NarrowWire(Format16.BFLOAT16);
  private static final NarrowWire FLOAT16 = new NarrowWire(Format16.FLOAT16);

  /** The elements of a block, the unit in which an {@link OrderedReduction} goes, too. */
  static final int BLOCK = Converter16.BLOCK;

  private final Format16 format;

  private NarrowWire(Format16 format) {
    this.format = format;
  }

  /** What stands for a wire type; nothing if elements cross as they are. */
  public static @Nullable NarrowWire of(WireType type) {
    return switch (type) {
      case AS_IN_MEMORY -> null;
      case BFLOAT16 -> BFLOAT16;
      case FLOAT16 -> FLOAT16;
    };
  }

  /** The bytes of a piece, a multiple of 4. */
  public int length(int count) {
    return (count + 1) / 2 * Integer.BYTES;
  }

  /** The most elements of a piece of so many bytes, at least 4. */
  public int fitting(int length) {
    return length / Integer.BYTES * 2;
  }

  /**
   * Stores elements {@code [from, from+count)}, rounded.
   *
   * @param at where in the frame, a multiple of 4
   */
  public void store(
      Memory source, long from, int count, FrameBytes target, int at, Scratch scratch) {
    Converter16 converter = scratch.converter16();
    IntBuffer ints = target.ints();
    for (int done = 0; done < count; done += BLOCK) {
      int block = Math.min(BLOCK, count - done);
      source.load(from + done, block, converter.first);
      int pairs = narrow(converter, block);
      ints.put((at + length(done)) / Integer.BYTES, converter.packed, 0, pairs);
    }
  }

  /** Elements {@code [to, to+count)} become those of a piece. */
  public void replace(
      Memory target, long to, int count, FrameBytes source, int at, Scratch scratch) {
    Converter16 converter = scratch.converter16();
    for (int done = 0; done < count; done += BLOCK) {
      int block = Math.min(BLOCK, count - done);
      load(source, at + length(done), block, converter.first, scratch);
      target.save(to + done, block, converter.first);
    }
  }

  /** As {@link Memory#reduce(ReduceOp, long, int, Memory, long, FrameBytes, int, Scratch)}. */
  public void reduce(
      ReduceOp op,
      Memory result,
      long to,
      int count,
      Memory own,
      long ownFrom,
      FrameBytes source,
      int at,
      Scratch scratch) {
    ArrayMemory widened = scratch.widened();
    for (int done = 0; done < count; done += BLOCK) {
      int block = Math.min(BLOCK, count - done);
      load(source, at + length(done), block, (float[]) widened.array(), scratch);
      result.reduce(op, to + done, block, own, ownFrom + done, widened, 0, scratch);
    }
  }

  /** Elements {@code [at, at+count)} become what they would be at another rank. */
  public void round(Memory memory, long at, int count, Scratch scratch) {
    Converter16 converter = scratch.converter16();
    for (int done = 0; done < count; done += BLOCK) {
      int block = Math.min(BLOCK, count - done);
      memory.load(at + done, block, converter.first);
      round(converter.first, block, scratch);
      memory.save(at + done, block, converter.first);
    }
  }

  /** The same of the beginning of an array of at most a block. */
  void round(float[] values, int count, Scratch scratch) {
    Converter16 converter = scratch.converter16();
    if (values != converter.first) {
      System.arraycopy(values, 0, converter.first, 0, count);
    }
    widen(converter, narrow(converter, count), values, count);
  }

  /** The elements of a block, which begins at a byte of a frame. */
  void load(FrameBytes source, int at, int count, float[] values, Scratch scratch) {
    Converter16 converter = scratch.converter16();
    int pairs = (count + 1) / 2;
    source.ints().get(at / Integer.BYTES, converter.packed, 0, pairs);
    widen(converter, pairs, values, count);
  }

  private int narrow(Converter16 converter, int count) {
    int pairs = (count + 1) / 2;
    float[] values = converter.first;
    if (2 * pairs > count) {
      values[count] = 0;
    }
    if (count >= Elements.SHORT) {
      converter.narrow(format, pairs, values);
    } else {
      for (int i = 0; i < pairs; i++) {
        converter.packed[i] =
            format.narrow(values[i]) & 0xffff | format.narrow(values[i + pairs]) << 16;
      }
    }
    return pairs;
  }

  private void widen(Converter16 converter, int pairs, float[] values, int count) {
    if (count >= Elements.SHORT) {
      converter.widen(format, pairs, values);
      return;
    }
    for (int i = 0; i < pairs; i++) {
      values[i] = format.widen((short) converter.packed[i]);
      if (i + pairs < count) {
        values[i + pairs] = format.widen((short) (converter.packed[i] >>> 16));
      }
    }
  }
}
