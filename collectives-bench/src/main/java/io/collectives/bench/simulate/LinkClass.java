package io.collectives.bench.simulate;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Links that are alike. */
public enum LinkClass {
  /** Along a row of a mesh. */
  X,
  /** Along a column of a mesh. */
  Y,
  /** Between neighbours of a mesh that stand in different pods. */
  PODS,
  /** Of ranks that stand in no mesh, on different hosts of a rack. */
  OTHER,
  /** Of ranks that share a host. */
  HOST,
  /** Of ranks whose hosts stand in different racks. */
  RACKS,
  /** Not between two ranks: what the ranks of a host share, one way. */
  NIC,
  /** Not between two ranks: what the hosts of a rack share, one way. */
  UPLINK;

  /**
   * Returns the classes of links between two ranks, which can be given a latency and a bandwidth.
   */
  static List<LinkClass> between() {
    return Arrays.stream(values()).filter(each -> each != NIC && each != UPLINK).toList();
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
