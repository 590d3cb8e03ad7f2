package io.collectives.internal;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import java.nio.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * Loops over vectors, which an optional module brings: they reduce memory outside the heap where it
 * lies, and make narrow numbers of floats. Without one, and for what it has no loop for, blocks are
 * copied to arrays, and loops go over elements.
 *
 * <p>An implementation has a constructor without arguments that works on every JVM; {@link
 * #missing} says what a JVM lacks. Any thread may call any method.
 */
public interface MemoryKernels {
  /** The most operands of a kernel, and the most results. */
  int MOST = 4;

  /** Says what this JVM lacks for the kernels to run; nothing if they do. */
  @Nullable String missing();

  /** The means by which kernels calculate, for people. */
  @Override
  String toString();

  /**
   * Returns the form in which kernels take the memory of a direct buffer from 0 to its capacity,
   * for as long as the buffer lives; nothing if they cannot.
   *
   * @param buffer of bytes or elements, in native order
   */
  @Nullable Object memory(Buffer buffer);

  /** Returns a new kernel, whose code is its own; nothing if there is none of this kind. */
  @Nullable Kernel kernel(Kind kind);

  /** Returns the loops for a wire type; nothing if there are none. */
  @Nullable Packing packing(WireType wire);

  /**
   * A kind of reduction.
   *
   * @param size how many operands there are, {@link #MOST} at most
   * @param results how many memories get the result, {@link #MOST} at most
   * @param arrays which memories are arrays of the element's type, operands first, as bits from the
   *     lowest one on; the others are what {@link #memory} returned
   */
  record Kind(
      ElementType type, ReduceOp.Standard op, Ending ending, int size, int results, int arrays) {}

  /** The last step of a sum. */
  enum Ending {
    /** It stays as it is. */
    NONE,
    /** It is divided by a power of two, which multiplications and shifts can do. */
    POWER_OF_TWO,
    /** It is divided. */
    DIVISION;

    /** Returns the step that divides by a number. */
    public static Ending of(int divisor) {
      return divisor == 1 ? NONE : Integer.bitCount(divisor) == 1 ? POWER_OF_TWO : DIVISION;
    }
  }

  /** A loop of one kind. */
  interface Kernel {
    /**
     * Reduces as many of {@code count} elements, from the first one on, as fill whole vectors: each
     * result becomes {@code ((operand op operand) op ...) / divisor}, element by element. A result
     * may be an operand, at the same index.
     *
     * @param memories the operands, then the results
     * @param first the index of the first element in each of them
     * @return how many were reduced
     */
    int reduce(Object[] memories, int[] first, int count, int divisor);
  }

  /** Loops between float32 and the narrow numbers of one wire type, a block of arrays at a time. */
  interface Packing {
    /** The number of ints of a block is a multiple of this. */
    int MULTIPLE = 64;

    /**
     * Packs a block. With numbers of 16 bits int i holds floats {@code i} and {@code i + ints},
     * with {@link WireType#INT8} floats {@code i}, {@code i + ints}, {@code i + 2 ints} and {@code
     * i + 3 ints}, from the lowest bits on.
     *
     * @param from the index of the first float
     * @return the {@link Int8Exponents} of every {@value #MULTIPLE} ints, in the order of bytes,
     *     with {@link WireType#INT8}; otherwise 0
     */
    long pack(float[] values, int from, int[] packed, int ints);

    /**
     * The inverse of {@link #pack}.
     *
     * @param to the index of the first float
     */
    void unpack(long exponents, int[] packed, int ints, float[] values, int to);
  }
}
