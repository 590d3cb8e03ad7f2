package io.collectives;

/** The types of the elements of a {@link Payload}. */
public enum ElementType {
  /** IEEE 754 binary32, a Java {@code float}. */
  FLOAT32("float32", 4),
  /** IEEE 754 binary64, a Java {@code double}. */
  FLOAT64("float64", 8),
  /** Two's complement, a Java {@code int}; sums and products wrap around. */
  INT32("int32", 4),
  /** Two's complement, a Java {@code long}; sums and products wrap around. */
  INT64("int64", 8),
  /**
   * The upper half of a {@code float}, held in a Java {@code short}; see {@link Bfloat16}. Each
   * operation is done in float32 and rounded to the nearest number, of two equally near ones to the
   * even one.
   */
  BFLOAT16("bfloat16", 2),
  /**
   * IEEE 754 binary16, held in a Java {@code short}; see {@link Float16}. Each operation is done in
   * float32 and rounded to the nearest number, of two equally near ones to the even one.
   */
  FLOAT16("float16", 2),
  /** Two's complement, a Java {@code byte}; sums and products wrap around. */
  INT8("int8", 1),
  /** A number from 0 to 255 held in a Java {@code byte}; sums and products wrap around. */
  UINT8("uint8", 1);

  private final String label;
  private final int bytes;

  ElementType(String label, int bytes) {
    this.label = label;
    this.bytes = bytes;
  }

  /** Returns the length of one element in bytes. */
  public int bytes() {
    return bytes;
  }

  /** Returns whether the numbers are integers and not floating-point numbers. */
  public boolean isInteger() {
    return switch (this) {
      case INT32, INT64, INT8, UINT8 -> true;
      case FLOAT32, FLOAT64, BFLOAT16, FLOAT16 -> false;
    };
  }

  /** Returns the name in tables, on the command line and in errors, such as {@code float32}. */
  @Override
  public String toString() {
    return label;
  }
}
