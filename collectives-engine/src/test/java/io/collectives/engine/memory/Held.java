package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.lang.reflect.Array;
import java.math.BigInteger;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * A memory of some kind together with a way to look at its elements that uses nothing of the
 * memory's own. Elements are boxed: {@code equals} of {@link Float} and {@link Double} tells -0.0
 * from 0.0 and takes every NaN for equal.
 */
record Held(Payload payload, Memory memory, Supplier<Number[]> look) {
  enum Kind {
    ARRAY,
    ARRAY_AT_OFFSET,
    BYTE_BUFFER,
    TYPED_VIEW,
    PARTS,
    STRIDED
  }

  private static final int MARGIN = 3;

  /** Returns whether runs meet nothing but runs and arrays; all else meets all else. */
  static boolean isWorthwhile(Kind... kinds) {
    List<Kind> all = List.of(kinds);
    return !all.contains(Kind.STRIDED)
        || all.stream().allMatch(kind -> kind == Kind.STRIDED || kind == Kind.ARRAY);
  }

  Number[] elements() {
    return look.get();
  }

  static Held of(Kind kind, ElementType type, Number[] values, RandomGenerator random) {
    return switch (kind) {
      case ARRAY -> array(type, values, 0);
      case ARRAY_AT_OFFSET -> array(type, values, MARGIN);
      case BYTE_BUFFER -> buffer(type, values, false);
      case TYPED_VIEW -> buffer(type, values, true);
      case PARTS -> parts(type, values, random);
      case STRIDED -> strided(type, values, random);
    };
  }

  private static Held array(ElementType type, Number[] values, int margin) {
    Object array = ElementTypes.of(type).newArray(values.length + 2 * margin);
    for (int i = 0; i < values.length; i++) {
      Array.set(array, margin + i, boxed(values[i]));
    }
    Payload payload = new Payload.OfArray(type, array, margin, values.length);
    return new Held(
        payload,
        Memories.of(payload),
        () -> {
          Number[] all = new Number[Array.getLength(array)];
          for (int i = 0; i < all.length; i++) {
            all[i] = unboxed(type, (Number) Array.get(array, i));
          }
          return withoutMargins(all, margin);
        });
  }

  /** Returns a value as an array of the element type holds it. */
  private static Object boxed(Number value) {
    if (value instanceof Number16 number) {
      return number.bits;
    }
    if (value instanceof NarrowInteger number) {
      return number.type.bytes() == 1 ? (Object) (byte) number.bits : (Object) number.bits;
    }
    return value;
  }

  private static Number unboxed(ElementType type, Number value) {
    return type.bytes() < Integer.BYTES ? number(type, value.longValue()) : value;
  }

  /** The number that some bits are. */
  private static Number number(ElementType type, long bits) {
    return switch (type) {
      case FLOAT32 -> (Number) Float.intBitsToFloat((int) bits);
      case FLOAT64 -> (Number) Double.longBitsToDouble(bits);
      case INT32 -> (Number) (int) bits;
      case INT64 -> (Number) bits;
      case BFLOAT16, FLOAT16 -> new Number16(type, (short) bits);
      default -> new NarrowInteger(type, (int) bits);
    };
  }

  /** The number of a floating-point type that is nearest to a value. */
  static Number nearest(ElementType type, double value) {
    return switch (type) {
      case FLOAT32 -> (Number) (float) value;
      case FLOAT64 -> value;
      default -> Number16.nearest(type, value);
    };
  }

  private static Held buffer(ElementType type, Number[] values, boolean typed) {
    int bytes = type.bytes();
    ByteBuffer buffer =
        ByteBuffer.allocateDirect((values.length + 2 * MARGIN) * bytes)
            .order(ByteOrder.nativeOrder());
    for (int i = 0; i < values.length; i++) {
      write(buffer, (MARGIN + i) * bytes, values[i]);
    }
    ByteBuffer middle =
        buffer
            .duplicate()
            .position(MARGIN * bytes)
            .limit((MARGIN + values.length) * bytes)
            .order(ByteOrder.nativeOrder());
    Buffer view = type.view(middle);
    Payload payload = typed ? new Payload.OfBuffer(type, view, view, 0) : Payload.of(middle, type);
    return new Held(
        payload,
        Memories.of(payload),
        () -> {
          Number[] all = new Number[values.length + 2 * MARGIN];
          for (int i = 0; i < all.length; i++) {
            all[i] = read(buffer, i * bytes, type);
          }
          return withoutMargins(all, MARGIN);
        });
  }

  /** Odd boundaries, all kinds of parts, some of them empty, also at both ends. */
  private static Held parts(ElementType type, Number[] values, RandomGenerator random) {
    Kind[] flat = {Kind.ARRAY, Kind.ARRAY_AT_OFFSET, Kind.BYTE_BUFFER, Kind.TYPED_VIEW};
    List<Held> parts = new ArrayList<>();
    parts.add(of(Kind.ARRAY, type, new Number[0], random));
    for (int from = 0; from < values.length; ) {
      int most = values.length - from;
      int count =
          switch (random.nextInt(3)) {
            case 0 -> 0;
            case 1 -> Math.min(most, 1 + random.nextInt(7));
            default -> 1 + random.nextInt(most);
          };
      Number[] piece = java.util.Arrays.copyOfRange(values, from, from + count);
      parts.add(of(flat[random.nextInt(flat.length)], type, piece, random));
      from += count;
    }
    parts.add(of(Kind.BYTE_BUFFER, type, new Number[0], random));
    Payload payload = Payload.of(parts.stream().map(Held::payload).toList());
    return new Held(
        payload,
        Memories.of(payload),
        () ->
            parts.stream()
                .flatMap(part -> java.util.Arrays.stream(part.elements()))
                .toArray(Number[]::new));
  }

  /** Runs of one element, of a few, of many and of so many that each is a part; then a rest. */
  private static Held strided(ElementType type, Number[] values, RandomGenerator random) {
    int run = new int[] {1, 3, 20, Elements.SHORT + 1}[random.nextInt(4)];
    int stride = run + 1 + random.nextInt(5);
    int runs = values.length / run;
    Number[] spread = new Number[runs * stride];
    java.util.Arrays.fill(spread, number(type, 0));
    for (int i = 0; i < runs * run; i++) {
      spread[i / run * stride + i % run] = values[i];
    }
    Kind[] flat = {Kind.ARRAY, Kind.ARRAY_AT_OFFSET, Kind.BYTE_BUFFER, Kind.TYPED_VIEW};
    Held base = of(flat[random.nextInt(flat.length)], type, spread, random);
    Number[] rest = java.util.Arrays.copyOfRange(values, runs * run, values.length);
    Held end = of(flat[random.nextInt(flat.length)], type, rest, random);
    Payload payload = Payload.strided(base.payload, 0, runs, run, stride);
    if (rest.length > 0) {
      payload = Payload.of(List.of(payload, end.payload));
    }
    return new Held(
        payload,
        Memories.of(payload),
        () -> {
          Number[] all = base.elements();
          List<Number> found = new ArrayList<>();
          for (int i = 0; i < all.length; i++) {
            if (i % stride < run) {
              found.add(all[i]);
            } else if (all[i].doubleValue() != 0) {
              throw new AssertionError("written between runs of " + run);
            }
          }
          found.addAll(List.of(end.elements()));
          return found.toArray(Number[]::new);
        });
  }

  private static Number[] withoutMargins(Number[] all, int margin) {
    for (int i = 0; i < margin; i++) {
      if (all[i].doubleValue() != 0 || all[all.length - 1 - i].doubleValue() != 0) {
        throw new AssertionError("written outside of the memory");
      }
    }
    return java.util.Arrays.copyOfRange(all, margin, all.length - margin);
  }

  static Number read(ByteBuffer buffer, int at, ElementType type) {
    return number(
        type,
        switch (type.bytes()) {
          case 1 -> buffer.get(at);
          case 2 -> buffer.getShort(at);
          case 4 -> buffer.getInt(at);
          default -> buffer.getLong(at);
        });
  }

  static void write(ByteBuffer buffer, int at, Number value) {
    if (value instanceof Float number) {
      buffer.putFloat(at, number);
    } else if (value instanceof Double number) {
      buffer.putDouble(at, number);
    } else if (value instanceof Integer number) {
      buffer.putInt(at, number);
    } else if (value instanceof Number16 number) {
      buffer.putShort(at, number.bits);
    } else if (value instanceof NarrowInteger number) {
      if (number.type.bytes() == 1) {
        buffer.put(at, (byte) number.bits);
      } else {
        buffer.putShort(at, number.bits);
      }
    } else {
      buffer.putLong(at, value.longValue());
    }
  }

  /** Random elements, one in four of which is a number at some edge. */
  static Number[] random(ElementType type, int count, RandomGenerator random) {
    Number[] values = new Number[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextInt(4) == 0 ? edge(type, random.nextInt(9)) : inner(type, random);
    }
    return values;
  }

  /** A random number of no edge. */
  static Number inner(ElementType type, RandomGenerator random) {
    return type.isInteger()
        ? number(type, random.nextLong())
        : nearest(type, random.nextDouble() - 0.5);
  }

  private static Number edge(ElementType type, int which) {
    double[] edges = {
      Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 0.0, -0.0, 1, -1
    };
    long least = -1L << 8 * type.bytes() - 1;
    long[] integers = {0, 1, -1, 2, -2, 7, -7, ~least, least};
    if (type.isInteger()) {
      return number(type, integers[which]);
    }
    long most = type.bits(Double.POSITIVE_INFINITY) - 1;
    return which < 7 ? nearest(type, edges[which]) : number(type, which == 7 ? most : 1);
  }

  /** Applies the operation to two elements. */
  static Number apply(ReduceOp.Standard op, Number a, Number b) {
    boolean leftIsLess = isLess(a, b);
    return switch (op) {
      case MIN -> isNaN(a) ? a : isNaN(b) ? b : leftIsLess ? a : b;
      case MAX -> isNaN(a) ? a : isNaN(b) ? b : leftIsLess ? b : a;
      case SUM, AVERAGE -> {
        if (a instanceof Float number) {
          yield number + (float) b;
        }
        if (a instanceof Double number) {
          yield number + (double) b;
        }
        if (a instanceof Number16 number) {
          yield Number16.nearest(number.type, number.floatValue() + b.floatValue());
        }
        yield wrapped(a, whole(a).add(whole(b)));
      }
      case PRODUCT -> {
        if (a instanceof Float number) {
          yield number * (float) b;
        }
        if (a instanceof Double number) {
          yield number * (double) b;
        }
        if (a instanceof Number16 number) {
          yield Number16.nearest(number.type, number.floatValue() * b.floatValue());
        }
        yield wrapped(a, whole(a).multiply(whole(b)));
      }
    };
  }

  static Number divided(Number a, int divisor) {
    if (a instanceof Float number) {
      return number / divisor;
    }
    if (a instanceof Double number) {
      return number / divisor;
    }
    if (a instanceof Number16 number) {
      return Number16.nearest(number.type, number.floatValue() / divisor);
    }
    return wrapped(a, whole(a).divide(BigInteger.valueOf(divisor)));
  }

  private static boolean isNaN(Number a) {
    return Double.isNaN(a.doubleValue());
  }

  /** Compares as {@link Double#compare} does: -0.0 is less than 0.0. */
  private static boolean isLess(Number a, Number b) {
    return a instanceof Float || a instanceof Double || a instanceof Number16
        ? Double.compare(a.doubleValue(), b.doubleValue()) < 0
        : a.longValue() < b.longValue();
  }

  private static BigInteger whole(Number a) {
    return BigInteger.valueOf(a.longValue());
  }

  private static Number wrapped(Number like, BigInteger value) {
    if (like instanceof NarrowInteger number) {
      return new NarrowInteger(number.type, value.intValue());
    }
    return like instanceof Integer ? (Number) value.intValue() : (Number) value.longValue();
  }
}
