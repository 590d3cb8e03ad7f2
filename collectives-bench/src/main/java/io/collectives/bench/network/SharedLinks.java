package io.collectives.bench.network;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Hosts of several ranks, which share the link of their host, and of which each has a part at most,
 * as where one endpoint cannot fill a link (Herring, section III-3). Each rank has a namespace,
 * which is plugged into that of its host, and both links have token buckets at both ends; see
 * {@link Network}:
 *
 * <pre>
 *   rank 0: eth0 10.77.0.2 ── e0 10.77.0.1 ┐
 *   rank 1: eth0 10.77.1.2 ── e1 10.77.1.1 ┴ host 0: eth0 10.78.0.2 ── r0 10.78.0.1 ── router
 * </pre>
 */
public final class SharedLinks implements Hosts {
  private final Namespace router;
  private final List<Namespace> gates = new ArrayList<>();
  private final List<Namespace> ranks = new ArrayList<>();
  private final Secret secret = new Secret();

  /**
   * Makes them.
   *
   * @param hostOf by rank the host, from 0 on
   * @param rate of each host's link, each way
   * @param endpoint the most that one rank has of it, each way
   * @throws IOException if that is not possible here, saying why
   */
  public SharedLinks(List<Integer> hostOf, LinkRate rate, LinkRate endpoint) throws IOException {
    router = new Namespace();
    try {
      router.forward();
      int hosts = 1 + hostOf.stream().mapToInt(Integer::intValue).max().orElse(0);
      for (int host = 0; host < hosts; host++) {
        Namespace gate = new Namespace();
        gates.add(gate);
        plug(router, gate, "r" + host, "10.78." + host, rate);
        gate.forward();
      }
      for (int rank = 0; rank < hostOf.size(); rank++) {
        Namespace own = new Namespace();
        ranks.add(own);
        int host = hostOf.get(rank);
        plug(gates.get(host), own, "e" + rank, "10.77." + rank, endpoint);
        own.waitPatiently();
        router.ip(List.of("route add 10.77." + rank + ".0/24 via 10.78." + host + ".2"));
      }
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  /** Connects two namespaces, of which the far one reaches all others by the near one. */
  private static void plug(Namespace near, Namespace far, String end, String net, LinkRate rate)
      throws IOException {
    near.ip(
        List.of(
            "link add " + end + " type veth peer name eth0 netns " + far.pid(),
            "address add " + net + ".1/24 dev " + end,
            "link set " + end + " up"));
    far.ip(
        List.of(
            "link set lo up",
            "address add " + net + ".2/24 dev eth0",
            "link set eth0 up",
            "route add default via " + net + ".1"));
    near.tc(List.of("qdisc add dev " + end + Network.bucket(rate)));
    far.tc(List.of("qdisc add dev eth0" + Network.bucket(rate)));
  }

  private static String address(int rank) {
    return "10.77." + rank + ".2";
  }

  @Override
  public int hosts() {
    return ranks.size();
  }

  @Override
  public List<String> on(int rank, List<String> command) {
    return ranks.get(rank).in(command);
  }

  @Override
  public Map<String, String> variables(int rank) {
    return secret.variables(address(0), address(rank));
  }

  @Override
  public void close() {
    ranks.forEach(Namespace::close);
    gates.forEach(Namespace::close);
    router.close();
  }
}
