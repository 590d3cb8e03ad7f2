package io.collectives.bench.simulate;

/**
 * The properties of a directed link.
 *
 * @param alphaNanos the latency: how long after a byte has set out it is at the other end
 * @param nanosPerByte how long a byte holds the link
 */
public record Wire(double alphaNanos, double nanosPerByte) {
  /** Checks the numbers. */
  public Wire {
    if (!(alphaNanos >= 0 && alphaNanos <= 1e15 && nanosPerByte >= 0 && nanosPerByte <= 1e9)) {
      throw new IllegalArgumentException(
          "a link of " + alphaNanos + " ns and " + nanosPerByte + " ns a byte is out of range");
    }
  }
}
