package io.collectives;

import io.collectives.internal.ElementBuffer;
import java.nio.Buffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/** Operations on a payload that need no other ranks. */
final class InPlace {
  private InPlace() {}

  /** An operation on elements that lie one after the other. */
  private interface Range {
    void apply(ElementBuffer elements, int first, int count);
  }

  private static void forEach(Payload payload, Range range) {
    if (payload instanceof Payload.OfParts several) {
      several.parts().forEach(part -> forEach(part, range));
    } else if (payload instanceof Payload.OfStrided strided) {
      ElementBuffer base = new ElementBuffer(strided.base());
      for (int run = 0; run < strided.runs(); run++) {
        range.apply(base, run * strided.stride(), strided.run());
      }
    } else {
      ElementBuffer elements = new ElementBuffer(payload);
      range.apply(elements, 0, elements.count());
    }
  }

  /** Sets all elements to 0. */
  static void zero(Payload payload) {
    forEach(
        payload,
        (elements, first, count) -> {
          for (int i = first; i < first + count; i++) {
            elements.setBits(i, 0);
          }
        });
  }

  /** Divides all elements as {@link ReduceOp#AVERAGE} does; integers round toward zero. */
  static void divide(Payload payload, int divisor) {
    ElementType type = payload.type();
    forEach(payload, (elements, first, count) -> divide(elements, first, count, type, divisor));
  }

  private static void divide(
      ElementBuffer elements, int first, int count, ElementType type, int divisor) {
    Buffer buffer = elements.buffer();
    for (int i = first; i < first + count; i++) {
      if (buffer instanceof FloatBuffer floats) {
        floats.put(i, floats.get(i) / divisor);
      } else if (buffer instanceof DoubleBuffer doubles) {
        doubles.put(i, doubles.get(i) / divisor);
      } else if (buffer instanceof IntBuffer ints) {
        ints.put(i, ints.get(i) / divisor);
      } else if (buffer instanceof LongBuffer longs) {
        longs.put(i, longs.get(i) / divisor);
      } else if (buffer instanceof ShortBuffer narrow && type == ElementType.BFLOAT16) {
        narrow.put(i, Bfloat16.of(Bfloat16.toFloat(narrow.get(i)) / divisor));
      } else if (buffer instanceof ShortBuffer narrow && type == ElementType.FLOAT16) {
        narrow.put(i, Float16.of(Float16.toFloat(narrow.get(i)) / divisor));
      } else {
        elements.setValue(i, elements.value(i) / divisor);
      }
    }
  }
}
