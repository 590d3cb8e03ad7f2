package io.collectives.bench.accuracy;

import io.collectives.plan.Plan;

/**
 * The payload of a case, in chunks of equal length, and which of them are looked at: evenly spread,
 * because the bits of a chunk do not depend on the others.
 *
 * @param chunks of the payload
 * @param length of each, in elements
 * @param picked how many are looked at
 */
record Sample(int chunks, int length, int picked) {
  /** No less, so that chunks have whole groups of numbers that share an exponent. */
  private static final int LEAST_LENGTH = 256;

  /** At least so many elements of a payload for a plan, or all that its chunks have. */
  static Sample of(Plan plan, int elements) {
    int chunks = plan.chunks();
    int length = Math.max(LEAST_LENGTH, (elements + chunks - 1) / chunks);
    return new Sample(chunks, length, Math.min(chunks, (elements + length - 1) / length));
  }

  /** The elements of the payload. */
  int payload() {
    return Math.multiplyExact(chunks, length);
  }

  /** The elements that are looked at. */
  int elements() {
    return picked * length;
  }

  /** The chunk that is looked at as number {@code index}. */
  int chunk(int index) {
    return (int) ((long) index * chunks / picked);
  }

  /** The number of the first chunk from {@code chunk} on that is looked at. */
  int firstFrom(int chunk) {
    return (int) (((long) chunk * picked + chunks - 1) / chunks);
  }
}
