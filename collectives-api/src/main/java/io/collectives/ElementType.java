package io.collectives;

/** The numbers that a {@link Payload} is made of. */
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
   * operation is done in float32 and rounded to the nearest, of two equally near ones to the even.
   */
  BFLOAT16("bfloat16", 2),
  /**
   * IEEE 754 binary16, held in a Java {@code short}; see {@link Float16}. Each operation is done in
   * float32 and rounded to the nearest, of two equally near ones to the even.
   */
  FLOAT16("float16", 2);

  private final String label;
  private final int bytes;

  ElementType(String label, int bytes) {
    this.label = label;
    this.bytes = bytes;
  }

  /** The length of one element in bytes. */
  public int bytes() {
    return bytes;
  }

  /** The name in tables, on the command line and in errors, as {@code float32}. */
  @Override
  public String toString() {
    return label;
  }
}
