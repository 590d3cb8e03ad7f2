package io.collectives.spi;

import java.security.SecureRandom;

/**
 * 128 random bits that one run of a job draws when its ranks meet. Every frame carries them, so
 * that a process of an earlier run, or of another job, is recognised.
 *
 * @param high the first 64 bits
 * @param low the last 64 bits
 */
public record JobEpoch(long high, long low) {

  /** Draws an epoch. */
  public static JobEpoch draw() {
    SecureRandom random = new SecureRandom();
    return new JobEpoch(random.nextLong(), random.nextLong());
  }

  /** 32 hexadecimal digits. */
  @Override
  public String toString() {
    return String.format("%016x%016x", high, low);
  }

  /** Reads what {@link #toString} writes. */
  public static JobEpoch parse(String text) {
    if (!text.matches("[0-9a-f]{32}")) {
      throw new IllegalArgumentException(
          "job epoch \"" + text + "\": 32 hexadecimal digits are needed");
    }
    return new JobEpoch(
        Long.parseUnsignedLong(text.substring(0, 16), 16),
        Long.parseUnsignedLong(text.substring(16), 16));
  }
}
