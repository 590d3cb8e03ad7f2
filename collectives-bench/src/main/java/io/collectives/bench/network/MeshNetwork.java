package io.collectives.bench.network;

import io.collectives.Mesh;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * A host for each rank, and a link of its own for each two that are neighbors on a mesh. All hosts
 * are network namespaces of Linux:
 *
 * <pre>
 *   rank 0  lo 10.77.0.2          rank 1  lo 10.77.1.2
 *           x+ ─────────────────────────── x-
 *           y+                             y+
 *           │                              │
 *           y-                             y-
 *   rank 2  lo 10.77.2.2          rank 3  lo 10.77.3.2
 * </pre>
 *
 * <p>A host has one address, which the interfaces of its links answer for. It knows the interface
 * by which each other host is reached: that of the link for a neighbor, and for others the first on
 * the {@linkplain MeshLinks way} there. Hosts pass on what is not for them. So a transfer to a rank
 * that is no neighbor takes the bandwidth of every link between.
 *
 * <p>A token bucket (tbf of tc) stands at both ends of each link, so each direction has the rate.
 * Packets are jumbo frames, so that headers take 1 % of it, or on slower links what passes in
 * {@link #PACKET_SECONDS}. The kernel hands on two of them in one piece at most: that is what a
 * bucket holds, and what is sent at once after a pause. A queue loses nothing.
 */
public final class MeshNetwork implements Hosts {
  /** The most hosts. */
  public static final int MOST_HOSTS = 64;

  private static final String[] INTERFACES = {"x+", "x-", "y+", "y-"};

  private static final int LONGEST_PACKET = 9_000;

  /** The least that every IPv4 link carries. */
  private static final int SHORTEST_PACKET = 576;

  /**
   * A packet takes no longer, so that a bucket of two is no more than some hops of short frames.
   */
  private static final double PACKET_SECONDS = 0.036;

  /** The time of the bytes that pass while a busy kernel is late to look at the bucket. */
  private static final double BURST_SECONDS = 0.002;

  /** More than the library has under way to any rank. */
  private static final int QUEUE = 64 << 20;

  private final MeshLinks links;
  private final List<Namespace> hosts = new ArrayList<>();
  private final Secret secret = new Secret();

  /**
   * Makes one.
   *
   * @param mesh of at most {@link #MOST_HOSTS} places
   * @param rates the rate of each link, by its number
   * @throws IOException if that is not possible here, saying why
   */
  public MeshNetwork(Mesh mesh, IntFunction<LinkRate> rates) throws IOException {
    links = new MeshLinks(mesh);
    try {
      for (int rank = 0; rank < mesh.ranks(); rank++) {
        hosts.add(new Namespace());
      }
      for (int rank = 0; rank < mesh.ranks(); rank++) {
        plug(rank);
      }
      for (int rank = 0; rank < mesh.ranks(); rank++) {
        direct(rank, rates);
        shape(rank, rates);
      }
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  /** Why there can be none here, found out by trying; empty if there can. */
  public static Optional<String> whyNot() {
    try {
      new MeshNetwork(new Mesh(2, 1, false, false), link -> LinkRate.parse("100Mbit/s")).close();
      return Optional.empty();
    } catch (IOException e) {
      return Optional.of(
          "each rank needs a host of its own, a network namespace of Linux: that needs root, and"
              + " unshare, nsenter, ip and tc: "
              + e.getMessage());
    }
  }

  /** Returns the name that the interface of a link has on its sender's host. */
  public static String interfaceOf(int direction) {
    return INTERFACES[direction];
  }

  /** Makes the links upward from a rank; those downward are the other ends of others'. */
  private void plug(int rank) throws IOException {
    List<String> commands = new ArrayList<>();
    for (int direction = 0; direction < MeshLinks.DIRECTIONS; direction += 2) {
      int link = direction * hosts.size() + rank;
      if (links.has(link)) {
        commands.add(
            "link add "
                + INTERFACES[direction]
                + " type veth peer name "
                + INTERFACES[direction + 1]
                + " netns "
                + hosts.get(links.end(link)).pid());
      }
    }
    hosts.get(rank).ip(commands);
  }

  private void direct(int rank, IntFunction<LinkRate> rates) throws IOException {
    List<String> commands = new ArrayList<>();
    commands.add("link set lo up");
    commands.add("address add " + address(rank) + "/32 dev lo");
    for (int link = rank; link < MeshLinks.DIRECTIONS * hosts.size(); link += hosts.size()) {
      if (links.has(link)) {
        int packet = packet(rates.apply(link));
        commands.add(
            "link set " + at(link) + " mtu " + packet + " gso_max_size " + 2 * packet + " up");
      }
    }
    int[] way = new int[links.longestPath()];
    for (int other = 0; other < hosts.size(); other++) {
      if (other != rank) {
        links.path(rank, other, way);
        int next = links.end(way[0]);
        String through = next == other ? "" : " via " + address(next);
        commands.add(
            "route add "
                + address(other)
                + through
                + " dev "
                + at(way[0])
                + (next == other ? "" : " onlink")
                + " src "
                + address(rank));
      }
    }
    hosts.get(rank).ip(commands);
    hosts.get(rank).forward();
    hosts.get(rank).waitPatiently();
  }

  private void shape(int rank, IntFunction<LinkRate> rates) throws IOException {
    List<String> commands = new ArrayList<>();
    for (int link = rank; link < MeshLinks.DIRECTIONS * hosts.size(); link += hosts.size()) {
      if (links.has(link)) {
        long rate = rates.apply(link).bitsPerSecond();
        int piece = 2 * packet(rates.apply(link));
        long burst = Math.max(piece + piece / 16 + 64, (long) (rate / 8 * BURST_SECONDS));
        commands.add(
            "qdisc add dev "
                + at(link)
                + " root tbf rate "
                + rate
                + "bit burst "
                + burst
                + " limit "
                + QUEUE);
      }
    }
    hosts.get(rank).tc(commands);
  }

  private static int packet(LinkRate rate) {
    double bytes = rate.bitsPerSecond() / 8.0 * PACKET_SECONDS;
    return (int) Math.max(SHORTEST_PACKET, Math.min(LONGEST_PACKET, bytes));
  }

  private String at(int link) {
    return INTERFACES[link / hosts.size()];
  }

  private static String address(int rank) {
    return "10.77." + rank + ".2";
  }

  @Override
  public int hosts() {
    return hosts.size();
  }

  @Override
  public List<String> on(int rank, List<String> command) {
    return hosts.get(rank).in(command);
  }

  @Override
  public Map<String, String> variables(int rank) {
    return secret.variables(address(0), address(rank));
  }

  @Override
  public void close() {
    hosts.forEach(Namespace::close);
  }
}
