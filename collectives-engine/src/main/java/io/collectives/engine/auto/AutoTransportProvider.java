package io.collectives.engine.auto;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.UnavailableException;
import io.collectives.engine.sharedmemory.SharedMemoryDomain;
import io.collectives.engine.sharedmemory.SharedMemoryTransportProvider;
import io.collectives.internal.Log;
import io.collectives.internal.Services;
import io.collectives.spi.Roster;
import io.collectives.spi.TransportProvider;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Transport {@code auto}: each pair of ranks uses the fastest transport that reaches from one to
 * the other, shared memory, Unix-domain sockets or TCP; see {@link Pairing}. A rank listens with
 * all of them; when it knows the others, it opens those that some pair of its own uses, and closes
 * the rest.
 *
 * <p><b>What is left out.</b> Shared memory and Unix-domain sockets, where they cannot be used: on
 * a host without them, without a directory that fits, or where the module is not on the class path.
 * If shared memory is left out because of a directory there is a warning, which says what to do;
 * the log tells of all else at level debug. That TCP cannot listen is an error, because it works on
 * every host, and whoever has set a wrong address must hear of it.
 *
 * <p><b>Security.</b> Each transport keeps its own promises. With TLS, shared memory is left out:
 * there a rank is known by its user, not by the certificate that says which rank it may be. A job
 * secret does not leave it out: whoever can enter the directory of the rank can read the secret in
 * its memory.
 */
public final class AutoTransportProvider implements TransportProvider {
  private static final Log LOG = Log.of(AutoTransportProvider.class);

  /** By which users ask for it. */
  public static final String NAME = "auto";

  /** For {@link java.util.ServiceLoader}. */
  public AutoTransportProvider() {}

  @Override
  public String name() {
    return NAME;
  }

  /**
   * By rank the number of its host: the same for ranks that could share memory, in the order in
   * which they appear.
   *
   * @param roster of ranks that listen with this transport
   */
  public static int[] hosts(Roster roster) {
    List<String> seen = new ArrayList<>();
    int[] hosts = new int[roster.addresses().size()];
    for (int rank = 0; rank < hosts.length; rank++) {
      String key = AutoAddress.parse(roster.addresses().get(rank)).where().key();
      if (!seen.contains(key)) {
        seen.add(key);
      }
      hosts[rank] = seen.indexOf(key);
    }
    return hosts;
  }

  /**
   * Returns the address of one transport in what a rank announces that listens with this one.
   *
   * @param name of the transport
   * @return null if it does not listen with that, or announces something else
   */
  public static @Nullable String addressBy(String name, String announced) {
    try {
      return AutoAddress.parse(announced).addresses().get(name);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  @Override
  public Endpoint listen(JobSettings settings) {
    Map<String, TransportProvider> providers = providers();
    Map<String, Endpoint> endpoints = new LinkedHashMap<>();
    List<String> reasons = new ArrayList<>();
    String unshared = null;
    try {
      for (String name : Pairing.TRANSPORTS) {
        TransportProvider provider = providers.get(name);
        if (provider == null) {
          reasons.add(name + ": not on the class path");
        } else if (name.equals(SharedMemoryTransportProvider.NAME)
            && settings.security().tls() != null) {
          reasons.add(name + ": has no TLS");
        } else if (name.equals(Pairing.ANYWHERE)) {
          endpoints.put(name, provider.listen(settings));
        } else {
          try {
            endpoints.put(name, provider.listen(settings));
          } catch (JoinException e) {
            reasons.add(name + ": " + e.getMessage());
            if (name.equals(SharedMemoryTransportProvider.NAME)
                && !(e.getCause() instanceof UnsupportedOperationException)) {
              unshared = e.getMessage();
            }
          }
        }
      }
    } catch (RuntimeException | Error e) {
      endpoints.values().forEach(Endpoint::close);
      throw e;
    }
    AutoAddress address = address(settings, endpoints, reasons);
    for (String reason : reasons) {
      LOG.debug("rank {} does without {}", settings.rank(), reason);
    }
    if (endpoints.isEmpty()) {
      throw new UnavailableException(
          "rank "
              + settings.rank()
              + " has no way to be reached: "
              + String.join("; ", reasons)
              + "; \"tcp\" comes with the dependency io.collectives:collectives-netty");
    }
    if (unshared != null && settings.size() > 1) {
      LOG.warn(
          "ranks of one host will be slower than they could be, as they reach this one by {}: {}",
          String.join(" or ", endpoints.keySet()),
          unshared);
    }
    return new AutoEndpoint(settings, address, endpoints);
  }

  /** Leaves out endpoints, the least useful first, until the address can be announced. */
  private static AutoAddress address(
      JobSettings settings, Map<String, Endpoint> endpoints, List<String> reasons) {
    SharedMemoryDomain where = SharedMemoryDomain.of(settings);
    AutoAddress address = AutoAddress.of(where, endpoints);
    for (String name : List.of("unix", SharedMemoryTransportProvider.NAME)) {
      Endpoint least = endpoints.get(name);
      if (!address.canBeAnnounced(settings.job()) && least != null && endpoints.size() > 1) {
        least.close();
        endpoints.remove(name);
        reasons.add(name + ": the names of the directories are too long to be announced");
        address = AutoAddress.of(where, endpoints);
      }
    }
    return address;
  }

  private static Map<String, TransportProvider> providers() {
    Map<String, TransportProvider> providers = new LinkedHashMap<>();
    for (TransportProvider provider : Services.of(TransportProvider.class)) {
      providers.putIfAbsent(provider.name(), provider);
    }
    return providers;
  }
}
