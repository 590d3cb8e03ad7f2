package io.collectives.engine.choice;

import io.collectives.spi.Transport;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The placement of the ranks of a group on hosts. All of the ranks have equal ones.
 *
 * @param locality one of the last four
 * @param mesh as {@code 4x2} for two hosts of four ranks that follow each other; empty unless all
 *     hosts have as many
 */
public record Placement(Locality locality, String mesh) {

  /**
   * Returns the placement of a group.
   *
   * @param hosts of each rank of the job a number of its host, if pairs of ranks of one host share
   *     memory, and others do not; else nothing
   * @param members the ranks of the group, counted in the job
   */
  public static Placement of(Transport transport, int[] hosts, int[] members) {
    if (Arrays.stream(hosts).distinct().count() < 2) {
      return new Placement(Locality.of(transport), "");
    }
    int[] own = Arrays.stream(members).map(member -> hosts[member]).toArray();
    int several = (int) Arrays.stream(own).distinct().count();
    if (several == 1) {
      return new Placement(Locality.SHARED_MEMORY, "");
    }
    if (several == own.length) {
      return new Placement(Locality.SOCKETS, "");
    }
    int each = own.length / several;
    boolean even =
        own.length % several == 0
            && IntStream.range(0, own.length).allMatch(i -> own[i] == own[i / each * each]);
    return new Placement(Locality.HOSTS, even ? each + "x" + several : "");
  }
}
