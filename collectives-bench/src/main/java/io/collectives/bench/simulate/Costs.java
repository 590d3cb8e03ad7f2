package io.collectives.bench.simulate;

/**
 * What is simulated on a network.
 *
 * @param bytes the payload of each rank
 * @param slabs into how many parts each chunk is cut, which follow each other through the plan
 * @param addNanosPerByte how long it takes to add a byte that has arrived
 * @param hostNanosPerByte how long a byte holds its sender's way out and its receiver's way in,
 *     which all links of a rank share; 0 if they share none
 */
public record Costs(double bytes, int slabs, double addNanosPerByte, double hostNanosPerByte) {
  /** Checks the numbers. */
  public Costs {
    if (!(bytes >= 0) || slabs < 1 || !(addNanosPerByte >= 0) || !(hostNanosPerByte >= 0)) {
      throw new IllegalArgumentException(
          bytes + " bytes in " + slabs + " slabs: at least 0 bytes and 1 slab are needed");
    }
  }

  /** One slab, and nothing but links takes time. */
  public static Costs of(double bytes) {
    return new Costs(bytes, 1, 0, 0);
  }
}
