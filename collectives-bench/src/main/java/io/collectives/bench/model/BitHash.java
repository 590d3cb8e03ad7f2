package io.collectives.bench.model;

/** A 64-bit hash of the bits of many numbers: NaNs and the two zeros count as what they are. */
public final class BitHash {
  private static final long FACTOR = 0xD6E8FEB86659FD93L;

  private long state = 1;

  /** Takes in an array, after all those before it. */
  public void add(float[] values) {
    long hash = state;
    for (float value : values) {
      hash = hash * FACTOR + Float.floatToRawIntBits(value);
    }
    state = hash;
  }

  /** Takes in the bits of a number, after all those before it. */
  public void add(long bits) {
    state = state * FACTOR + bits;
  }

  /** The hash of everything so far. */
  public long value() {
    return Gradients.mix(state);
  }
}
