package io.collectives.testkit;

import io.collectives.ElementType;
import io.collectives.ReduceOp;

/**
 * Inputs that depend on a seed, and what they must become by the ops' own functions of two numbers.
 * Bits are sign-extended.
 */
final class Numbers {
  private Numbers() {}

  /**
   * The bits of the inputs of a rank: full-range integers, and floating-point numbers of many
   * magnitudes, so that the order of a sum shows in its last bits.
   */
  static long[] inputs(ElementType type, ReduceOp.Standard op, long seed, int rank, int count) {
    long[] bits = new long[count];
    for (int i = 0; i < count; i++) {
      long random = mix(mix(seed + 31L * rank) + i);
      bits[i] = type.isInteger() ? cut(type, random) : type.bits(number(op, random));
    }
    return bits;
  }

  /** The lowest bits, as many as an element has. */
  static long cut(ElementType type, long bits) {
    int others = Long.SIZE - 8 * type.bytes();
    return bits << others >> others;
  }

  /** Products of numbers near 1 neither vanish nor overflow. */
  private static double number(ReduceOp.Standard op, long random) {
    double fraction = (random >>> 11) * 0x1p-53;
    double sign = (random & 1) == 0 ? 1 : -1;
    return op == ReduceOp.PRODUCT
        ? sign * (0.5 + fraction)
        : sign * Math.scalb(fraction, (int) (random >> 1 & 15) - 8);
  }

  /** Steele, Lea and Flood's SplitMix64. */
  private static long mix(long value) {
    long z = value + 0x9e3779b97f4a7c15L;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }

  /**
   * Fails unless a result is right: exactly for integers, minima and maxima; otherwise to within
   * the rounding that any order of the operations can cause.
   *
   * @param inputs the bits of all elements of each rank
   */
  static void assertReduced(
      ElementType type, ReduceOp.Standard op, long[][] inputs, long[] results) {
    for (int i = 0; i < results.length; i++) {
      boolean right =
          type.isInteger()
              ? results[i] == integer(type, op, inputs, i)
              : isNear(type, op, inputs, i, type.value(results[i]));
      if (!right) {
        StringBuilder text =
            new StringBuilder(
                "element " + i + " is " + text(type, results[i]) + " instead of the " + op + " of");
        for (long[] rank : inputs) {
          text.append(' ').append(text(type, rank[i]));
        }
        throw new AssertionError(text);
      }
    }
  }

  /** The bits as a number for people. */
  static String text(ElementType type, long bits) {
    return type.isInteger()
        ? Long.toString(integer(type, bits))
        : type.value(bits)
            + " ("
            + Long.toHexString(bits & -1L >>> Long.SIZE - 8 * type.bytes())
            + ")";
  }

  /** The distance from 1 to the next number. */
  static double epsilon(ElementType type) {
    return type.value(type.bits(1) + 1) - 1;
  }

  /** The greatest number. */
  static double most(ElementType type) {
    return type.value(type.bits(Double.POSITIVE_INFINITY) - 1);
  }

  private static long integer(ElementType type, long bits) {
    return type.bytes() == Long.BYTES ? bits : (long) type.value(bits);
  }

  private static long integer(ElementType type, ReduceOp.Standard op, long[][] inputs, int i) {
    long result = integer(type, inputs[0][i]);
    for (int rank = 1; rank < inputs.length; rank++) {
      result = op.longs().applyAsLong(result, integer(type, inputs[rank][i]));
    }
    int divisor = op == ReduceOp.AVERAGE ? inputs.length : 1;
    return cut(type, integer(type, cut(type, result)) / divisor);
  }

  private static boolean isNear(
      ElementType type, ReduceOp.Standard op, long[][] inputs, int i, double result) {
    double exact = type.value(inputs[0][i]);
    double magnitude = Math.abs(exact);
    for (int rank = 1; rank < inputs.length; rank++) {
      double next = type.value(inputs[rank][i]);
      exact = op.doubles().applyAsDouble(exact, next);
      magnitude = op.doubles().applyAsDouble(magnitude, Math.abs(next));
    }
    if (op.selects()) {
      return result == exact;
    }
    double divisor = op == ReduceOp.AVERAGE ? inputs.length : 1;
    // An average may be subnormal in float16, where the last bit is worth as much as the least one.
    return Math.abs(result - exact / divisor)
        <= inputs.length * epsilon(type) * magnitude / divisor + type.value(1);
  }
}
