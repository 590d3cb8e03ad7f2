package io.collectives.bench.simulate;

/**
 * The NICs and switches that ranks share beside the links between them.
 *
 * <p>Ranks fill hosts in order. What leaves or enters a host passes its NIC, one thing at a time,
 * in each direction. Hosts fill racks in order. What leaves a rack passes one of the uplinks of its
 * switch, and what enters it one of as many the other way: whichever is free first. Below 1 host's
 * worth there is one uplink with what there is; otherwise there are as many as full hosts' worths,
 * which share the rest.
 *
 * @param ranksPerHost at least 1
 * @param nicNanosPerByte how long a byte holds a NIC; 0 if there is no limit
 * @param hostsPerRack 0 if all hosts are on one switch that can carry whatever their NICs can
 * @param oversubscription how much more the NICs of a rack can carry than its uplinks, at least 1
 */
public record Hosts(
    int ranksPerHost, double nicNanosPerByte, int hostsPerRack, double oversubscription) {
  /** Each rank is a host by itself, and nothing is shared. */
  public static final Hosts NONE = new Hosts(1, 0, 0, 1);

  /** Checks the numbers. */
  public Hosts {
    if (ranksPerHost < 1
        || !(nicNanosPerByte >= 0 && nicNanosPerByte <= 1e9)
        || hostsPerRack < 0
        || !(oversubscription >= 1 && oversubscription <= 1e6)) {
      throw new IllegalArgumentException(
          ranksPerHost
              + " ranks on a host, "
              + hostsPerRack
              + " hosts in a rack, oversubscription "
              + oversubscription
              + ": at least 1 rank, 0 hosts and oversubscription 1 are needed");
    }
    if (hostsPerRack > 0 && nicNanosPerByte == 0) {
      throw new IllegalArgumentException(
          "racks of "
              + hostsPerRack
              + " hosts without a bandwidth of hosts: uplinks are as wide as that says");
    }
  }

  /** Returns whether anything is shared, or hosts have several ranks. */
  boolean any() {
    return !equals(NONE);
  }

  boolean racks() {
    return hostsPerRack > 0;
  }

  /** Returns how many uplinks a rack has, each way. */
  int uplinks() {
    return Math.max(1, (int) Math.floor(hostsPerRack / oversubscription));
  }

  /** Returns how long a byte holds one of them. */
  double uplinkNanosPerByte() {
    return nicNanosPerByte * oversubscription * uplinks() / hostsPerRack;
  }

  /** Returns a text such as {@code hosts of 8, racks of 16 hosts 3:1}. */
  @Override
  public String toString() {
    String text = "hosts of " + ranksPerHost;
    if (!racks()) {
      return text;
    }
    String ratio =
        oversubscription == Math.rint(oversubscription)
            ? Long.toString(Math.round(oversubscription))
            : Double.toString(oversubscription);
    return text + ", racks of " + hostsPerRack + " " + ratio + ":1";
  }
}
