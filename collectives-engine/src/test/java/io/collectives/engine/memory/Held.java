package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.lang.reflect.Array;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

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

  static Held of(Kind kind, ElementType type, Number[] values, Random random) {
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
    Payload payload =
        switch (type) {
          case FLOAT32 -> Payload.of((float[]) array, margin, values.length);
          case FLOAT64 -> Payload.of((double[]) array, margin, values.length);
          case INT32 -> Payload.of((int[]) array, margin, values.length);
          case INT64 -> Payload.of((long[]) array, margin, values.length);
          case BFLOAT16, FLOAT16 -> Payload.of((short[]) array, margin, values.length, type);
          case INT8, UINT8 -> Payload.of((byte[]) array, margin, values.length, type);
        };
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
    return value instanceof Number8 number ? number.bits : value;
  }

  private static Number unboxed(ElementType type, Number value) {
    return switch (type) {
      case BFLOAT16, FLOAT16 -> new Number16(type, value.shortValue());
      case INT8, UINT8 -> new Number8(type, value.byteValue());
      default -> value;
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
    Payload payload =
        !typed
            ? Payload.of(middle, type)
            : switch (type) {
              case FLOAT32 -> Payload.of(middle.asFloatBuffer());
              case FLOAT64 -> Payload.of(middle.asDoubleBuffer());
              case INT32 -> Payload.of(middle.asIntBuffer());
              case INT64 -> Payload.of(middle.asLongBuffer());
              case BFLOAT16, FLOAT16 -> Payload.of(middle.asShortBuffer(), type);
              case INT8, UINT8 -> Payload.of(middle, type);
            };
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
  private static Held parts(ElementType type, Number[] values, Random random) {
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
  private static Held strided(ElementType type, Number[] values, Random random) {
    int run = new int[] {1, 3, 20, Elements.SHORT + 1}[random.nextInt(4)];
    int stride = run + 1 + random.nextInt(5);
    int runs = values.length / run;
    Number[] spread = new Number[runs * stride];
    java.util.Arrays.fill(spread, zero(type));
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

  private static Number zero(ElementType type) {
    return switch (type) {
      case FLOAT32 -> (Number) 0f;
      case FLOAT64 -> (Number) 0d;
      case INT32 -> (Number) 0;
      case INT64 -> (Number) 0L;
      case BFLOAT16, FLOAT16 -> Number16.nearest(type, 0);
      case INT8, UINT8 -> new Number8(type, 0);
    };
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
    return switch (type) {
      case FLOAT32 -> (Number) buffer.getFloat(at);
      case FLOAT64 -> (Number) buffer.getDouble(at);
      case INT32 -> (Number) buffer.getInt(at);
      case INT64 -> (Number) buffer.getLong(at);
      case BFLOAT16, FLOAT16 -> (Number) new Number16(type, buffer.getShort(at));
      case INT8, UINT8 -> (Number) new Number8(type, buffer.get(at));
    };
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
    } else if (value instanceof Number8 number) {
      buffer.put(at, number.bits);
    } else {
      buffer.putLong(at, value.longValue());
    }
  }

  /** Random elements, one in four of which is a number at some edge. */
  static Number[] random(ElementType type, int count, Random random) {
    Number[] values = new Number[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextInt(4) == 0 ? edge(type, random.nextInt(9)) : inner(type, random);
    }
    return values;
  }

  private static Number inner(ElementType type, Random random) {
    return switch (type) {
      case FLOAT32 -> (Number) (random.nextFloat() - 0.5f);
      case FLOAT64 -> (Number) (random.nextDouble() - 0.5);
      case INT32 -> (Number) random.nextInt();
      case INT64 -> (Number) random.nextLong();
      case BFLOAT16, FLOAT16 -> Number16.nearest(type, random.nextFloat() - 0.5f);
      case INT8, UINT8 -> new Number8(type, random.nextInt());
    };
  }

  private static Number edge(ElementType type, int which) {
    double[] edges = {
      Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 0.0, -0.0, 1, -1
    };
    long[] integers = {0, 1, -1, 2, -2, 7, -7};
    return switch (type) {
      case FLOAT32 ->
          (Number)
              (which < 7 ? (float) edges[which] : which == 7 ? Float.MAX_VALUE : Float.MIN_VALUE);
      case FLOAT64 ->
          (Number) (which < 7 ? edges[which] : which == 7 ? Double.MAX_VALUE : Double.MIN_VALUE);
      case INT32 ->
          (Number)
              (which < 7
                  ? (int) integers[which]
                  : which == 7 ? Integer.MAX_VALUE : Integer.MIN_VALUE);
      case INT64 ->
          (Number) (which < 7 ? integers[which] : which == 7 ? Long.MAX_VALUE : Long.MIN_VALUE);
      case BFLOAT16, FLOAT16 ->
          which < 7
              ? Number16.nearest(type, edges[which])
              : new Number16(
                  type, (short) (which == 8 ? 1 : type == ElementType.FLOAT16 ? 0x7bff : 0x7f7f));
      case INT8, UINT8 ->
          new Number8(type, which < 7 ? (int) integers[which] : which == 7 ? 0x7f : 0x80);
    };
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
    if (like instanceof Number8 number) {
      return new Number8(number.type, value.intValue());
    }
    return like instanceof Integer ? (Number) value.intValue() : (Number) value.longValue();
  }
}
