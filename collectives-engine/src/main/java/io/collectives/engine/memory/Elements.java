package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * All that differs between element types. A new type is one more subclass.
 *
 * <p>Arrays and buffers come as {@link Object} and {@link Buffer}, of the one Java type that
 * belongs to the element type; the cast at the entry of a method costs nothing beside its loop.
 *
 * <h2>Why equal indexes</h2>
 *
 * The just-in-time compiler C2 (JDK 17 to 25) turns a loop into vector instructions only if every
 * array in it is accessed with <em>the same index expression</em>: {@code a[i] = b[i] + c[i]}. With
 * {@code a[i] += c[i + k]} it cannot rule out that one array overlaps itself, and with elements of
 * a buffer it does not even try; both run four to eight times slower. Hence the shape of every
 * kernel: arrays, one range of indexes for all of them. That {@code a} may be {@code b} does no
 * harm, because element i depends on elements i only.
 *
 * <h2>Why scratch blocks</h2>
 *
 * Where the indexes differ, or memory is not an array, elements travel through a {@link Scratch}: a
 * block of each operand is copied to index 0 of a small array (bulk copies run at the speed of
 * memory), combined there with equal indexes, and copied back:
 *
 * <pre>
 *   own    [..........|XXXX|......]  load   first  [XXXX]
 *   source [....|YYYY|............]  load   second [YYYY]   first[i] = first[i] op second[i]
 *   result [..........|ZZZZ|......]  save   first  [ZZZZ]
 * </pre>
 *
 * A block is {@value #BLOCK_BYTES} bytes: both blocks and what they are copied from and to stay in
 * 32 KiB of L1 cache, so the copies cost a fraction of a scalar loop.
 *
 * <h2>Why short loops of their own</h2>
 *
 * C2 does not unroll a loop beyond the number of turns that it saw while it collected profiles, and
 * does not vectorise what it does not unroll. A program that begins with thousands of one-element
 * calls would therefore be stuck with scalar kernels for its gradients. So ranges below {@value
 * #SHORT} elements go through a method of their own, and the vector loops see long ranges only.
 */
abstract sealed class Elements
    permits Float32Elements, Float64Elements, Int32Elements, Int64Elements, Elements16, Elements8 {
  static final int BLOCK_BYTES = 6144;

  /** No multiple of 4096, at which places in several blocks would be taken for the same. */
  static final int LONGEST_BLOCK_BYTES = 3 * BLOCK_BYTES;

  static final int SHORT = 256;

  /** The elements that are {@linkplain #mark marked} together. */
  static final int MARKS = 512;

  final ElementType type;

  /** The number of elements in a scratch block. */
  final int block;

  /** The most elements that a scratch block has room for. */
  final int longestBlock;

  Elements(ElementType type) {
    this.type = type;
    this.block = BLOCK_BYTES / type.bytes();
    this.longestBlock = LONGEST_BLOCK_BYTES / type.bytes();
  }

  static Elements of(ElementType type) {
    return switch (type) {
      case FLOAT32 -> Float32Elements.INSTANCE;
      case FLOAT64 -> Float64Elements.INSTANCE;
      case INT32 -> Int32Elements.INSTANCE;
      case INT64 -> Int64Elements.INSTANCE;
      case BFLOAT16 -> Elements16.BFLOAT16;
      case FLOAT16 -> Elements16.FLOAT16;
      case INT8 -> Elements8.INT8;
      case UINT8 -> Elements8.UINT8;
    };
  }

  /** The index of the element at a byte of a frame. */
  final int index(int at) {
    int bytes = type.bytes();
    if (at % bytes != 0) {
      throw new IllegalArgumentException(
          "byte " + at + " of a frame: " + type + " elements begin at multiples of " + bytes);
    }
    return at / bytes;
  }

  abstract Object newArray(int count);

  /**
   * The number of elements of an array.
   *
   * @throws IllegalArgumentException if it is not an array of this type
   */
  abstract int arrayLength(Object array);

  /** A view of bytes in their order; index 0 is byte 0. */
  abstract Buffer view(ByteBuffer bytes);

  /** The view of a frame, which is little-endian; made once for each frame. */
  abstract Buffer view(FrameBytes frame);

  /**
   * The same buffer.
   *
   * @throws IllegalArgumentException if it is not a view of this type
   */
  abstract Buffer checkView(Buffer view);

  /** Copies elements of a buffer to an array. */
  abstract void get(Buffer source, int from, Object array, int offset, int count);

  /** Copies elements of an array to a buffer. */
  abstract void put(Buffer target, int at, Object array, int offset, int count);

  /** Copies elements of a buffer to a buffer. */
  abstract void copy(Buffer target, int at, Buffer source, int from, int count);

  /**
   * Copies runs of elements, one by one, between arrays and buffers.
   *
   * @param toStride from one run to the next in the target
   * @param fromStride from one run to the next in the source
   */
  abstract void copyRuns(
      Object target,
      int to,
      int toStride,
      Object source,
      int from,
      int fromStride,
      int run,
      int runs);

  /**
   * {@code result[i] = own[i] op source[i]} for i from {@code from} to {@code to}; {@code result}
   * may be {@code own}. AVERAGE adds.
   *
   * @param scratch for types whose arithmetic is that of another; its blocks of this type are left
   *     alone
   */
  abstract void combine(
      ReduceOp op, Object result, Object own, Object source, int from, int to, Scratch scratch);

  /**
   * {@code result[i] = own[i] op sources[0][i] op sources[1][i] ...} for the first {@code n}
   * sources, in this order; {@code result} may be {@code own}. AVERAGE adds.
   */
  void combine(
      ReduceOp op,
      Object result,
      Object own,
      Object[] sources,
      int n,
      int from,
      int to,
      Scratch scratch) {
    Object left = own;
    for (int i = 0; i < n; i++) {
      combine(op, result, left, sources[i], from, to, scratch);
      left = result;
    }
  }

  /**
   * The same, and the result goes to {@code targets}, too, which may be the sources.
   *
   * @return whether there is a loop for that; if not, nothing was done
   */
  boolean combineToAll(
      ReduceOp op,
      Object result,
      Object own,
      Object[] sources,
      Object[] targets,
      int n,
      int from,
      int to) {
    return false;
  }

  /** Whether an element can be infinite or not a number. */
  boolean canBeNonFinite() {
    return false;
  }

  /**
   * Leaves a mark in {@code marks[i]} if {@code values[i]} is not finite, and else lets it be, for
   * i less than {@code count}. A loop that keeps no sum is one that vectorises.
   */
  void mark(Object values, Object marks, int count) {
    throw new UnsupportedOperationException(type + " elements are finite");
  }

  /**
   * Takes all marks away.
   *
   * @return whether there were any
   */
  boolean takeMarks(Object marks) {
    throw new UnsupportedOperationException(type + " elements are finite");
  }

  /** The index of the first of {@code count} elements that is not finite, -1 if all are. */
  int firstNonFinite(Object values, int count) {
    return -1;
  }

  /** An element as a double. */
  double value(Object values, int index) {
    throw new UnsupportedOperationException(type + " elements are finite");
  }

  /** Divides in place; integers round toward zero. */
  abstract void divide(Object array, int from, int to, int divisor, Scratch scratch);

  final IllegalArgumentException unfit(Object memory) {
    return new IllegalArgumentException(
        Objects.requireNonNull(memory).getClass().getTypeName()
            + " as memory of "
            + type
            + " elements");
  }
}
