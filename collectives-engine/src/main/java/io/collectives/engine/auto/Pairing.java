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
 * <p>Ranks of one neighbourhood use shared memory, unless there is no room for the rings of all of
 * them; else Unix-domain sockets; ranks of different ones TCP. Whatever one of the two does not
 * listen with is passed over.
 */
final class Pairing {
  /** The fastest first. */
  static final List<String> TRANSPORTS = List.of(SharedMemoryTransportProvider.NAME, "unix", "tcp");

  /** The one that reaches other hosts. */
  static final String ANYWHERE = "tcp";

  private final List<AutoAddress> ranks;
  private final Map<String, Crowd> crowds = new HashMap<>();

  /** What ranks of one neighbourhood that could share memory are together. */
  private record Crowd(long ranks, int room) {
    boolean fits() {
      return ranks * (ranks - 1) / 2 <= room;
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
