package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.spi.FrameBytes;
import java.lang.reflect.Array;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;

/**
 * All that differs between element types: how elements lie in arrays and buffers, and how they are
 * reduced. A new type is one more subclass, and a line of {@link ElementTypes}.
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
 */
abstract class Elements {
  static final int BLOCK_BYTES = 6144;

  /** No multiple of 4096, at which places in several blocks would be taken for the same. */
  static final int LONGEST_BLOCK_BYTES = 3 * BLOCK_BYTES;

  static final int SHORT = 256;

  /** The elements that are {@linkplain #mark marked} together. */
  static final int MARKS = 512;

  /** The bytes of each operand that a reduction in several passes goes on with in the L1 cache. */
  private static final int PASS_BYTES = 16384;

  final ElementType type;

  /** The number of elements in a scratch block. */
  final int block;

  /** The most elements that a scratch block has room for. */
  final int longestBlock;

  /** The number of elements that a reduction in several passes goes on with at a time. */
  final int pass;

  /** Scratch blocks of this type, the first of which is also the result. */
  final Scratch.Key<Operands> blocks = new Scratch.Key<>(this::newBlocks);

  /** Room for marks of a check, all zeros between two of them. */
  final Scratch.Key<Object> marks = new Scratch.Key<>(() -> newArray(MARKS));

  private final Class<?> array;
  private final Class<? extends Buffer> buffer;

  /**
   * For a type.
   *
   * @param array the class of its arrays
   * @param buffer the class of its buffers
   */
  Elements(ElementType type, Class<?> array, Class<? extends Buffer> buffer) {
    this.type = type;
    this.array = array;
    this.buffer = buffer;
    this.block = BLOCK_BYTES / type.bytes();
    this.longestBlock = LONGEST_BLOCK_BYTES / type.bytes();
    this.pass = PASS_BYTES / type.bytes();
  }

  private Operands newBlocks() {
    Object[] made = new Object[Loops.MOST];
    Arrays.setAll(made, i -> newArray(longestBlock));
    return Operands.of(made);
  }

  /** Returns scratch blocks for so many operands. */
  final Operands blocks(int size, Scratch scratch) {
    Operands made = scratch.get(blocks);
    made.size = size;
    return made;
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

  final Object newArray(int count) {
    return type.newArray(count);
  }

  /**
   * The number of elements of an array.
   *
   * @throws IllegalArgumentException if it is not an array of this type
   */
  final int arrayLength(Object array) {
    if (this.array.isInstance(array)) {
      return Array.getLength(array);
    }
    throw unfit(array);
  }

  /** A view of bytes in their order; index 0 is byte 0. */
  final Buffer view(ByteBuffer bytes) {
    return type.view(bytes);
  }

  /** The view of a frame, which is little-endian; made once for each frame. */
  abstract Buffer view(FrameBytes frame);

  /**
   * Returns a buffer, if it is a view of this type.
   *
   * @throws IllegalArgumentException if it is not a view of this type
   */
  final Buffer checkView(Buffer view) {
    if (buffer.isInstance(view)) {
      return view;
    }
    throw unfit(view);
  }

  /** Copies elements of a buffer to an array. */
  abstract void get(Buffer source, int from, Object array, int offset, int count);

  /** Copies elements of an array to a buffer. */
  abstract void put(Buffer target, int at, Object array, int offset, int count);

  /** Copies elements of a buffer to a buffer. */
  abstract void copy(Buffer target, int at, Buffer source, int from, int count);

  /**
   * Copies runs of elements, one by one, between arrays and buffers.
   *
   * @param to where the first run goes in the target
   * @param from where the first run lies in the source
   * @param run the length of each
   */
  abstract void copyRuns(
      Object target, int to, Object source, int from, Strides strides, int run, int runs);

  /**
   * {@code results[k][i] = (own[0][i] op own[1][i] op ...) / divisor} for i from {@code from} to
   * {@code to} and all k. AVERAGE adds; integers round toward zero when they are divided.
   *
   * @param divisor 1 if nothing is to be divided, as by ops of users
   * @param scratch for types whose arithmetic is that of another
   */
  abstract void reduce(
      ReduceOp op, int divisor, Operands operands, int from, int to, Scratch scratch);

  /** Returns whether an element can be infinite or not a number. */
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

  final IllegalArgumentException unfit(Object memory) {
    return new IllegalArgumentException(
        Objects.requireNonNull(memory).getClass().getTypeName()
            + " as memory of "
            + type
            + " elements");
  }
}
