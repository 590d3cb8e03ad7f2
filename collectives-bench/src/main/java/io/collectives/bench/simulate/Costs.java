package io.collectives.bench.simulate;

/**
 * The load and the costs that are simulated on a network.
 *
 * @param bytes what the plan cuts into chunks: the payload of each rank, and of an all-to-all those
 *     of all ranks together
 * @param slabs into how many parts each chunk is cut, which follow each other through the plan
 * @param addNanosPerByte how long it takes to add a byte that has arrived
 */
public record Costs(double bytes, int slabs, double addNanosPerByte) {
  /** Checks the numbers. */
  public Costs {
    if (!(bytes >= 0) || slabs < 1 || !(addNanosPerByte >= 0)) {
      throw new IllegalArgumentException(
          bytes + " bytes in " + slabs + " slabs: at least 0 bytes and 1 slab are needed");
    }
  }

  /** Returns costs of one slab, where only links take time. */
  public static Costs of(double bytes) {
    return new Costs(bytes, 1, 0);
  }
}
