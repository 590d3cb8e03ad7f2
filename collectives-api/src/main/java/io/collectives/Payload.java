package io.collectives;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The memory that a call reads or writes: a range of one array, one direct buffer, a range of a
 * {@link CollectiveBuffer}, or several of these in a row.
 *
 * <p>A payload is a description; it copies nothing and owns nothing. While a call that was given it
 * is under way, the library owns the memory: reading or writing it then gives undefined numbers.
 * Payloads are immutable and may be used by any thread and in any number of calls; keeping one and
 * using it again spares an allocation.
 */
public sealed interface Payload {

  /** The type of every element. */
  ElementType type();

  /** The number of elements; may exceed 2^31 when there are several parts. */
  long count();

  /** The number of bytes. */
  default long length() {
    return count() * type().bytes();
  }

  /**
   * A range of this payload, in the same memory.
   *
   * @param offset the first element
   * @param count the number of elements; may be 0
   */
  default Payload slice(long offset, int count) {
    Objects.checkFromIndexSize(offset, count, count());
    if (this instanceof OfArray array) {
      return new OfArray(array.type(), array.array(), array.offset() + (int) offset, count);
    } else if (this instanceof OfBuffer direct) {
      return direct.part((int) offset, count);
    } else if (this instanceof OfCollectiveBuffer range) {
      return range.buffer().payload(range.offset() + offset, count);
    }
    List<Payload> slices = new ArrayList<>();
    long start = 0;
    for (Payload part : ((OfParts) this).parts()) {
      long from = Math.max(offset, start);
      long until = Math.min(offset + count, start + part.count());
      if (from < until) {
        slices.add(part.slice(from - start, (int) (until - from)));
      }
      start += part.count();
    }
    return slices.isEmpty() ? ((OfParts) this).parts().get(0).slice(0, 0) : of(slices);
  }

  /** All elements of an array. */
  static Payload of(float[] array) {
    return of(array, 0, array.length);
  }

  /** All elements of an array. */
  static Payload of(double[] array) {
    return of(array, 0, array.length);
  }

  /** All elements of an array. */
  static Payload of(int[] array) {
    return of(array, 0, array.length);
  }

  /** All elements of an array. */
  static Payload of(long[] array) {
    return of(array, 0, array.length);
  }

  /**
   * All elements of an array of numbers of 16 bits.
   *
   * @param type {@link ElementType#BFLOAT16} or {@link ElementType#FLOAT16}
   */
  static Payload of(short[] array, ElementType type) {
    return of(array, 0, array.length, type);
  }

  /** {@code count} elements of an array from {@code offset} on. */
  static Payload of(float[] array, int offset, int count) {
    return new OfArray(ElementType.FLOAT32, array, offset, checkRange(offset, count, array.length));
  }

  /** {@code count} elements of an array from {@code offset} on. */
  static Payload of(double[] array, int offset, int count) {
    return new OfArray(ElementType.FLOAT64, array, offset, checkRange(offset, count, array.length));
  }

  /** {@code count} elements of an array from {@code offset} on. */
  static Payload of(int[] array, int offset, int count) {
    return new OfArray(ElementType.INT32, array, offset, checkRange(offset, count, array.length));
  }

  /** {@code count} elements of an array from {@code offset} on. */
  static Payload of(long[] array, int offset, int count) {
    return new OfArray(ElementType.INT64, array, offset, checkRange(offset, count, array.length));
  }

  /**
   * {@code count} elements of an array of numbers of 16 bits from {@code offset} on.
   *
   * @param type {@link ElementType#BFLOAT16} or {@link ElementType#FLOAT16}
   */
  static Payload of(short[] array, int offset, int count, ElementType type) {
    return new OfArray(checkShort(type), array, offset, checkRange(offset, count, array.length));
  }

  /**
   * The bytes between position and limit of a direct buffer, whose own position, limit and order
   * are left alone.
   *
   * @param buffer direct, in native byte order, its remaining length a multiple of the type's
   */
  static Payload of(ByteBuffer buffer, ElementType type) {
    Objects.requireNonNull(type, "type");
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "a ByteBuffer on the heap: only direct ones can be payloads; pass the array itself or use ByteBuffer.allocateDirect");
    }
    checkOrder(buffer.order());
    if (buffer.remaining() % type.bytes() != 0) {
      throw new IllegalArgumentException(
          "a buffer of "
              + buffer.remaining()
              + " bytes holds no whole number of "
              + type
              + " elements of "
              + type.bytes()
              + " bytes");
    }
    return new OfBuffer(type, buffer.slice().order(ByteOrder.nativeOrder()));
  }

  /**
   * The elements between position and limit of a view of a direct buffer in native order, or of an
   * array.
   */
  static Payload of(FloatBuffer buffer) {
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining())
        : new OfBuffer(ElementType.FLOAT32, checkDirect(buffer).slice());
  }

  /**
   * The elements between position and limit of a view of a direct buffer in native order, or of an
   * array.
   */
  static Payload of(DoubleBuffer buffer) {
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining())
        : new OfBuffer(ElementType.FLOAT64, checkDirect(buffer).slice());
  }

  /**
   * The elements between position and limit of a view of a direct buffer in native order, or of an
   * array.
   */
  static Payload of(IntBuffer buffer) {
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining())
        : new OfBuffer(ElementType.INT32, checkDirect(buffer).slice());
  }

  /**
   * The elements between position and limit of a view of a direct buffer in native order, or of an
   * array.
   */
  static Payload of(LongBuffer buffer) {
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining())
        : new OfBuffer(ElementType.INT64, checkDirect(buffer).slice());
  }

  /**
   * The numbers of 16 bits between position and limit of a view of a direct buffer in native order,
   * or of an array.
   *
   * @param type {@link ElementType#BFLOAT16} or {@link ElementType#FLOAT16}
   */
  static Payload of(ShortBuffer buffer, ElementType type) {
    checkShort(type);
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining(), type)
        : new OfBuffer(type, checkDirect(buffer).slice());
  }

  /**
   * Several payloads of one type, one after the other, as if they were one.
   *
   * @param parts at least one; they must not overlap where the payload is written
   */
  static Payload of(List<Payload> parts) {
    return new OfParts(List.copyOf(parts));
  }

  private static ElementType checkShort(ElementType type) {
    if (type != ElementType.BFLOAT16 && type != ElementType.FLOAT16) {
      throw new IllegalArgumentException(
          type
              + " elements in an array or buffer of short: it holds "
              + ElementType.BFLOAT16
              + " or "
              + ElementType.FLOAT16);
    }
    return type;
  }

  private static int checkRange(int offset, int count, int length) {
    if (offset < 0 || count < 0 || offset > length - count) {
      throw new IndexOutOfBoundsException(
          "offset "
              + offset
              + " and count "
              + count
              + " do not lie within an array of "
              + length
              + " elements");
    }
    return count;
  }

  private static <B extends Buffer> B checkDirect(B view) {
    if (!view.isDirect()) {
      throw new IllegalArgumentException(
          "a view of a heap ByteBuffer, or a read-only one of an array: only views of direct buffers can be payloads");
    }
    return view;
  }

  private static void checkOrder(ByteOrder order) {
    if (order != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException(
          "a buffer in "
              + order
              + " order: set order(ByteOrder.nativeOrder()), which is "
              + ByteOrder.nativeOrder()
              + " here");
    }
  }

  /**
   * A range of a Java array; made by the {@code of} methods.
   *
   * @param type the element type that belongs to the array's
   * @param array a {@code float[]}, {@code double[]}, {@code int[]}, {@code long[]} or {@code
   *     short[]}
   * @param offset the index of the first element
   * @param count the number of elements
   */
  record OfArray(ElementType type, Object array, int offset, long count) implements Payload {}

  /**
   * A direct buffer, from 0 to its capacity; made by the {@code of} methods.
   *
   * @param type the element type
   * @param buffer a direct {@link ByteBuffer} in native order, or the view that belongs to the type
   */
  record OfBuffer(ElementType type, Buffer buffer) implements Payload {
    @Override
    public long count() {
      return buffer instanceof ByteBuffer ? buffer.capacity() / type.bytes() : buffer.capacity();
    }

    private OfBuffer part(int offset, int count) {
      Buffer part;
      if (buffer instanceof ByteBuffer bytes) {
        part = bytes.slice(offset * type.bytes(), count * type.bytes()).order(bytes.order());
      } else if (buffer instanceof FloatBuffer floats) {
        part = floats.slice(offset, count);
      } else if (buffer instanceof DoubleBuffer doubles) {
        part = doubles.slice(offset, count);
      } else if (buffer instanceof IntBuffer ints) {
        part = ints.slice(offset, count);
      } else if (buffer instanceof ShortBuffer shorts) {
        part = shorts.slice(offset, count);
      } else {
        part = ((LongBuffer) buffer).slice(offset, count);
      }
      return new OfBuffer(type, part);
    }
  }

  /**
   * A range of a buffer that a communicator has allocated; made by {@link
   * CollectiveBuffer#payload}.
   *
   * @param buffer the buffer
   * @param offset the index of the first element
   * @param count the number of elements
   */
  record OfCollectiveBuffer(CollectiveBuffer buffer, long offset, long count) implements Payload {
    /** Checks the range. */
    public OfCollectiveBuffer {
      Objects.checkFromIndexSize(offset, count, buffer.count());
    }

    @Override
    public ElementType type() {
      return buffer.type();
    }
  }

  /**
   * Payloads in a row; made by {@link Payload#of(List)}.
   *
   * @param parts the payloads, none of which consists of parts itself
   * @param count the number of elements in all
   */
  record OfParts(List<Payload> parts, long count) implements Payload {
    OfParts(List<Payload> parts) {
      this(flat(parts), parts.stream().mapToLong(Payload::count).reduce(0, Math::addExact));
    }

    private static List<Payload> flat(List<Payload> parts) {
      if (parts.isEmpty()) {
        throw new IllegalArgumentException(
            "a payload of no parts has no element type; pass an empty array instead");
      }
      List<Payload> flat =
          parts.stream()
              .flatMap(
                  p ->
                      p instanceof OfParts more
                          ? more.parts().stream()
                          : java.util.stream.Stream.of(p))
              .toList();
      for (int i = 1; i < flat.size(); i++) {
        if (flat.get(i).type() != flat.get(0).type()) {
          throw new IllegalArgumentException(
              "part "
                  + i
                  + " is of "
                  + flat.get(i).type()
                  + " and part 0 of "
                  + flat.get(0).type()
                  + ": all parts of a payload must be of one type");
        }
      }
      return flat;
    }

    @Override
    public ElementType type() {
      return parts.get(0).type();
    }
  }
}
