package io.collectives.internal;

import io.collectives.ElementType;
import io.collectives.Payload;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/** Elements one by one, in whatever memory they lie, for what need not be fast. */
public final class ElementBuffer {
  private final ElementType type;
  private final Buffer buffer;

  /**
   * Makes a buffer of all elements of a payload.
   *
   * @param payload a payload that consists of neither parts nor runs
   */
  public ElementBuffer(Payload payload) {
    this.type = payload.type();
    this.buffer = view(payload);
  }

  private static Buffer view(Payload payload) {
    if (payload instanceof Payload.OfBuffer direct) {
      return direct.buffer() instanceof ByteBuffer bytes
          ? direct.type().view(bytes)
          : direct.buffer();
    }
    if (payload instanceof Payload.OfCollectiveBuffer range) {
      int bytes = range.type().bytes();
      return range
          .type()
          .view(
              range
                  .buffer()
                  .bytes()
                  .slice((int) range.offset() * bytes, (int) range.count() * bytes)
                  .order(ByteOrder.LITTLE_ENDIAN));
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

  /** Returns the elements, from 0 to the capacity, in a buffer of their Java type. */
  public Buffer buffer() {
    return buffer;
  }

  /** Returns the number of elements. */
  public int count() {
    return buffer.capacity();
  }

  /** Returns the bits of an element, sign-extended. */
  public long bits(int index) {
    if (buffer instanceof FloatBuffer floats) {
      return Float.floatToRawIntBits(floats.get(index));
    } else if (buffer instanceof DoubleBuffer doubles) {
      return Double.doubleToRawLongBits(doubles.get(index));
    } else if (buffer instanceof IntBuffer ints) {
      return ints.get(index);
    } else if (buffer instanceof LongBuffer longs) {
      return longs.get(index);
    } else if (buffer instanceof ByteBuffer bytes) {
      return bytes.get(index);
    }
    return ((ShortBuffer) buffer).get(index);
  }

  /** Sets an element to the lowest bits. */
  public void setBits(int index, long bits) {
    if (buffer instanceof FloatBuffer floats) {
      floats.put(index, Float.intBitsToFloat((int) bits));
    } else if (buffer instanceof DoubleBuffer doubles) {
      doubles.put(index, Double.longBitsToDouble(bits));
    } else if (buffer instanceof IntBuffer ints) {
      ints.put(index, (int) bits);
    } else if (buffer instanceof LongBuffer longs) {
      longs.put(index, bits);
    } else if (buffer instanceof ByteBuffer bytes) {
      bytes.put(index, (byte) bits);
    } else {
      ((ShortBuffer) buffer).put(index, (short) bits);
    }
  }

  /** Returns an element as {@link ElementType#value} does. */
  public double value(int index) {
    return type.value(bits(index));
  }

  /** Sets an element to the one that {@link ElementType#bits} says. */
  public void setValue(int index, double value) {
    setBits(index, type.bits(value));
  }
}
