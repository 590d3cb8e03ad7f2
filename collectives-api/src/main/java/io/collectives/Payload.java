package io.collectives;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The memory that a call reads or writes: a range of one array, one direct buffer, a range of a
 * {@link CollectiveBuffer}, {@linkplain #strided runs} of one of these that lie a fixed distance
 * apart, or several of these one after the other, such as the tensors of a model, of one type or of
 * several.
 *
 * <p>A payload is a description; it copies nothing and owns nothing. While a call that was given it
 * is under way, the library owns the memory: a program that reads or writes it then gets undefined
 * numbers. Payloads are immutable and may be used by any thread and in any number of calls; keeping
 * one and using it again spares an allocation.
 */
public sealed interface Payload {

  /**
   * Returns the type of every element.
   *
   * @throws UnsupportedOperationException if they are of {@linkplain OfTensors several types}
   */
  ElementType type();

  /** Returns the number of elements, which may exceed 2^31 when there are several parts. */
  long count();

  /** Returns the number of bytes. */
  default long length() {
    return count() * type().bytes();
  }

  /**
   * Returns a range of this payload, in the same memory. The payload must be of one type.
   *
   * @param offset the first element
   * @param count the number of elements; may be 0
   */
  default Payload slice(long offset, long count) {
    Objects.checkFromIndexSize(offset, count, count());
    return Ranges.slice(this, offset, count);
  }

  /** Describes all elements of an array. */
  static Payload of(float[] array) {
    return of(array, 0, array.length);
  }

  /** Describes all elements of an array. */
  static Payload of(double[] array) {
    return of(array, 0, array.length);
  }

  /** Describes all elements of an array. */
  static Payload of(int[] array) {
    return of(array, 0, array.length);
  }

  /** Describes all elements of an array. */
  static Payload of(long[] array) {
    return of(array, 0, array.length);
  }

  /**
   * Describes all elements of an array of numbers of 16 bits.
   *
   * @param type a type of two bytes, such as {@link ElementType#BFLOAT16}
   */
  static Payload of(short[] array, ElementType type) {
    return of(array, 0, array.length, type);
  }

  /** Describes all elements of an array as {@link ElementType#INT8}. */
  static Payload of(byte[] array) {
    return of(array, 0, array.length, ElementType.INT8);
  }

  /** Describes {@code count} elements of an array from {@code offset} on. */
  static Payload of(float[] array, int offset, int count) {
    return new OfArray(ElementType.FLOAT32, array, offset, checkRange(offset, count, array.length));
  }

  /** Describes {@code count} elements of an array from {@code offset} on. */
  static Payload of(double[] array, int offset, int count) {
    return new OfArray(ElementType.FLOAT64, array, offset, checkRange(offset, count, array.length));
  }

  /** Describes {@code count} elements of an array from {@code offset} on. */
  static Payload of(int[] array, int offset, int count) {
    return new OfArray(ElementType.INT32, array, offset, checkRange(offset, count, array.length));
  }

  /** Describes {@code count} elements of an array from {@code offset} on. */
  static Payload of(long[] array, int offset, int count) {
    return new OfArray(ElementType.INT64, array, offset, checkRange(offset, count, array.length));
  }

  /**
   * Describes {@code count} elements of an array of numbers of 16 bits from {@code offset} on.
   *
   * @param type a type of two bytes, such as {@link ElementType#BFLOAT16}
   */
  static Payload of(short[] array, int offset, int count, ElementType type) {
    return new OfArray(checkShort(type), array, offset, checkRange(offset, count, array.length));
  }

  /**
   * Describes {@code count} elements of an array of numbers of 8 bits from {@code offset} on.
   *
   * @param type a type of one byte, such as {@link ElementType#UINT8}
   */
  static Payload of(byte[] array, int offset, int count, ElementType type) {
    if (type.bytes() != 1) {
      throw new IllegalArgumentException(
          type
              + " elements in an array of byte: it holds "
              + ofBytes(1)
              + "; a direct ByteBuffer holds any type");
    }
    return new OfArray(type, array, offset, checkRange(offset, count, array.length));
  }

  /**
   * Describes the bytes between position and limit of a direct buffer, whose own position, limit
   * and order do not change.
   *
   * @param buffer a direct buffer in native byte order, whose remaining length is a multiple of the
   *     type's length
   */
  static Payload of(ByteBuffer buffer, ElementType type) {
    Objects.requireNonNull(type, "type");
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "a ByteBuffer on the heap: only direct ones can be payloads; pass the array itself or use"
              + " ByteBuffer.allocateDirect");
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
    return new OfBuffer(
        type, buffer.slice().order(ByteOrder.nativeOrder()), buffer, buffer.position());
  }

  /**
   * Describes the elements between position and limit of a view of a direct buffer in native order,
   * or of an array.
   */
  static Payload of(FloatBuffer buffer) {
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining())
        : OfBuffer.of(ElementType.FLOAT32, buffer, checkDirect(buffer).slice());
  }

  /**
   * Describes the elements between position and limit of a view of a direct buffer in native order,
   * or of an array.
   */
  static Payload of(DoubleBuffer buffer) {
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining())
        : OfBuffer.of(ElementType.FLOAT64, buffer, checkDirect(buffer).slice());
  }

  /**
   * Describes the elements between position and limit of a view of a direct buffer in native order,
   * or of an array.
   */
  static Payload of(IntBuffer buffer) {
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining())
        : OfBuffer.of(ElementType.INT32, buffer, checkDirect(buffer).slice());
  }

  /**
   * Describes the elements between position and limit of a view of a direct buffer in native order,
   * or of an array.
   */
  static Payload of(LongBuffer buffer) {
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining())
        : OfBuffer.of(ElementType.INT64, buffer, checkDirect(buffer).slice());
  }

  /**
   * Describes the numbers of 16 bits between position and limit of a view of a direct buffer in
   * native order, or of an array.
   *
   * @param type a type of two bytes, such as {@link ElementType#BFLOAT16}
   */
  static Payload of(ShortBuffer buffer, ElementType type) {
    checkShort(type);
    checkOrder(buffer.order());
    return buffer.hasArray()
        ? of(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining(), type)
        : OfBuffer.of(type, buffer, checkDirect(buffer).slice());
  }

  /**
   * Joins several payloads into one, for example the tensors of a model; each stays where it lies.
   *
   * <p>If they are of several types, the elements of each type are a sequence of their own, in the
   * order of the parts; see {@link OfTensors} for the calls that take such a payload.
   *
   * @param parts at least one; they must not overlap where the payload is written
   */
  static Payload of(List<Payload> parts) {
    List<Payload> flat = parts.stream().flatMap(Payload::parts).toList();
    if (flat.isEmpty()) {
      throw new IllegalArgumentException(
          "a payload of no parts has no element type; pass an empty array instead");
    }
    Map<ElementType, List<Payload>> byType =
        flat.stream()
            .collect(
                Collectors.groupingBy(
                    Payload::type, LinkedHashMap::new, Collectors.toUnmodifiableList()));
    List<Payload> payloads = byType.values().stream().<Payload>map(OfParts::new).toList();
    return payloads.size() == 1 ? payloads.get(0) : new OfTensors(payloads);
  }

  private static Stream<Payload> parts(Payload payload) {
    if (payload instanceof OfTensors several) {
      return several.byType().stream().flatMap(Payload::parts);
    }
    return payload instanceof OfParts more ? more.parts().stream() : Stream.of(payload);
  }

  /**
   * Describes runs of elements that lie a fixed distance apart, as the vector type of MPI does: run
   * i is elements {@code [offset + i * stride, offset + i * stride + run)} of another payload. They
   * are read and written in place; nothing is copied for sending.
   *
   * <pre>{@code
   * // columns 2 to 4 of a matrix of 100 rows and 10 columns
   * Payload.strided(Payload.of(matrix), 2, 100, 3, 10)
   * }</pre>
   *
   * @param base a payload of one type
   * @param offset the first element of the first run
   * @param runs the number of runs; may be 0
   * @param run the number of elements of each; may be 0
   * @param stride the distance from the beginning of a run to that of the next one, at least 0. If
   *     it is less than {@code run}, runs overlap: calls can read such a payload, but refuse to
   *     write it
   * @throws IndexOutOfBoundsException if a run does not lie within the base
   */
  static Payload strided(Payload base, long offset, int runs, int run, long stride) {
    return Ranges.strided(base, offset, runs, run, stride);
  }

  /**
   * Describes a rectangle of a matrix, row by row, in place.
   *
   * @param matrix the rows of the matrix, one after the other
   * @param columns the number of elements of each row of the matrix
   * @param firstRow the first row of the rectangle
   * @param firstColumn the first column of the rectangle
   * @param rowCount the number of rows of the rectangle
   * @param columnCount the number of columns of the rectangle
   * @throws IndexOutOfBoundsException if the rectangle does not lie within the matrix
   */
  static Payload submatrix(
      Payload matrix, int columns, int firstRow, int firstColumn, int rowCount, int columnCount) {
    if (columns < 1
        || firstRow < 0
        || firstColumn < 0
        || rowCount < 0
        || columnCount < 0
        || (long) firstRow + rowCount > matrix.count() / columns
        || (long) firstColumn + columnCount > columns) {
      throw new IndexOutOfBoundsException(
          "rows "
              + firstRow
              + " and "
              + rowCount
              + " in all, columns "
              + firstColumn
              + " and "
              + columnCount
              + " in all, do not lie within a matrix of "
              + matrix.count()
              + " elements in rows of "
              + columns);
    }
    long offset = rowCount == 0 || columnCount == 0 ? 0 : (long) firstRow * columns + firstColumn;
    return strided(matrix, offset, rowCount, columnCount, columns);
  }

  private static ElementType checkShort(ElementType type) {
    if (type.bytes() != 2) {
      throw new IllegalArgumentException(
          type + " elements in an array or buffer of short: it holds " + ofBytes(2));
    }
    return type;
  }

  private static String ofBytes(int bytes) {
    return Stream.of(ElementType.values())
        .filter(type -> type.bytes() == bytes)
        .map(ElementType::toString)
        .collect(Collectors.joining(" or "));
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
          "a view of a heap ByteBuffer, or a read-only one of an array: only views of direct"
              + " buffers can be payloads");
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
   * A range of a Java array, as the {@code of} methods make it.
   *
   * @param type the element type, which fits the type of the array
   * @param array an array such as {@link ElementType#newArray} makes
   * @param offset the index of the first element
   * @param count the number of elements
   */
  record OfArray(ElementType type, Object array, int offset, long count) implements Payload {}

  /**
   * A direct buffer, from 0 to its capacity, as the {@code of} methods make it.
   *
   * @param type the element type
   * @param buffer a direct {@link ByteBuffer} in native order, or the view that belongs to the type
   * @param source the caller's buffer, of which {@code buffer} is a slice
   * @param at the number of bytes from the beginning of {@code source} to that of {@code buffer}
   */
  record OfBuffer(ElementType type, Buffer buffer, Buffer source, long at) implements Payload {
    private static OfBuffer of(ElementType type, Buffer source, Buffer slice) {
      return new OfBuffer(type, slice, source, (long) source.position() * type.bytes());
    }

    @Override
    public long count() {
      return buffer instanceof ByteBuffer ? buffer.capacity() / type.bytes() : buffer.capacity();
    }
  }

  /**
   * A range of a buffer that a communicator has allocated, as {@link CollectiveBuffer#payload}
   * makes it.
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
   * Runs of one payload, a fixed distance apart, as {@link Payload#strided} makes them.
   *
   * @param base a payload that consists of neither parts nor runs; it begins with the first run and
   *     ends with the last one
   * @param runs the number of runs, at least 2
   * @param run the number of elements of each, at least 1
   * @param stride the distance from the beginning of a run to that of the next one; never {@code
   *     run}
   */
  record OfStrided(Payload base, int runs, int run, int stride) implements Payload {
    @Override
    public ElementType type() {
      return base.type();
    }

    @Override
    public long count() {
      return (long) runs * run;
    }

    /** Returns whether elements belong to several runs, so that the payload cannot be written. */
    public boolean overlaps() {
      return stride < run;
    }
  }

  /**
   * Payloads of one type one after the other, as {@link Payload#of(List)} makes them.
   *
   * @param parts the payloads, none of which consists of parts itself
   * @param count the number of elements in all
   */
  record OfParts(List<Payload> parts, long count) implements Payload {
    OfParts(List<Payload> parts) {
      this(parts, parts.stream().mapToLong(Payload::count).reduce(0, Math::addExact));
    }

    @Override
    public ElementType type() {
      return parts.get(0).type();
    }
  }

  /**
   * Payloads of several types, as {@link Payload#of(List)} makes them.
   *
   * <p>All-reduce, broadcast, reduce, send and receive take such a payload like any other, and make
   * one call for each type; these calls are under way at once; {@link Communicator#nextSequence}
   * counts each. All ranks pass the same types in the same order, each with the same number of
   * elements; each rank may cut these into other parts. Calls that distribute a payload over the
   * ranks refuse it.
   *
   * @param byType the payload of each type, in the order in which the types came first
   */
  record OfTensors(List<Payload> byType) implements Payload {

    /** Returns the types, at least two, in their order. */
    public List<ElementType> types() {
      return byType.stream().map(Payload::type).toList();
    }

    @Override
    public ElementType type() {
      throw new UnsupportedOperationException(
          "a payload of " + types() + " elements has no single type; take each of byType()");
    }

    @Override
    public long count() {
      return byType.stream().mapToLong(Payload::count).reduce(0, Math::addExact);
    }

    @Override
    public long length() {
      return byType.stream().mapToLong(Payload::length).reduce(0, Math::addExact);
    }
  }
}
