package io.collectives.engine.run;

import io.collectives.Bfloat16;
import io.collectives.ElementType;
import io.collectives.Float16;
import io.collectives.Payload;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import java.nio.ByteBuffer;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * An array of a user, of which a call has some elements, in one piece or in runs. What lies between
 * and around them is nobody's, and stays as it is.
 */
final class UserMemory {
  /**
   * The value that a user writes into memory that it has got back, and what lies around the
   * elements.
   */
  private static final long MINE = 0x5a5a5a5a_5a5a5a5aL;

  final ElementType type;
  final int count;
  final Memory memory;
  private final @Nullable Object array;
  private final @Nullable SimulatedRegion region;
  private final int length;
  private final int first;
  private final int run;
  private final int stride;

  private UserMemory(
      ElementType type, int count, int first, int run, int stride, boolean isInRegion) {
    this.type = type;
    this.count = count;
    this.first = first;
    this.run = run;
    this.stride = stride;
    this.length = first + (count == 0 ? 0 : (count / run - 1) * stride + run) + 1;
    this.region = isInRegion ? new SimulatedRegion(type, length) : null;
    this.array =
        isInRegion
            ? null
            : switch (type) {
              case FLOAT32 -> new float[length];
              case FLOAT64 -> new double[length];
              case INT32 -> new int[length];
              case INT64 -> new long[length];
              case BFLOAT16, FLOAT16 -> new short[length];
              case INT8, UINT8 -> new byte[length];
            };
    this.memory = Memories.of(payload());
    for (int at = 0; at < length; at++) {
      put(at, MINE);
    }
  }

  /**
   * Memory of any layout.
   *
   * @param leases whether it may lie in a region
   */
  static UserMemory of(Random random, ElementType type, int count, boolean leases) {
    int run = count;
    if (count > 1 && random.nextInt(4) == 0) {
      run = 1 + random.nextInt(count);
      while (count % run != 0) {
        run--;
      }
    }
    int gap = run < count ? 1 + random.nextInt(3) : 0;
    boolean isInRegion = leases && random.nextInt(4) > 0;
    return new UserMemory(type, count, random.nextInt(3), run, run + gap, isInRegion);
  }

  private Payload payload() {
    Payload all =
        region != null
            ? region.payload()
            : switch (type) {
              case FLOAT32 -> Payload.of((float[]) array);
              case FLOAT64 -> Payload.of((double[]) array);
              case INT32 -> Payload.of((int[]) array);
              case INT64 -> Payload.of((long[]) array);
              case BFLOAT16, FLOAT16 -> Payload.of((short[]) array, type);
              case INT8, UINT8 -> Payload.of((byte[]) array, 0, length, type);
            };
    return Payload.strided(all, first, count == 0 ? 0 : count / run, run, stride);
  }

  /** The bits of an element. */
  long bits(int i) {
    return at(first + i / run * stride + i % run);
  }

  void set(int i, long bits) {
    put(first + i / run * stride + i % run, bits);
  }

  double value(int i) {
    return value(type, bits(i));
  }

  /** Its user writes over it. */
  void fill() {
    for (int i = 0; i < count; i++) {
      set(i, MINE);
    }
  }

  /** Returns whether all is as its user has {@linkplain #fill filled} it. */
  boolean isAsFilled() {
    for (int at = 0; at < length; at++) {
      if (at(at) != cut(MINE)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether what is not of its elements is as it was. */
  boolean isWholeAround() {
    for (int at = 0; at < length; at++) {
      int inside = at - first;
      boolean isElement =
          count > 0 && inside >= 0 && inside / stride < count / run && inside % stride < run;
      if (!isElement && at(at) != cut(MINE)) {
        return false;
      }
    }
    return true;
  }

  private long cut(long bits) {
    return switch (type) {
      case FLOAT32, INT32 -> (int) bits;
      case FLOAT64, INT64 -> bits;
      case BFLOAT16, FLOAT16 -> (short) bits;
      case INT8, UINT8 -> (byte) bits;
    };
  }

  private long at(int index) {
    if (region != null) {
      ByteBuffer bytes = region.shared().bytes();
      return switch (type.bytes()) {
        case 1 -> bytes.get(index);
        case 2 -> bytes.getShort(2 * index);
        case 4 -> bytes.getInt(4 * index);
        default -> bytes.getLong(8 * index);
      };
    }
    return switch (type) {
      case FLOAT32 -> Float.floatToRawIntBits(((float[]) array)[index]);
      case FLOAT64 -> Double.doubleToRawLongBits(((double[]) array)[index]);
      case INT32 -> ((int[]) array)[index];
      case INT64 -> ((long[]) array)[index];
      case BFLOAT16, FLOAT16 -> ((short[]) array)[index];
      case INT8, UINT8 -> ((byte[]) array)[index];
    };
  }

  private void put(int index, long bits) {
    if (region != null) {
      ByteBuffer bytes = region.shared().bytes();
      switch (type.bytes()) {
        case 1 -> bytes.put(index, (byte) bits);
        case 2 -> bytes.putShort(2 * index, (short) bits);
        case 4 -> bytes.putInt(4 * index, (int) bits);
        default -> bytes.putLong(8 * index, bits);
      }
      return;
    }
    switch (type) {
      case FLOAT32 -> ((float[]) array)[index] = Float.intBitsToFloat((int) bits);
      case FLOAT64 -> ((double[]) array)[index] = Double.longBitsToDouble(bits);
      case INT32 -> ((int[]) array)[index] = (int) bits;
      case INT64 -> ((long[]) array)[index] = bits;
      case BFLOAT16, FLOAT16 -> ((short[]) array)[index] = (short) bits;
      case INT8, UINT8 -> ((byte[]) array)[index] = (byte) bits;
    }
  }

  /** The number that some bits are. */
  static double value(ElementType type, long bits) {
    return switch (type) {
      case FLOAT32 -> Float.intBitsToFloat((int) bits);
      case FLOAT64 -> Double.longBitsToDouble(bits);
      case INT32, INT64, INT8, UINT8 -> bits;
      case BFLOAT16 -> Bfloat16.toFloat((short) bits);
      case FLOAT16 -> Float16.toFloat((short) bits);
    };
  }

  /** The bits of the number of a type that is nearest to a value. */
  static long bits(ElementType type, double value) {
    return switch (type) {
      case FLOAT32 -> Float.floatToRawIntBits((float) value);
      case FLOAT64 -> Double.doubleToRawLongBits(value);
      case INT32, INT64, INT8, UINT8 -> (long) value;
      case BFLOAT16 -> Bfloat16.of((float) value);
      case FLOAT16 -> Float16.of((float) value);
    };
  }
}
