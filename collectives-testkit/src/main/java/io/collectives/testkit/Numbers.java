package io.collectives.testkit;

import io.collectives.Bfloat16;
import io.collectives.ElementType;
import io.collectives.Float16;
import io.collectives.ReduceOp;

/**
 * Inputs that depend on a seed, and what they must become, in arithmetic that does not depend on
 * any library.
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
      bits[i] =
          switch (type) {
            case INT32 -> (int) random;
            case INT64 -> random;
            case INT8 -> (byte) random;
            case UINT8 -> random & 0xff;
            default -> bits(type, number(op, random));
          };
    }
    return bits;
  }

  /** The bits of the number of a floating-point type that is nearest to a value. */
  static long bits(ElementType type, double value) {
    return switch (type) {
      case FLOAT32 -> Float.floatToRawIntBits((float) value);
      case FLOAT64 -> Double.doubleToRawLongBits(value);
      case BFLOAT16 -> Bfloat16.of((float) value);
      case FLOAT16 -> Float16.of((float) value);
      case INT32, INT64, INT8, UINT8 -> throw new IllegalArgumentException(type.toString());
    };
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
              : isNear(type, op, inputs, i, value(type, results[i]));
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
    return switch (type) {
      case INT32, INT64, INT8, UINT8 -> Long.toString(bits);
      case FLOAT32 ->
          Float.toString(Float.intBitsToFloat((int) bits))
              + " ("
              + Integer.toHexString((int) bits)
              + ")";
      case FLOAT64 ->
          Double.toString(Double.longBitsToDouble(bits)) + " (" + Long.toHexString(bits) + ")";
      case BFLOAT16, FLOAT16 ->
          value(type, bits) + " (" + Integer.toHexString((int) bits & 0xffff) + ")";
    };
  }

  /** The value of the bits of a floating-point type. */
  static double value(ElementType type, long bits) {
    return switch (type) {
      case FLOAT32 -> Float.intBitsToFloat((int) bits);
      case FLOAT64 -> Double.longBitsToDouble(bits);
      case BFLOAT16 -> Bfloat16.toFloat((short) bits);
      case FLOAT16 -> Float16.toFloat((short) bits);
      case INT32, INT64, INT8, UINT8 -> throw new IllegalArgumentException(type.toString());
    };
  }

  /** The distance from 1 to the next number. */
  private static double epsilon(ElementType type) {
    return switch (type) {
      case FLOAT32 -> 0x1p-23;
      case FLOAT64 -> 0x1p-52;
      case BFLOAT16 -> 0x1p-7;
      case FLOAT16 -> 0x1p-10;
      case INT32, INT64, INT8, UINT8 -> throw new IllegalArgumentException(type.toString());
    };
  }

  private static long integer(ElementType type, ReduceOp.Standard op, long[][] inputs, int i) {
    long result = inputs[0][i];
    for (int rank = 1; rank < inputs.length; rank++) {
      long next = inputs[rank][i];
      result =
          switch (op) {
            case SUM, AVERAGE -> result + next;
            case PRODUCT -> result * next;
            case MIN -> Math.min(result, next);
            case MAX -> Math.max(result, next);
          };
    }
    result = wrapped(type, result);
    return op == ReduceOp.AVERAGE ? result / inputs.length : result;
  }

  private static long wrapped(ElementType type, long value) {
    return switch (type) {
      case INT32 -> (int) value;
      case INT8 -> (byte) value;
      case UINT8 -> value & 0xff;
      default -> value;
    };
  }

  private static boolean isNear(
      ElementType type, ReduceOp.Standard op, long[][] inputs, int i, double result) {
    double epsilon = epsilon(type);
    double exact = value(type, inputs[0][i]);
    double magnitude = Math.abs(exact);
    for (int rank = 1; rank < inputs.length; rank++) {
      double next = value(type, inputs[rank][i]);
      switch (op) {
        case SUM, AVERAGE -> {
          exact += next;
          magnitude += Math.abs(next);
        }
        case PRODUCT -> {
          exact *= next;
          magnitude *= Math.abs(next);
        }
        case MIN -> exact = Math.min(exact, next);
        case MAX -> exact = Math.max(exact, next);
      }
    }
    if (op == ReduceOp.MIN || op == ReduceOp.MAX) {
      return result == exact;
    }
    double divisor = op == ReduceOp.AVERAGE ? inputs.length : 1;
    // An average may be subnormal in float16, where the last bit is worth 2^-24.
    double least = type == ElementType.FLOAT16 ? 0x1p-24 : 0;
    return Math.abs(result - exact / divisor)
        <= inputs.length * epsilon * magnitude / divisor + least;
  }
}
