package io.collectives.engine.auto;

import io.collectives.engine.sharedmemory.SharedMemoryTransportProvider;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which transport each pair of ranks uses. A function of the addresses that all ranks have learned
 * alike, and of a pair without order, so both ends decide the same and nothing has to be agreed on.
 *
 * <p>Ranks of one domain use shared memory, unless there is no room for the rings of all of them;
 * else Unix-domain sockets; ranks of different ones TCP. Whatever one of the two does not listen
 * with is passed over.
 */
final class Pairing {
  /** The fastest first. */
  static final List<String> TRANSPORTS = List.of(SharedMemoryTransportProvider.NAME, "unix", "tcp");

  /** The one that reaches other hosts. */
  static final String ANYWHERE = "tcp";

  private final List<AutoAddress> ranks;
  private final Map<String, Crowd> crowds = new HashMap<>();

  /** The numbers of the ranks of one domain that could share memory. */
  private record Crowd(long ranks, int room) {
    long pairs() {
      return ranks * (ranks - 1) / 2;
    }

    boolean fits() {
      return pairs() <= room;
    }
  }

  Pairing(List<AutoAddress> ranks) {
    this.ranks = new ArrayList<>(ranks);
    for (AutoAddress rank : ranks) {
      if (rank.addresses().containsKey(SharedMemoryTransportProvider.NAME)) {
        crowds.merge(
            rank.where().key(),
            new Crowd(1, rank.where().room()),
            (all, one) -> new Crowd(all.ranks + 1, Math.min(all.room, one.room)));
      }
    }
  }

  /** The name of the transport between two ranks; nothing if they have none in common. */
  @Nullable String between(int one, int other) {
    for (String name : TRANSPORTS) {
      if (reaches(name, ranks.get(one), ranks.get(other))) {
        return name;
      }
    }
    return null;
  }

  /**
   * Why ranks of a domain share no memory though all could, for people; nothing if they do, or for
   * any but the first of them.
   */
  @Nullable String crowding(int rank) {
    Crowd crowd = crowds.get(ranks.get(rank).where().key());
    if (crowd == null || crowd.fits() || !isFirst(rank)) {
      return null;
    }
    return crowd.ranks
        + " ranks of host "
        + ranks.get(rank).where().host()
        + " could share memory, for which "
        + crowd.pairs()
        + " pairs of them need rings, but there is room for "
        + crowd.room;
  }

  private boolean isFirst(int rank) {
    for (int other = 0; other < rank; other++) {
      if (sharesMemory(other) && ranks.get(other).where().isSame(ranks.get(rank).where())) {
        return false;
      }
    }
    return sharesMemory(rank);
  }

  private boolean sharesMemory(int rank) {
    return ranks.get(rank).addresses().containsKey(SharedMemoryTransportProvider.NAME);
  }

  private boolean reaches(String name, AutoAddress one, AutoAddress other) {
    if (!one.addresses().containsKey(name) || !other.addresses().containsKey(name)) {
      return false;
    }
    if (name.equals(ANYWHERE)) {
      return true;
    }
    if (!one.where().isSame(other.where())) {
      return false;
    }
    Crowd crowd = crowds.get(one.where().key());
    return !name.equals(SharedMemoryTransportProvider.NAME) || crowd != null && crowd.fits();
  }
}
