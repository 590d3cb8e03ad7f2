package io.collectives;

import java.util.Objects;
import java.util.function.DoubleBinaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A user-defined reduction operation: a function that combines two elements, given for each Java
 * type that the op is used with.
 *
 * <pre>{@code
 * ReduceOp farthest =
 *     UserOp.commutative("farthest")
 *         .withFloats((a, b) -> Math.abs(a) >= Math.abs(b) ? a : b);
 * world.allReduce(gradients, farthest);
 * }</pre>
 *
 * <p>The op must be <b>associative</b>, at least to within the rounding error that the user
 * accepts, because partial results are combined; and either commutative, so that any algorithm can
 * run it, or {@link #inRankOrder}: then the results are {@code ((x0 op x1) op x2) …} in the order
 * of ranks, by the algorithms that {@link Repeatability} names. Each element is reduced by itself:
 * values that belong together, such as the two coefficients of an affine map, must be packed into
 * one element.
 *
 * <p><b>Types.</b> {@code floats} serve {@link ElementType#FLOAT32}, and {@link
 * ElementType#BFLOAT16} and {@link ElementType#FLOAT16}, whose elements are passed as {@code float}
 * and rounded afterwards. Integers of less than 32 bits, such as {@link ElementType#INT8}, have no
 * user-defined ops. A call with a type for which the op has no function is an {@link
 * IllegalArgumentException} before anything is sent.
 *
 * <p><b>Kernels.</b> A function of two numbers is called for each element. A function of arrays is
 * called for ranges, and is as fast as the standard ops if its loop is as plain as theirs: all
 * arrays at the same index, no branches. It gets the arrays of a call or blocks of the library;
 * {@code result} may be {@code left}, and it must write nothing outside the range.
 *
 * <p><b>Threads.</b> Ranks in one process, and several calls under way, may run an op at the same
 * time, on the calling threads or one of the library: it must have no state, must not wait, and
 * must not call the library. An exception that it throws aborts the call on every rank ({@link
 * AbortedException}).
 *
 * <p><b>Same op everywhere.</b> All ranks of a call must use an op of the same name; a difference
 * is a {@link MismatchException}. The program must make sure that the same name means the same op.
 *
 * <p>Instances are immutable.
 */
public final class UserOp implements ReduceOp {
  /** The largest length of a name. */
  public static final int NAME_LENGTH = 8;

  private static final Pattern ALLOWED = Pattern.compile("[a-z0-9 _=.-]{1," + NAME_LENGTH + "}");

  private final String name;
  private final boolean commutative;
  private final @Nullable FloatKernel floats;
  private final @Nullable DoubleKernel doubles;
  private final @Nullable IntKernel ints;
  private final @Nullable LongKernel longs;

  private UserOp(
      String name,
      boolean commutative,
      @Nullable FloatKernel floats,
      @Nullable DoubleKernel doubles,
      @Nullable IntKernel ints,
      @Nullable LongKernel longs) {
    this.name = name;
    this.commutative = commutative;
    this.floats = floats;
    this.doubles = doubles;
    this.ints = ints;
    this.longs = longs;
  }

  /** A function that combines two numbers. */
  @FunctionalInterface
  public interface FloatBinaryOperator {
    /**
     * Returns the combination of two numbers. The left one comes from lower ranks if the op is in
     * rank order.
     */
    float applyAsFloat(float left, float right);
  }

  /** A function that computes {@code result[i] = left[i] op right[i]} for a range of arrays. */
  @FunctionalInterface
  public interface FloatKernel {
    /**
     * Writes {@code result}, which may be {@code left}, from {@code from} to {@code to}, exclusive.
     */
    void combine(float[] result, float[] left, float[] right, int from, int to);
  }

  /** A function that computes {@code result[i] = left[i] op right[i]} for a range of arrays. */
  @FunctionalInterface
  public interface DoubleKernel {
    /**
     * Writes {@code result}, which may be {@code left}, from {@code from} to {@code to}, exclusive.
     */
    void combine(double[] result, double[] left, double[] right, int from, int to);
  }

  /** A function that computes {@code result[i] = left[i] op right[i]} for a range of arrays. */
  @FunctionalInterface
  public interface IntKernel {
    /**
     * Writes {@code result}, which may be {@code left}, from {@code from} to {@code to}, exclusive.
     */
    void combine(int[] result, int[] left, int[] right, int from, int to);
  }

  /** A function that computes {@code result[i] = left[i] op right[i]} for a range of arrays. */
  @FunctionalInterface
  public interface LongKernel {
    /**
     * Writes {@code result}, which may be {@code left}, from {@code from} to {@code to}, exclusive.
     */
    void combine(long[] result, long[] left, long[] right, int from, int to);
  }

  /**
   * Makes an associative and commutative op, which supports no type yet.
   *
   * @param name 1 to {@value #NAME_LENGTH} lower-case letters, digits, spaces and {@code -_=.}; not
   *     the name of a {@link ReduceOp.Standard} op
   */
  public static UserOp commutative(String name) {
    return named(name, true);
  }

  /**
   * Makes an associative op whose operands may not change places, which supports no type yet.
   *
   * @param name the name, as in {@link #commutative}
   */
  public static UserOp inRankOrder(String name) {
    return named(name, false);
  }

  private static UserOp named(String name, boolean commutative) {
    if (!ALLOWED.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "op name \""
              + name
              + "\": allowed are 1 to "
              + NAME_LENGTH
              + " lower-case letters, digits, spaces and -_=.");
    }
    for (Standard standard : Standard.values()) {
      if (standard.toString().equals(name)) {
        throw new IllegalArgumentException(
            "op name \"" + name + "\": a standard op has it; use another");
      }
    }
    return new UserOp(name, commutative, null, null, null, null);
  }

  /** Returns this op with a function for float32, bfloat16 and float16. */
  public UserOp withFloats(FloatBinaryOperator op) {
    Objects.requireNonNull(op, "op");
    return withFloats(
        (result, left, right, from, to) -> {
          for (int i = from; i < to; i++) {
            result[i] = op.applyAsFloat(left[i], right[i]);
          }
        });
  }

  /** Returns this op with a function for float32, bfloat16 and float16. */
  public UserOp withFloats(FloatKernel kernel) {
    return new UserOp(
        name, commutative, Objects.requireNonNull(kernel, "kernel"), doubles, ints, longs);
  }

  /** Returns this op with a function for float64. */
  public UserOp withDoubles(DoubleBinaryOperator op) {
    Objects.requireNonNull(op, "op");
    return withDoubles(
        (result, left, right, from, to) -> {
          for (int i = from; i < to; i++) {
            result[i] = op.applyAsDouble(left[i], right[i]);
          }
        });
  }

  /** Returns this op with a function for float64. */
  public UserOp withDoubles(DoubleKernel kernel) {
    return new UserOp(
        name, commutative, floats, Objects.requireNonNull(kernel, "kernel"), ints, longs);
  }

  /** Returns this op with a function for int32. */
  public UserOp withInts(IntBinaryOperator op) {
    Objects.requireNonNull(op, "op");
    return withInts(
        (result, left, right, from, to) -> {
          for (int i = from; i < to; i++) {
            result[i] = op.applyAsInt(left[i], right[i]);
          }
        });
  }

  /** Returns this op with a function for int32. */
  public UserOp withInts(IntKernel kernel) {
    return new UserOp(
        name, commutative, floats, doubles, Objects.requireNonNull(kernel, "kernel"), longs);
  }

  /** Returns this op with a function for int64. */
  public UserOp withLongs(LongBinaryOperator op) {
    Objects.requireNonNull(op, "op");
    return withLongs(
        (result, left, right, from, to) -> {
          for (int i = from; i < to; i++) {
            result[i] = op.applyAsLong(left[i], right[i]);
          }
        });
  }

  /** Returns this op with a function for int64. */
  public UserOp withLongs(LongKernel kernel) {
    return new UserOp(
        name, commutative, floats, doubles, ints, Objects.requireNonNull(kernel, "kernel"));
  }

  /** Returns whether operands may change places, so that every algorithm can run the op. */
  public boolean isCommutative() {
    return commutative;
  }

  /** Returns whether the op has a function for elements of a type. */
  public boolean supports(ElementType type) {
    return switch (type.arithmetic()) {
      case FLOAT -> floats != null;
      case DOUBLE -> doubles != null;
      case INT -> ints != null && type.bytes() == Integer.BYTES;
      case LONG -> longs != null;
    };
  }

  /**
   * Computes {@code result[i] = left[i] op right[i]} for i from {@code from} to {@code to},
   * exclusive.
   *
   * @throws IllegalStateException if the op has no function for floats
   */
  public void combine(float[] result, float[] left, float[] right, int from, int to) {
    given(floats, ElementType.FLOAT32).combine(result, left, right, from, to);
  }

  /**
   * Computes as {@link #combine(float[], float[], float[], int, int)} does.
   *
   * @throws IllegalStateException if the op has no function for doubles
   */
  public void combine(double[] result, double[] left, double[] right, int from, int to) {
    given(doubles, ElementType.FLOAT64).combine(result, left, right, from, to);
  }

  /**
   * Computes as {@link #combine(float[], float[], float[], int, int)} does.
   *
   * @throws IllegalStateException if the op has no function for ints
   */
  public void combine(int[] result, int[] left, int[] right, int from, int to) {
    given(ints, ElementType.INT32).combine(result, left, right, from, to);
  }

  /**
   * Computes as {@link #combine(float[], float[], float[], int, int)} does.
   *
   * @throws IllegalStateException if the op has no function for longs
   */
  public void combine(long[] result, long[] left, long[] right, int from, int to) {
    given(longs, ElementType.INT64).combine(result, left, right, from, to);
  }

  private <K> K given(@Nullable K kernel, ElementType type) {
    if (kernel == null) {
      throw new IllegalStateException("the op \"" + name + "\" is not for " + type);
    }
    return kernel;
  }

  /** Returns the name. */
  @Override
  public String toString() {
    return name;
  }
}
