package io.collectives.bench.perf;

import io.collectives.Bfloat16;
import io.collectives.CollectiveBuffer;
import io.collectives.ElementType;
import io.collectives.Float16;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A payload of any type in any memory, filled with small integers, so that every result is exact in
 * whichever order it was taken, and checked against it. Values depend on seed, rank and index, so
 * that a chunk at a wrong place is found.
 */
abstract class Elements {
  private final int count;
  private final Payload payload;

  private Elements(int count, Payload payload) {
    this.count = count;
    this.payload = payload;
  }

  /** Of memory that needs no communicator. */
  static Elements allocate(ElementType type, int count, Memory memory) {
    if (memory == Memory.DIRECT) {
      return of(
          type,
          ByteBuffer.allocateDirect(Math.multiplyExact(count, type.bytes()))
              .order(ByteOrder.nativeOrder()),
          null);
    }
    return switch (type) {
      case FLOAT32 -> of(FloatBuffer.allocate(count), null);
      case FLOAT64 -> of(DoubleBuffer.allocate(count), null);
      case INT32 -> of(IntBuffer.allocate(count), null);
      case INT64 -> of(LongBuffer.allocate(count), null);
      case BFLOAT16, FLOAT16 -> of(ShortBuffer.allocate(count), type, null);
      case INT8, UINT8 -> {
        byte[] array = new byte[count];
        yield ofBytes(ByteBuffer.wrap(array), Payload.of(array, 0, count, type));
      }
    };
  }

  /** The first elements of a buffer that a communicator has allocated. */
  static Elements of(CollectiveBuffer buffer, int count) {
    ElementType type = buffer.type();
    return of(
        type,
        buffer.bytes().slice(0, count * type.bytes()).order(ByteOrder.LITTLE_ENDIAN),
        buffer.payload(0, count));
  }

  private static Elements of(ElementType type, ByteBuffer bytes, @Nullable Payload payload) {
    return switch (type) {
      case FLOAT32 -> of(bytes.asFloatBuffer(), payload);
      case FLOAT64 -> of(bytes.asDoubleBuffer(), payload);
      case INT32 -> of(bytes.asIntBuffer(), payload);
      case INT64 -> of(bytes.asLongBuffer(), payload);
      case BFLOAT16, FLOAT16 -> of(bytes.asShortBuffer(), type, payload);
      case INT8, UINT8 -> ofBytes(bytes, payload == null ? Payload.of(bytes, type) : payload);
    };
  }

  Payload payload() {
    return payload;
  }

  /** The number of elements. */
  int count() {
    return count;
  }

  /** Writes what {@code rank} contributes to the elements from {@code first} on of a payload. */
  void fill(long seed, int rank, long first, ReduceOp.Standard op) {
    for (int i = 0; i < count; i++) {
      put(i, value(seed, rank, first + i, op));
    }
  }

  /**
   * The number of elements, of {@code length} from {@code at} on, that are not what a rank
   * contributed to those from {@code first} on of a payload.
   */
  long wrong(long seed, int rank, long first, ReduceOp.Standard op, int at, int length) {
    long wrong = 0;
    for (int i = 0; i < length; i++) {
      wrong += holds(at + i, value(seed, rank, first + i, op), 1) ? 0 : 1;
    }
    return wrong;
  }

  /**
   * The number of elements that are not the reduction of what all ranks contributed to those from
   * {@code first} on of a payload.
   */
  long wrongReduction(long seed, int ranks, long first, ReduceOp.Standard op) {
    long wrong = 0;
    for (int i = 0; i < count; i++) {
      long exact = value(seed, 0, first + i, op);
      for (int rank = 1; rank < ranks; rank++) {
        exact = op.longs().applyAsLong(exact, value(seed, rank, first + i, op));
      }
      if (!holds(i, exact, op == ReduceOp.AVERAGE ? ranks : 1)) {
        wrong++;
      }
    }
    return wrong;
  }

  /**
   * From -8 to 7, without a sign from 0 to 15; for products 1, -1 and, on the first 15 ranks, 2.
   */
  private long value(long seed, int rank, long index, ReduceOp.Standard op) {
    long z = (seed * 31 + rank) * 0x9E3779B97F4A7C15L + index * 0xD1B54A32D192ED03L;
    z = (z ^ z >>> 32) * 0xD6E8FEB86659FD93L;
    long small = z >>> 60;
    if (op != ReduceOp.PRODUCT) {
      return payload.type() == ElementType.UINT8 ? small : small - 8;
    }
    return small == 0 && rank < 15 ? 2 : small % 2 == 0 ? 1 : -1;
  }

  abstract void put(int index, long value);

  /** Returns whether an element is {@code dividend / divisor}, rounded as its type does. */
  abstract boolean holds(int index, long dividend, int divisor);

  private static Elements of(FloatBuffer buffer, @Nullable Payload payload) {
    return new Elements(buffer.remaining(), payload == null ? Payload.of(buffer) : payload) {
      @Override
      void put(int index, long value) {
        buffer.put(index, value);
      }

      @Override
      boolean holds(int index, long dividend, int divisor) {
        return buffer.get(index) == (float) ((double) dividend / divisor);
      }
    };
  }

  private static Elements of(DoubleBuffer buffer, @Nullable Payload payload) {
    return new Elements(buffer.remaining(), payload == null ? Payload.of(buffer) : payload) {
      @Override
      void put(int index, long value) {
        buffer.put(index, value);
      }

      @Override
      boolean holds(int index, long dividend, int divisor) {
        return buffer.get(index) == (double) dividend / divisor;
      }
    };
  }

  private static Elements of(IntBuffer buffer, @Nullable Payload payload) {
    return new Elements(buffer.remaining(), payload == null ? Payload.of(buffer) : payload) {
      @Override
      void put(int index, long value) {
        buffer.put(index, (int) value);
      }

      @Override
      boolean holds(int index, long dividend, int divisor) {
        return buffer.get(index) == (int) dividend / divisor;
      }
    };
  }

  private static Elements of(LongBuffer buffer, @Nullable Payload payload) {
    return new Elements(buffer.remaining(), payload == null ? Payload.of(buffer) : payload) {
      @Override
      void put(int index, long value) {
        buffer.put(index, value);
      }

      @Override
      boolean holds(int index, long dividend, int divisor) {
        return buffer.get(index) == dividend / divisor;
      }
    };
  }

  /** Sums of 16 ranks are exact even in bfloat16. */
  private static Elements of(ShortBuffer buffer, ElementType type, @Nullable Payload payload) {
    return new Elements(buffer.remaining(), payload == null ? Payload.of(buffer, type) : payload) {
      @Override
      void put(int index, long value) {
        buffer.put(index, bits(value));
      }

      @Override
      boolean holds(int index, long dividend, int divisor) {
        return buffer.get(index) == bits((float) ((double) dividend / divisor));
      }

      private short bits(float value) {
        return type == ElementType.BFLOAT16 ? Bfloat16.of(value) : Float16.of(value);
      }
    };
  }

  /** Sums of 16 ranks are exact. */
  private static Elements ofBytes(ByteBuffer buffer, Payload payload) {
    return new Elements(buffer.remaining(), payload) {
      @Override
      void put(int index, long value) {
        buffer.put(index, (byte) value);
      }

      @Override
      boolean holds(int index, long dividend, int divisor) {
        return buffer.get(index) == (byte) (dividend / divisor);
      }
    };
  }
}
