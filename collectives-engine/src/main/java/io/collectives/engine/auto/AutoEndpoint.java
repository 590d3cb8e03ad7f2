package io.collectives.engine.auto;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.Log;
import io.collectives.internal.RankDirectory;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider.Endpoint;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A rank that listens with several transports. */
final class AutoEndpoint implements Endpoint {
  private static final Log LOG = Log.of(AutoEndpoint.class);

  private final JobSettings settings;
  private final AutoAddress address;

  /** By name, the fastest first; those that are neither opened nor closed yet. */
  private final Map<String, Endpoint> endpoints;

  private boolean done;

  /**
   * Takes over endpoints.
   *
   * @param address that of the endpoints
   * @param endpoints by the name of the transport, the fastest first, at least one
   */
  AutoEndpoint(JobSettings settings, AutoAddress address, Map<String, Endpoint> endpoints) {
    this.settings = settings;
    this.address = address;
    this.endpoints = new LinkedHashMap<>(endpoints);
  }

  @Override
  public String address() {
    return address.toString();
  }

  /** If all links are of one transport, it is that transport that is opened. */
  @Override
  public synchronized Transport open(Roster roster) {
    if (done) {
      throw new IllegalStateException("the endpoint " + address + " has been opened or closed");
    }
    if (roster.addresses().size() != settings.size()) {
      throw new IllegalArgumentException(
          roster.addresses().size() + " addresses for a job of " + settings.size() + " ranks");
    }
    List<AutoAddress> peers = peers(roster);
    List<@Nullable String> names = names(peers);
    Map<String, Transport> opened = new LinkedHashMap<>();
    try {
      for (Map.Entry<String, Endpoint> entry : endpoints.entrySet()) {
        String name = entry.getKey();
        if (names.contains(name)) {
          opened.put(name, entry.getValue().open(roster(roster, peers, names, name)));
        }
      }
      done = true;
      endpoints.values().forEach(Endpoint::close); // Those that were opened do not mind.
    } catch (RuntimeException | Error e) {
      opened.values().forEach(Transport::close);
      throw e;
    }
    LOG.debug("rank {} on {}: {}", settings.rank(), address.where().host(), describe(names));
    return opened.size() == 1
        ? opened.values().iterator().next()
        : new MixedTransport(settings.rank(), names, opened);
  }

  private static List<AutoAddress> peers(Roster roster) {
    List<AutoAddress> peers = new ArrayList<>();
    for (int rank = 0; rank < roster.addresses().size(); rank++) {
      try {
        peers.add(AutoAddress.parse(roster.addresses().get(rank)));
      } catch (IllegalArgumentException e) {
        throw new JoinException("rank " + rank + " announced " + e.getMessage(), e);
      }
    }
    return peers;
  }

  /** Which transport leads to each rank; a rank that is alone has one that leads to itself. */
  private List<@Nullable String> names(List<AutoAddress> peers) {
    Pairing pairing = new Pairing(peers);
    String crowding = pairing.crowding(settings.rank());
    if (crowding != null) {
      LOG.warn(
          "ranks of one host will be slower than they could be: {} in {}; make more room there (in a"
              + " container it is 64 MB unless told otherwise), choose another directory with"
              + " COLLECTIVES_MEMORY_DIRECTORY or JobSettings.withMemoryDirectory, or a shorter"
              + " frame length",
          crowding,
          settings.memoryDirectory() == null
              ? RankDirectory.usualPlace()
              : settings.memoryDirectory());
    }
    List<@Nullable String> names = new ArrayList<>();
    for (int peer = 0; peer < peers.size(); peer++) {
      if (peer == settings.rank()) {
        names.add(peers.size() == 1 ? endpoints.keySet().iterator().next() : null);
        continue;
      }
      String name = pairing.between(settings.rank(), peer);
      if (name == null) {
        throw new JoinException(
            "no transport leads from rank "
                + settings.rank()
                + " to rank "
                + peer
                + ": the one listens with "
                + reach(address)
                + ", the other with "
                + reach(peers.get(peer))
                + "; \"tcp\", which leads everywhere, comes with the dependency"
                + " io.collectives:collectives-netty");
      }
      names.add(name);
    }
    return names;
  }

  private static String reach(AutoAddress rank) {
    return String.join(", ", rank.addresses().keySet()) + " on host " + rank.where().host();
  }

  private Roster roster(
      Roster all, List<AutoAddress> peers, List<@Nullable String> names, String name) {
    List<String> addresses = new ArrayList<>();
    for (int peer = 0; peer < peers.size(); peer++) {
      boolean leads = peer == settings.rank() || name.equals(names.get(peer));
      addresses.add(leads ? peers.get(peer).addresses().getOrDefault(name, "") : "");
    }
    return new Roster(all.epoch(), addresses);
  }

  /** Returns a text such as "shm to ranks [1, 2], tcp to ranks [3]". */
  private static String describe(List<@Nullable String> names) {
    Map<String, List<Integer>> ranks = new LinkedHashMap<>();
    for (int rank = 0; rank < names.size(); rank++) {
      String name = names.get(rank);
      if (name != null) {
        ranks.computeIfAbsent(name, key -> new ArrayList<>()).add(rank);
      }
    }
    List<String> parts = new ArrayList<>();
    ranks.forEach((name, to) -> parts.add(name + " to ranks " + to));
    return String.join(", ", parts);
  }

  @Override
  public synchronized void close() {
    if (!done) {
      done = true;
      endpoints.values().forEach(Endpoint::close);
    }
  }
}
