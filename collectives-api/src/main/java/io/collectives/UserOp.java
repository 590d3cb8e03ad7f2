package io.collectives;

import java.util.Objects;
import java.util.function.DoubleBinaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A reduction of the user's own: what becomes of two elements, said for each Java type that it is
 * used with.
 *
 * <pre>{@code
 * ReduceOp farthest =
 *     UserOp.commutative("farthest")
 *         .withFloats((a, b) -> Math.abs(a) >= Math.abs(b) ? a : b);
 * world.allReduce(gradients, farthest);
 * }</pre>
 *
 * <p>The op must be <b>associative</b>, at least to within the rounding that the user accepts,
 * because libraries reduce parts first; and either commutative, so that any algorithm can run it,
 * or {@link #inRankOrder}: then the results are {@code ((x0 op x1) op x2) …} in the order of ranks,
 * by the algorithms that {@link Repeatability} names. Elements are reduced each by itself: what
 * belongs together, as the two coefficients of an affine map, must be packed into one element.
 *
 * <p><b>Types.</b> {@code floats} serve {@link ElementType#FLOAT32}, and {@link
 * ElementType#BFLOAT16} and {@link ElementType#FLOAT16}, whose elements come as {@code float} and
 * are rounded afterwards. There is no op of one's own for {@link ElementType#INT8} and {@link
 * ElementType#UINT8}. A call with a type for which nothing was said is an {@link
 * IllegalArgumentException} before anything is sent.
 *
 * <p><b>Kernels.</b> A lambda of two numbers is called for each element. One of arrays is called
 * for ranges, and is as fast as the standard ops if its loop is as plain as theirs: all arrays at
 * the same index, no branches. It may be handed the arrays of a call or blocks of the library's;
 * {@code result} may be {@code left}, and it must touch nothing but the range.
 *
 * <p><b>Threads.</b> Ranks in one process, and several calls under way, may run an op at the same
 * time, on the calling threads or one of the library: it must have no state, must not wait, and
 * must not call the library. What it throws aborts the call on every rank ({@link
 * AbortedException}).
 *
 * <p><b>Same op everywhere.</b> All ranks of a call must use an op of the same name; a difference
 * is a {@link MismatchException}. That the same name means the same is up to the user.
 *
 * <p>Immutable.
 */
public final class UserOp implements ReduceOp {
  /** How long a name can be. */
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

  /** Two numbers become one. */
  @FunctionalInterface
  public interface FloatBinaryOperator {
    /** The left one comes from lower ranks, if the op is in rank order. */
    float applyAsFloat(float left, float right);
  }

  /** {@code result[i] = left[i] op right[i]} for i from {@code from} to {@code to}, exclusive. */
  @FunctionalInterface
  public interface FloatKernel {
    /** Writes {@code result}, which may be {@code left}, in the range only. */
    void combine(float[] result, float[] left, float[] right, int from, int to);
  }

  /** {@code result[i] = left[i] op right[i]} for i from {@code from} to {@code to}, exclusive. */
  @FunctionalInterface
  public interface DoubleKernel {
    /** Writes {@code result}, which may be {@code left}, in the range only. */
    void combine(double[] result, double[] left, double[] right, int from, int to);
  }

  /** {@code result[i] = left[i] op right[i]} for i from {@code from} to {@code to}, exclusive. */
  @FunctionalInterface
  public interface IntKernel {
    /** Writes {@code result}, which may be {@code left}, in the range only. */
    void combine(int[] result, int[] left, int[] right, int from, int to);
  }

  /** {@code result[i] = left[i] op right[i]} for i from {@code from} to {@code to}, exclusive. */
  @FunctionalInterface
  public interface LongKernel {
    /** Writes {@code result}, which may be {@code left}, in the range only. */
    void combine(long[] result, long[] left, long[] right, int from, int to);
  }

  /**
   * An associative and commutative op, for no type yet.
   *
   * @param name lower-case letters, digits, spaces and {@code -_=.}, 1 to {@value #NAME_LENGTH} of
   *     them; not that of a {@link ReduceOp.Standard} op
   */
  public static UserOp commutative(String name) {
    return named(name, true);
  }

  /**
   * An associative op whose operands may not change places, for no type yet.
   *
   * @param name as in {@link #commutative}
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

  /** The same op for float32, bfloat16 and float16, too. */
  public UserOp withFloats(FloatBinaryOperator op) {
    Objects.requireNonNull(op, "op");
    return withFloats(
        (result, left, right, from, to) -> {
          for (int i = from; i < to; i++) {
            result[i] = op.applyAsFloat(left[i], right[i]);
          }
        });
  }

  /** The same op for float32, bfloat16 and float16, too. */
  public UserOp withFloats(FloatKernel kernel) {
    return new UserOp(
        name, commutative, Objects.requireNonNull(kernel, "kernel"), doubles, ints, longs);
  }

  /** The same op for float64, too. */
  public UserOp withDoubles(DoubleBinaryOperator op) {
    Objects.requireNonNull(op, "op");
    return withDoubles(
        (result, left, right, from, to) -> {
          for (int i = from; i < to; i++) {
            result[i] = op.applyAsDouble(left[i], right[i]);
          }
        });
  }

  /** The same op for float64, too. */
  public UserOp withDoubles(DoubleKernel kernel) {
    return new UserOp(
        name, commutative, floats, Objects.requireNonNull(kernel, "kernel"), ints, longs);
  }

  /** The same op for int32, too. */
  public UserOp withInts(IntBinaryOperator op) {
    Objects.requireNonNull(op, "op");
    return withInts(
        (result, left, right, from, to) -> {
          for (int i = from; i < to; i++) {
            result[i] = op.applyAsInt(left[i], right[i]);
          }
        });
  }

  /** The same op for int32, too. */
  public UserOp withInts(IntKernel kernel) {
    return new UserOp(
        name, commutative, floats, doubles, Objects.requireNonNull(kernel, "kernel"), longs);
  }

  /** The same op for int64, too. */
  public UserOp withLongs(LongBinaryOperator op) {
    Objects.requireNonNull(op, "op");
    return withLongs(
        (result, left, right, from, to) -> {
          for (int i = from; i < to; i++) {
            result[i] = op.applyAsLong(left[i], right[i]);
          }
        });
  }

  /** The same op for int64, too. */
  public UserOp withLongs(LongKernel kernel) {
    return new UserOp(
        name, commutative, floats, doubles, ints, Objects.requireNonNull(kernel, "kernel"));
  }

  /** Whether operands may change places, so that every algorithm can run it. */
  public boolean isCommutative() {
    return commutative;
  }

  /** Whether it was said what becomes of elements of a type. */
  public boolean supports(ElementType type) {
    return switch (type) {
      case FLOAT32, BFLOAT16, FLOAT16 -> floats != null;
      case FLOAT64 -> doubles != null;
      case INT32 -> ints != null;
      case INT64 -> longs != null;
      case INT8, UINT8 -> false;
    };
  }

  /**
   * {@code result[i] = left[i] op right[i]} for i from {@code from} to {@code to}, exclusive.
   *
   * @throws IllegalStateException if the op is for no floats
   */
  public void combine(float[] result, float[] left, float[] right, int from, int to) {
    given(floats, ElementType.FLOAT32).combine(result, left, right, from, to);
  }

  /**
   * As {@link #combine(float[], float[], float[], int, int)}.
   *
   * @throws IllegalStateException if the op is for no doubles
   */
  public void combine(double[] result, double[] left, double[] right, int from, int to) {
    given(doubles, ElementType.FLOAT64).combine(result, left, right, from, to);
  }

  /**
   * As {@link #combine(float[], float[], float[], int, int)}.
   *
   * @throws IllegalStateException if the op is for no ints
   */
  public void combine(int[] result, int[] left, int[] right, int from, int to) {
    given(ints, ElementType.INT32).combine(result, left, right, from, to);
  }

  /**
   * As {@link #combine(float[], float[], float[], int, int)}.
   *
   * @throws IllegalStateException if the op is for no longs
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

  /** Its name. */
  @Override
  public String toString() {
    return name;
  }
}
