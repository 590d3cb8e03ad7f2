package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.WireType;
import io.collectives.internal.MemoryKernels.Packing;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.function.Supplier;
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
  private static final @Nullable NarrowWire BFLOAT16 = tried(WireType.BFLOAT16);
  private static final @Nullable NarrowWire FLOAT16 = tried(WireType.FLOAT16);
  private static final @Nullable NarrowWire INT8 = tried(WireType.INT8);

  /** The most elements of a block of any wire. */
  static final int MOST = Math.max(Converter16.BLOCK, Converter8.BLOCK);

  private static final Scratch.Key<Blocks> BLOCKS = new Scratch.Key<>(Blocks::new);

  private final Supplier<@Nullable Packing> vectors;

  private NarrowWire(Supplier<@Nullable Packing> vectors) {
    this.vectors = vectors;
  }

  /** Blocks on their way. */
  private static final class Blocks {
    /** Room for a block's narrow numbers. */
    final int[] packed = new int[MOST / 2];

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

  private static @Nullable NarrowWire tried(WireType type) {
    return of(type, () -> KernelTrial.PASSED.packing(type));
  }

  /**
   * Returns the form for a wire type, or null if elements cross as they are.
   *
   * @param vectors the loops over vectors to use now; nothing if there are none, or none yet
   */
  static @Nullable NarrowWire of(WireType type, Supplier<@Nullable Packing> vectors) {
    return switch (type) {
      case AS_IN_MEMORY -> null;
      case BFLOAT16 -> new Wire16(Format16.BFLOAT16, vectors);
      case FLOAT16 -> new Wire16(Format16.FLOAT16, vectors);
      case INT8 -> new Wire8(vectors);
    };
  }

  /** The elements of a block, the unit in which an {@link OrderedReduction} goes, too. */
  abstract int block();

  /** The bytes of a piece, a multiple of 4. */
  public abstract int length(int count);

  /** The most elements of a piece of so many bytes, at least 4 in 8 bytes. */
  public abstract int fitting(int length);

  /** The numbers that share an int. */
  abstract int numbers();

  /** The ints of exponents with which a block begins. */
  abstract int heads(int count);

  /**
   * Packs a block by loops over elements.
   *
   * @param values those after the first {@code count} may be written
   * @param at an index in {@code target}
   */
  abstract void packByLoops(float[] values, int count, IntBuffer target, int at, Scratch scratch);

  /**
   * The inverse of {@link #packByLoops(float[], int, IntBuffer, int, Scratch)}.
   *
   * @param values those after the first {@code count} may be written
   */
  abstract void unpackByLoops(IntBuffer source, int at, int count, float[] values, Scratch scratch);

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

  /** Returns the loops over vectors for a block; nothing if it is too short for them. */
  private @Nullable Packing packing(int count) {
    return count % (numbers() * Packing.MULTIPLE) == 0 ? vectors.get() : null;
  }

  private void pack(float[] values, int count, IntBuffer target, int at, Scratch scratch) {
    Packing packing = packing(count);
    if (packing == null) {
      packByLoops(values, count, target, at, scratch);
    } else {
      pack(packing, values, 0, count, target, at, scratch);
    }
  }

  private void pack(
      Memory source, long from, int count, IntBuffer target, int at, Scratch scratch) {
    Packing packing = packing(count);
    int part = source.partAt(from);
    if (packing != null
        && source.part(part) instanceof ArrayMemory memory
        && from + count <= source.end(part)) {
      int index = memory.index(source.local(part, from));
      pack(packing, (float[]) memory.array(), index, count, target, at, scratch);
    } else {
      packCopy(source, from, count, target, at, scratch);
    }
  }

  private void pack(
      Packing packing,
      float[] values,
      int from,
      int count,
      IntBuffer target,
      int at,
      Scratch scratch) {
    int[] packed = scratch.get(BLOCKS).packed;
    int ints = count / numbers();
    long exponents = packing.pack(values, from, packed, ints);
    int heads = heads(count);
    putHeads(exponents, heads, target, at);
    target.put(at + heads, packed, 0, ints);
  }

  static void putHeads(long exponents, int heads, IntBuffer target, int at) {
    for (int i = 0; i < heads; i++) {
      target.put(at + i, (int) (exponents >>> 32 * i));
    }
  }

  static long getHeads(int heads, IntBuffer source, int at) {
    long exponents = 0;
    for (int i = 0; i < heads; i++) {
      exponents |= (source.get(at + i) & 0xffff_ffffL) << 32 * i;
    }
    return exponents;
  }

  private void unpack(IntBuffer source, int at, int count, float[] values, Scratch scratch) {
    Packing packing = packing(count);
    if (packing == null) {
      unpackByLoops(source, at, count, values, scratch);
    } else {
      unpack(packing, source, at, count, values, 0, scratch);
    }
  }

  private void unpack(
      IntBuffer source, int at, int count, Memory target, long to, Scratch scratch) {
    Packing packing = packing(count);
    int part = target.partAt(to);
    if (packing != null
        && target.part(part) instanceof ArrayMemory memory
        && to + count <= target.end(part)) {
      int index = memory.index(target.local(part, to));
      unpack(packing, source, at, count, (float[]) memory.array(), index, scratch);
    } else {
      unpackCopy(source, at, count, target, to, scratch);
    }
  }

  private void unpack(
      Packing packing,
      IntBuffer source,
      int at,
      int count,
      float[] values,
      int to,
      Scratch scratch) {
    int[] packed = scratch.get(BLOCKS).packed;
    int ints = count / numbers();
    int heads = heads(count);
    source.get(at + heads, packed, 0, ints);
    packing.unpack(getHeads(heads, source, at), packed, ints, values, to);
  }

  /** Packs a block of a memory where vectors do not go. */
  void packCopy(Memory source, long from, int count, IntBuffer target, int at, Scratch scratch) {
    float[] values = scratch.get(BLOCKS).wide;
    source.load(from, count, values);
    pack(values, count, target, at, scratch);
  }

  /** Unpacks a block to a memory where vectors do not go. */
  void unpackCopy(IntBuffer source, int at, int count, Memory target, long to, Scratch scratch) {
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

    Wire16(Format16 format, Supplier<@Nullable Packing> vectors) {
      super(vectors);
      this.format = format;
    }

    @Override
    int block() {
      return Converter16.BLOCK;
    }

    @Override
    int numbers() {
      return 2;
    }

    @Override
    int heads(int count) {
      return 0;
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
    void packByLoops(float[] values, int count, IntBuffer target, int at, Scratch scratch) {
      Converter16 converter = scratch.get(Converter16.KEY);
      if (count < Elements.SHORT) {
        format.narrowFew(values, 0, count, converter.packed);
      } else {
        format.narrow(converter, values, 0, count);
      }
      target.put(at, converter.packed, 0, (count + 1) / 2);
    }

    @Override
    void packCopy(Memory source, long from, int count, IntBuffer target, int at, Scratch scratch) {
      if (count < Elements.SHORT) {
        super.packCopy(source, from, count, target, at, scratch);
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
    void unpackCopy(IntBuffer source, int at, int count, Memory target, long to, Scratch scratch) {
      if (count < Elements.SHORT) {
        super.unpackCopy(source, at, count, target, to, scratch);
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
    void unpackByLoops(IntBuffer source, int at, int count, float[] values, Scratch scratch) {
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

    Wire8(Supplier<@Nullable Packing> vectors) {
      super(vectors);
    }

    @Override
    int numbers() {
      return 4;
    }

    @Override
    int heads(int count) {
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
    void packByLoops(float[] values, int count, IntBuffer target, int at, Scratch scratch) {
      int words = (count + 3) / 4;
      Arrays.fill(values, count, 4 * words, 0);
      Converter8 converter = scratch.get(Converter8.KEY);
      long exponents =
          count >= Elements.SHORT
              ? converter.narrow(values, words)
              : converter.narrowFew(values, words);
      int heads = heads(count);
      putHeads(exponents, heads, target, at);
      target.put(at + heads, converter.packed, 0, words);
    }

    @Override
    void unpackByLoops(IntBuffer source, int at, int count, float[] values, Scratch scratch) {
      int words = (count + 3) / 4;
      Converter8 converter = scratch.get(Converter8.KEY);
      int heads = heads(count);
      long exponents = getHeads(heads, source, at);
      source.get(at + heads, converter.packed, 0, words);
      if (count >= Elements.SHORT) {
        converter.widen(exponents, values, words);
      } else {
        converter.widenFew(exponents, values, words);
      }
    }
  }
}
