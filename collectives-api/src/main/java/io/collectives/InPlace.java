package io.collectives;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;

/** What is done to a payload without other ranks. */
final class InPlace {
  private InPlace() {}

  /** All elements become 0. */
  static void zero(Payload payload) {
    if (payload instanceof Payload.OfParts several) {
      several.parts().forEach(InPlace::zero);
    } else if (payload instanceof Payload.OfBuffer direct) {
      zero(view(direct));
    } else {
      Payload.OfArray range = (Payload.OfArray) payload;
      int first = range.offset();
      int end = first + (int) range.count();
      if (range.array() instanceof float[] floats) {
        Arrays.fill(floats, first, end, 0);
      } else if (range.array() instanceof double[] doubles) {
        Arrays.fill(doubles, first, end, 0);
      } else if (range.array() instanceof int[] ints) {
        Arrays.fill(ints, first, end, 0);
      } else if (range.array() instanceof long[] longs) {
        Arrays.fill(longs, first, end, 0);
      } else {
        throw strange(payload);
      }
    }
  }

  private static void zero(Buffer buffer) {
    for (int i = 0; i < buffer.capacity(); i++) {
      if (buffer instanceof FloatBuffer floats) {
        floats.put(i, 0);
      } else if (buffer instanceof DoubleBuffer doubles) {
        doubles.put(i, 0);
      } else if (buffer instanceof IntBuffer ints) {
        ints.put(i, 0);
      } else {
        ((LongBuffer) buffer).put(i, 0);
      }
    }
  }

  /** Divides all elements as {@link ReduceOp#AVERAGE} does; integers round toward zero. */
  static void divide(Payload payload, int divisor) {
    if (payload instanceof Payload.OfParts several) {
      several.parts().forEach(part -> divide(part, divisor));
    } else if (payload instanceof Payload.OfBuffer direct) {
      divide(view(direct), divisor);
    } else {
      Payload.OfArray range = (Payload.OfArray) payload;
      int first = range.offset();
      int end = first + (int) range.count();
      if (range.array() instanceof float[] floats) {
        for (int i = first; i < end; i++) {
          floats[i] /= divisor;
        }
      } else if (range.array() instanceof double[] doubles) {
        for (int i = first; i < end; i++) {
          doubles[i] /= divisor;
        }
      } else if (range.array() instanceof int[] ints) {
        for (int i = first; i < end; i++) {
          ints[i] /= divisor;
        }
      } else if (range.array() instanceof long[] longs) {
        for (int i = first; i < end; i++) {
          longs[i] /= divisor;
        }
      } else {
        throw strange(payload);
      }
    }
  }

  private static void divide(Buffer buffer, int divisor) {
    for (int i = 0; i < buffer.capacity(); i++) {
      if (buffer instanceof FloatBuffer floats) {
        floats.put(i, floats.get(i) / divisor);
      } else if (buffer instanceof DoubleBuffer doubles) {
        doubles.put(i, doubles.get(i) / divisor);
      } else if (buffer instanceof IntBuffer ints) {
        ints.put(i, ints.get(i) / divisor);
      } else {
        LongBuffer longs = (LongBuffer) buffer;
        longs.put(i, longs.get(i) / divisor);
      }
    }
  }

  private static Buffer view(Payload.OfBuffer direct) {
    if (!(direct.buffer() instanceof ByteBuffer bytes)) {
      return direct.buffer();
    }
    return switch (direct.type()) {
      case FLOAT32 -> bytes.asFloatBuffer();
      case FLOAT64 -> bytes.asDoubleBuffer();
      case INT32 -> bytes.asIntBuffer();
      case INT64 -> bytes.asLongBuffer();
    };
  }

  private static IllegalArgumentException strange(Payload payload) {
    return new IllegalArgumentException(payload + " is no array of its element type");
  }
}
