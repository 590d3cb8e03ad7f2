package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.WireType;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The form of a piece of float32 memory in a frame as narrower numbers, and the way back.
 *
 * <p>A piece is cut into {@linkplain #block blocks}, the last one shorter. A block is packed in
 * planes ({@link Converter16}, {@link Converter8}), not in the order of its elements: only so both
 * ends convert it in vector loops. A number that has been rounded stays what it is if its piece is
 * packed again, so it does not matter how often a sum is passed on.
 *
 * <p><b>Residual.</b> Where there is one, what it holds is added to the elements before they are
 * rounded, and afterwards it holds what rounding has taken from them: the sum of what is sent in
 * many calls is that of the elements, but for one rounding. Where that is not a finite number, it
 * holds 0, so that one NaN does not stay for ever.
 */
public abstract sealed class NarrowWire permits NarrowWire.Wire16, NarrowWire.Wire8 {
  private static final NarrowWire BFLOAT16 = new Wire16(Format16.BFLOAT16);
  private static final NarrowWire FLOAT16 = new Wire16(Format16.FLOAT16);
  private static final NarrowWire INT8 = new Wire8();

  /** The most elements of a block of any wire. */
  static final int MOST = Math.max(Converter16.BLOCK, Converter8.BLOCK);

  private static final Scratch.Key<Blocks> BLOCKS = new Scratch.Key<>(Blocks::new);

  private NarrowWire() {}

  /** Blocks on their way. */
  private static final class Blocks {
    /** Room for what is to become narrow. */
    final float[] wide = new float[MOST];

    /** Room for what came as narrow numbers. */
    final float[] widened = new float[MOST];

    final ArrayMemory widenedMemory = new ArrayMemory(ElementType.FLOAT32);

    /** Both, the first of which is also the result. */
    final Operands operands = Operands.of(wide, widened);

    /** Room for what a block has lost. */
    final float[] lost = new float[MOST];

    /** Room for a packed block. */
    final FrameBytes frame = new FrameBytes(ByteBuffer.allocateDirect(MOST * Float.BYTES));

    Blocks() {
      widenedMemory.bind(widened, 0, MOST);
    }
  }

  /** Room for two blocks of floats, the first of which is also the result. */
  static Operands operands(Scratch scratch) {
    return scratch.get(BLOCKS).operands;
  }

  /** Returns the form for a wire type, or null if elements cross as they are. */
  public static @Nullable NarrowWire of(WireType type) {
    return switch (type) {
      case AS_IN_MEMORY -> null;
      case BFLOAT16 -> BFLOAT16;
      case FLOAT16 -> FLOAT16;
      case INT8 -> INT8;
    };
  }

  /** The elements of a block, the unit in which an {@link OrderedReduction} goes, too. */
  abstract int block();

  /** The bytes of a piece, a multiple of 4. */
  public abstract int length(int count);

  /** The most elements of a piece of so many bytes, at least 4 in 8 bytes. */
  public abstract int fitting(int length);

  /**
   * Packs a block.
   *
   * @param values those after the first {@code count} may be written
   * @param at an index in {@code target}
   */
  abstract void pack(float[] values, int count, IntBuffer target, int at, Scratch scratch);

  /**
   * The inverse of {@link #pack}.
   *
   * @param values those after the first {@code count} may be written
   */
  abstract void unpack(IntBuffer source, int at, int count, float[] values, Scratch scratch);

  /**
   * Stores elements {@code [from, from+count)}, rounded.
   *
   * @param at where in the frame, a multiple of 4
   * @param residual of these elements, behind which it is put; nothing if what is lost is lost
   */
  public final void store(
      Memory source,
      long from,
      int count,
      FrameBytes target,
      int at,
      @Nullable Residual residual,
      Scratch scratch) {
    float[] values = scratch.get(BLOCKS).wide;
    int most = block();
    for (int done = 0; done < count; done += most) {
      int block = Math.min(most, count - done);
      int index = (at + length(done)) / Integer.BYTES;
      if (residual == null) {
        pack(source, from + done, block, target.ints(), index, scratch);
      } else {
        source.load(from + done, block, values);
        float[] lost = scratch.get(BLOCKS).lost;
        residual.load(block, lost);
        add(values, lost, block);
        pack(values, block, target.ints(), index, scratch);
        float[] arrived = scratch.get(BLOCKS).widened;
        unpack(target.ints(), index, block, arrived, scratch);
        lose(lost, values, arrived, block);
        residual.save(block, lost);
      }
    }
  }

  /** Elements {@code [to, to+count)} become those of a piece. */
  public final void replace(
      Memory target, long to, int count, FrameBytes source, int at, Scratch scratch) {
    int most = block();
    for (int done = 0; done < count; done += most) {
      int block = Math.min(most, count - done);
      int index = (at + length(done)) / Integer.BYTES;
      unpack(source.ints(), index, block, target, to + done, scratch);
    }
  }

  /**
   * Unpacks a block to scratch.
   *
   * @param at where in the frame, a multiple of 4
   * @return the memory that begins with its elements, until the next block is unpacked
   */
  final Memory widened(FrameBytes source, int at, int count, Scratch scratch) {
    Blocks blocks = scratch.get(BLOCKS);
    unpack(source.ints(), at / Integer.BYTES, count, blocks.widened, scratch);
    return blocks.widenedMemory;
  }

  /**
   * Elements {@code [at, at+count)} become what they would be at another rank.
   *
   * @param residual as in {@link #store}
   */
  public final void round(
      Memory memory, long at, int count, @Nullable Residual residual, Scratch scratch) {
    FrameBytes frame = scratch.get(BLOCKS).frame;
    int most = block();
    for (int done = 0; done < count; done += most) {
      int block = Math.min(most, count - done);
      store(memory, at + done, block, frame, 0, residual, scratch);
      replace(memory, at + done, block, frame, 0, scratch);
    }
  }

  /** Rounds the beginning of an array that has room for a block, without a residual. */
  final void round(float[] values, int count, Scratch scratch) {
    IntBuffer ints = scratch.get(BLOCKS).frame.ints();
    pack(values, count, ints, 0, scratch);
    unpack(ints, 0, count, values, scratch);
  }

  /** The elements of a block, which begins at a byte of a frame. */
  final void load(FrameBytes source, int at, int count, float[] values, Scratch scratch) {
    unpack(source.ints(), at / Integer.BYTES, count, values, scratch);
  }

  /** Packs a block of a memory. */
  void pack(Memory source, long from, int count, IntBuffer target, int at, Scratch scratch) {
    float[] values = scratch.get(BLOCKS).wide;
    source.load(from, count, values);
    pack(values, count, target, at, scratch);
  }

  /** Unpacks a block to a memory. */
  void unpack(IntBuffer source, int at, int count, Memory target, long to, Scratch scratch) {
    float[] values = scratch.get(BLOCKS).widened;
    unpack(source, at, count, values, scratch);
    target.save(to, count, values);
  }

  private static void add(float[] values, float[] lost, int count) {
    for (int i = 0; i < count; i++) {
      values[i] = values[i] + lost[i];
    }
  }

  private static void lose(float[] lost, float[] values, float[] arrived, int count) {
    for (int i = 0; i < count; i++) {
      float difference = values[i] - arrived[i];
      lost[i] = Float.isFinite(difference) ? difference : 0;
    }
  }

  /** Two numbers to four bytes; the last of an odd number of elements takes four. */
  static final class Wire16 extends NarrowWire {
    private final Format16 format;

    Wire16(Format16 format) {
      this.format = format;
    }

    @Override
    int block() {
      return Converter16.BLOCK;
    }

    @Override
    public int length(int count) {
      return (count + 1) / 2 * Integer.BYTES;
    }

    @Override
    public int fitting(int length) {
      return length / Integer.BYTES * 2;
    }

    @Override
    void pack(float[] values, int count, IntBuffer target, int at, Scratch scratch) {
      Converter16 converter = scratch.get(Converter16.KEY);
      if (count < Elements.SHORT) {
        format.narrowFew(values, 0, count, converter.packed);
      } else {
        format.narrow(converter, values, 0, count);
      }
      target.put(at, converter.packed, 0, (count + 1) / 2);
    }

    @Override
    void pack(Memory source, long from, int count, IntBuffer target, int at, Scratch scratch) {
      if (count < Elements.SHORT) {
        super.pack(source, from, count, target, at, scratch);
        return;
      }
      Converter16 converter = scratch.get(Converter16.KEY);
      int part = source.partAt(from);
      int pairs = (count + 1) / 2;
      if (format.usesPlanes()) {
        source.store(from, pairs, converter.low.frame, 0);
        source.store(from + pairs, count - pairs, converter.high.frame, 0);
        format.pack(converter, count);
      } else if (source.part(part) instanceof ArrayMemory memory
          && from + count <= source.end(part)) {
        int index = memory.index(source.local(part, from));
        format.narrow(converter, (float[]) memory.array(), index, count);
      } else {
        float[] values = scratch.get(BLOCKS).wide;
        source.load(from, count, values);
        format.narrow(converter, values, 0, count);
      }
      target.put(at, converter.packed, 0, (count + 1) / 2);
    }

    @Override
    void unpack(IntBuffer source, int at, int count, Memory target, long to, Scratch scratch) {
      if (count < Elements.SHORT) {
        super.unpack(source, at, count, target, to, scratch);
        return;
      }
      Converter16 converter = scratch.get(Converter16.KEY);
      int part = target.partAt(to);
      int pairs = (count + 1) / 2;
      source.get(at, converter.packed, 0, pairs);
      if (format.usesPlanes()) {
        format.widen(converter, count);
        target.replace(to, pairs, converter.low.frame, 0);
        target.replace(to + pairs, count - pairs, converter.high.frame, 0);
      } else if (target.part(part) instanceof ArrayMemory memory
          && to + count <= target.end(part)) {
        int index = memory.index(target.local(part, to));
        format.widen(converter, (float[]) memory.array(), index, count);
      } else {
        float[] values = scratch.get(BLOCKS).widened;
        format.widen(converter, values, 0, count);
        target.save(to, count, values);
      }
    }

    @Override
    void unpack(IntBuffer source, int at, int count, float[] values, Scratch scratch) {
      Converter16 converter = scratch.get(Converter16.KEY);
      int[] packed = converter.packed;
      int pairs = (count + 1) / 2;
      source.get(at, packed, 0, pairs);
      if (count >= Elements.SHORT) {
        format.widen(converter, values, 0, count);
      } else {
        for (int i = 0; i < pairs; i++) {
          values[i] = format.widen((short) packed[i]);
          values[i + pairs] = format.widen((short) (packed[i] >>> 16));
        }
      }
    }
  }

  /** Four numbers to four bytes, and four bytes of exponents for every half of a block. */
  static final class Wire8 extends NarrowWire {
    private static final int BLOCK = Converter8.BLOCK;
    private static final int HALF = BLOCK / 2;
    private static final int FULL = BLOCK + 2 * Integer.BYTES;

    /** The ints of exponents of a block. */
    private static int heads(int count) {
      return count > HALF ? 2 : 1;
    }

    @Override
    int block() {
      return BLOCK;
    }

    @Override
    public int length(int count) {
      int rest = count % BLOCK;
      int full = count / BLOCK * FULL;
      return rest == 0 ? full : full + (heads(rest) + (rest + 3) / 4) * Integer.BYTES;
    }

    @Override
    public int fitting(int length) {
      int full = length / FULL * BLOCK;
      int rest = length % FULL / Integer.BYTES;
      int withOne = Math.min(HALF, 4 * (rest - 1));
      return full + Math.max(0, Math.max(withOne, 4 * (rest - 2)));
    }

    @Override
    void pack(float[] values, int count, IntBuffer target, int at, Scratch scratch) {
      int words = (count + 3) / 4;
      Arrays.fill(values, count, 4 * words, 0);
      Converter8 converter = scratch.get(Converter8.KEY);
      long exponents =
          count >= Elements.SHORT
              ? converter.narrow(values, words)
              : converter.narrowFew(values, words);
      int heads = heads(count);
      target.put(at, (int) exponents);
      if (heads == 2) {
        target.put(at + 1, (int) (exponents >>> 32));
      }
      target.put(at + heads, converter.packed, 0, words);
    }

    @Override
    void unpack(IntBuffer source, int at, int count, float[] values, Scratch scratch) {
      int words = (count + 3) / 4;
      Converter8 converter = scratch.get(Converter8.KEY);
      int heads = heads(count);
      long exponents = source.get(at) & 0xffff_ffffL;
      if (heads == 2) {
        exponents |= (long) source.get(at + 1) << 32;
      }
      source.get(at + heads, converter.packed, 0, words);
      if (count >= Elements.SHORT) {
        converter.widen(exponents, values, words);
      } else {
        converter.widenFew(exponents, values, words);
      }
    }
  }
}
