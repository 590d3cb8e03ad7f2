package io.collectives;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/** Operations on a payload that need no other ranks. */
final class InPlace {
  private InPlace() {}

  /** Sets all elements to 0. */
  static void zero(Payload payload) {
    if (payload instanceof Payload.OfParts several) {
      several.parts().forEach(InPlace::zero);
      return;
    }
    if (payload instanceof Payload.OfStrided strided) {
      Buffer base = elements(strided.base());
      for (int run = 0; run < strided.runs(); run++) {
        zero(base, run * strided.stride(), strided.run());
      }
      return;
    }
    Buffer buffer = elements(payload);
    zero(buffer, 0, buffer.capacity());
  }

  private static void zero(Buffer buffer, int first, int count) {
    for (int i = first; i < first + count; i++) {
      if (buffer instanceof FloatBuffer floats) {
        floats.put(i, 0);
      } else if (buffer instanceof DoubleBuffer doubles) {
        doubles.put(i, 0);
      } else if (buffer instanceof IntBuffer ints) {
        ints.put(i, 0);
      } else if (buffer instanceof LongBuffer longs) {
        longs.put(i, 0);
      } else if (buffer instanceof ByteBuffer bytes) {
        bytes.put(i, (byte) 0);
      } else {
        ((ShortBuffer) buffer).put(i, (short) 0);
      }
    }
  }

  /** Divides all elements as {@link ReduceOp#AVERAGE} does; integers round toward zero. */
  static void divide(Payload payload, int divisor) {
    if (payload instanceof Payload.OfParts several) {
      several.parts().forEach(part -> divide(part, divisor));
      return;
    }
    if (payload instanceof Payload.OfStrided strided) {
      Buffer base = elements(strided.base());
      for (int run = 0; run < strided.runs(); run++) {
        divide(base, run * strided.stride(), strided.run(), strided.type(), divisor);
      }
      return;
    }
    Buffer buffer = elements(payload);
    divide(buffer, 0, buffer.capacity(), payload.type(), divisor);
  }

  private static void divide(Buffer buffer, int first, int count, ElementType type, int divisor) {
    for (int i = first; i < first + count; i++) {
      if (buffer instanceof FloatBuffer floats) {
        floats.put(i, floats.get(i) / divisor);
      } else if (buffer instanceof DoubleBuffer doubles) {
        doubles.put(i, doubles.get(i) / divisor);
      } else if (buffer instanceof IntBuffer ints) {
        ints.put(i, ints.get(i) / divisor);
      } else if (buffer instanceof LongBuffer longs) {
        longs.put(i, longs.get(i) / divisor);
      } else if (buffer instanceof ByteBuffer bytes) {
        int value = type == ElementType.UINT8 ? bytes.get(i) & 0xff : bytes.get(i);
        bytes.put(i, (byte) (value / divisor));
      } else {
        ShortBuffer narrow = (ShortBuffer) buffer;
        narrow.put(
            i,
            type == ElementType.BFLOAT16
                ? Bfloat16.of(Bfloat16.toFloat(narrow.get(i)) / divisor)
                : Float16.of(Float16.toFloat(narrow.get(i)) / divisor));
      }
    }
  }

  /** Returns a buffer of the elements of one part, from 0 to its capacity. */
  private static Buffer elements(Payload payload) {
    if (payload instanceof Payload.OfBuffer direct) {
      return direct.buffer() instanceof ByteBuffer bytes
          ? view(bytes, direct.type())
          : direct.buffer();
    }
    if (payload instanceof Payload.OfCollectiveBuffer range) {
      int bytes = range.type().bytes();
      ByteBuffer part =
          range
              .buffer()
              .bytes()
              .slice((int) range.offset() * bytes, (int) range.count() * bytes)
              .order(ByteOrder.LITTLE_ENDIAN);
      return view(part, range.type());
    }
    Payload.OfArray range = (Payload.OfArray) payload;
    int first = range.offset();
    int count = (int) range.count();
    Object array = range.array();
    if (array instanceof float[] floats) {
      return FloatBuffer.wrap(floats, first, count).slice();
    } else if (array instanceof double[] doubles) {
      return DoubleBuffer.wrap(doubles, first, count).slice();
    } else if (array instanceof int[] ints) {
      return IntBuffer.wrap(ints, first, count).slice();
    } else if (array instanceof long[] longs) {
      return LongBuffer.wrap(longs, first, count).slice();
    } else if (array instanceof short[] shorts) {
      return ShortBuffer.wrap(shorts, first, count).slice();
    } else if (array instanceof byte[] bytes) {
      return ByteBuffer.wrap(bytes, first, count).slice();
    }
    throw new IllegalArgumentException(payload + " is no array of its element type");
  }

  private static Buffer view(ByteBuffer bytes, ElementType type) {
    return switch (type) {
      case FLOAT32 -> bytes.asFloatBuffer();
      case FLOAT64 -> bytes.asDoubleBuffer();
      case INT32 -> bytes.asIntBuffer();
      case INT64 -> bytes.asLongBuffer();
      case BFLOAT16, FLOAT16 -> bytes.asShortBuffer();
      case INT8, UINT8 -> bytes;
    };
  }
}
