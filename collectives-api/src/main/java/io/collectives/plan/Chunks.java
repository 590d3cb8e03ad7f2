package io.collectives.plan;

/**
 * The even distribution of elements over chunks, shards and slabs: part i of n of a range holds the
 * elements from {@code floor(i * count / n)} to {@code floor((i + 1) * count / n)}, so that parts
 * differ by at most one element.
 */
public final class Chunks {
  private Chunks() {}

  /**
   * Returns the first element of part {@code part} of {@code parts} of {@code count} elements;
   * {@code part} may be {@code parts}.
   */
  public static long start(long count, int part, int parts) {
    long whole = count / parts;
    long rest = count % parts;
    return whole * part + rest * part / parts;
  }

  /** Returns the number of elements of a part. */
  public static long count(long count, int part, int parts) {
    return start(count, part + 1, parts) - start(count, part, parts);
  }

  /** Returns the number of elements of the longest part. */
  public static long longest(long count, int parts) {
    return count / parts + (count % parts == 0 ? 0 : 1);
  }
}
