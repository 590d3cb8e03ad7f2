package io.collectives;

import java.nio.Buffer;
import java.nio.ByteBuffer;

/** The types of the elements of a {@link Payload}. */
public enum ElementType {
  /** IEEE 754 binary32, a Java {@code float}. */
  FLOAT32("float32", 4, Arithmetic.FLOAT),
  /** IEEE 754 binary64, a Java {@code double}. */
  FLOAT64("float64", 8, Arithmetic.DOUBLE),
  /** Two's complement, a Java {@code int}; sums and products wrap around. */
  INT32("int32", 4, Arithmetic.INT),
  /** Two's complement, a Java {@code long}; sums and products wrap around. */
  INT64("int64", 8, Arithmetic.LONG),
  /**
   * The upper half of a {@code float}, held in a Java {@code short}; see {@link Bfloat16}. Each
   * operation is done in float32 and rounded to the nearest number, of two equally near ones to the
   * even one.
   */
  BFLOAT16("bfloat16", 2, Arithmetic.FLOAT),
  /**
   * IEEE 754 binary16, held in a Java {@code short}; see {@link Float16}. Each operation is done in
   * float32 and rounded to the nearest number, of two equally near ones to the even one.
   */
  FLOAT16("float16", 2, Arithmetic.FLOAT),
  /** Two's complement, a Java {@code byte}; sums and products wrap around. */
  INT8("int8", 1, Arithmetic.INT),
  /** A number from 0 to 255 held in a Java {@code byte}; sums and products wrap around. */
  UINT8("uint8", 1, Arithmetic.INT);

  /** The primitive types of Java in which elements are calculated with. */
  public enum Arithmetic {
    /** Calculates with {@code float}s. */
    FLOAT,
    /** Calculates with {@code double}s. */
    DOUBLE,
    /** Calculates with {@code int}s. */
    INT,
    /** Calculates with {@code long}s. */
    LONG
  }

  private final String label;
  private final int bytes;
  private final Arithmetic arithmetic;

  ElementType(String label, int bytes, Arithmetic arithmetic) {
    this.label = label;
    this.bytes = bytes;
    this.arithmetic = arithmetic;
  }

  /** Returns the length of one element in bytes. */
  public int bytes() {
    return bytes;
  }

  /** Returns whether the numbers are integers and not floating-point numbers. */
  public boolean isInteger() {
    return arithmetic == Arithmetic.INT || arithmetic == Arithmetic.LONG;
  }

  /**
   * Returns the arithmetic in which elements are reduced; a result becomes the nearest element, or,
   * of integers, its lowest bits.
   */
  public Arithmetic arithmetic() {
    return arithmetic;
  }

  /**
   * Returns the bits of the element that is nearest to a number, sign-extended. Integers lose the
   * fraction of the number, and it must be in the range of the type.
   */
  public long bits(double value) {
    return switch (this) {
      case FLOAT32 -> Float.floatToRawIntBits((float) value);
      case FLOAT64 -> Double.doubleToRawLongBits(value);
      case INT32 -> (int) value;
      case INT64 -> (long) value;
      case BFLOAT16 -> Bfloat16.of((float) value);
      case FLOAT16 -> Float16.of((float) value);
      case INT8, UINT8 -> (byte) value;
    };
  }

  /**
   * Returns the number that the lowest bits are as an element. It is exact but for {@link #INT64},
   * whose numbers are rounded to {@code double}.
   */
  public double value(long bits) {
    return switch (this) {
      case FLOAT32 -> Float.intBitsToFloat((int) bits);
      case FLOAT64 -> Double.longBitsToDouble(bits);
      case INT32 -> (int) bits;
      case INT64 -> bits;
      case BFLOAT16 -> Bfloat16.toFloat((short) bits);
      case FLOAT16 -> Float16.toFloat((short) bits);
      case INT8 -> (byte) bits;
      case UINT8 -> bits & 0xff;
    };
  }

  /** Returns an array for elements, such as a {@code float[]}, with zeros. */
  public Object newArray(int count) {
    return switch (bytes) {
      case 1 -> new byte[count];
      case 2 -> new short[count];
      default ->
          switch (arithmetic) {
            case FLOAT -> new float[count];
            case DOUBLE -> new double[count];
            case INT -> new int[count];
            case LONG -> new long[count];
          };
    };
  }

  /**
   * Returns a view of bytes as elements, such as a {@link java.nio.FloatBuffer}, in the order of
   * the buffer and from its position on.
   */
  public Buffer view(ByteBuffer buffer) {
    return switch (bytes) {
      case 1 -> buffer.slice().order(buffer.order());
      case 2 -> buffer.asShortBuffer();
      default ->
          switch (arithmetic) {
            case FLOAT -> buffer.asFloatBuffer();
            case DOUBLE -> buffer.asDoubleBuffer();
            case INT -> buffer.asIntBuffer();
            case LONG -> buffer.asLongBuffer();
          };
    };
  }

  /** Returns the name in tables, on the command line and in errors, such as {@code float32}. */
  @Override
  public String toString() {
    return label;
  }
}
