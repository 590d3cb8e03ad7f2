package io.collectives.spi;

import java.util.List;

/**
 * The result of a rendezvous, which is the same for all ranks.
 *
 * @param epoch of this run of the job
 * @param addresses where each rank's endpoint is, in the order of ranks, in the words of the
 *     transport; empty for a rank with which this transport is to have no link
 */
public record Roster(JobEpoch epoch, List<String> addresses) {

  /** Keeps a copy of the list. */
  public Roster {
    addresses = List.copyOf(addresses);
  }
}
