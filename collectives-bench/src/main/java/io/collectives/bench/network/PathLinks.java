package io.collectives.bench.network;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A host for each rank, with an address for each TCP path. Paths have links of their own to a
 * router, or share one of which the connection of a path has a part at most:
 *
 * <pre>
 *   rank 0: eth0 10.77.0.2 ── l0r0 10.77.0.1 ┬ router
 *           eth1 10.78.0.2 ── l1r0 10.78.0.1 ┘
 *   rank 0: eth0 10.77.0.2, 10.77.0.3 ── l0r0 10.77.0.1 ─ router
 * </pre>
 *
 * <p>Links have token buckets at both ends; see {@link Network}. A path's part of a link is a class
 * of the hierarchical token bucket, which packets belong to by their addresses.
 */
public final class PathLinks implements Hosts {
  /** Link i of hosts has network 10.(FIRST_NET + i). */
  private static final int FIRST_NET = 77;

  /** The places of the addresses in the header of a packet. */
  private static final List<Integer> ADDRESSES_AT = List.of(12, 16);

  private static final String BURST = "bit burst 80k cburst 80k";

  private final Namespace router;
  private final List<Namespace> hosts = new ArrayList<>();
  private final Secret secret = new Secret();

  /** By path the link that it takes. */
  private final List<Integer> linkOf;

  /**
   * Makes hosts whose links have several rates, each for a path.
   *
   * @param rates of the links of each host, each way, at least one
   * @throws IOException if that is not possible here, saying why
   */
  public PathLinks(int ranks, List<LinkRate> rates) throws IOException {
    this(ranks, rates, IntStream.range(0, rates.size()).boxed().toList());
  }

  /**
   * Makes hosts with one link, which a connection does not fill.
   *
   * @param rate of each link, each way
   * @param connection the most that the connection of one path has of what a host sends
   * @param paths from 1 to 8
   * @throws IOException if that is not possible here, saying why
   */
  public PathLinks(int ranks, LinkRate rate, LinkRate connection, int paths) throws IOException {
    this(ranks, List.of(rate), Collections.nCopies(paths, 0));
    try {
      for (Namespace host : hosts) {
        host.tc(parts(rate, connection, paths));
      }
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  private PathLinks(int ranks, List<LinkRate> rates, List<Integer> linkOf) throws IOException {
    this.linkOf = linkOf;
    router = new Namespace();
    try {
      router.forward();
      for (int rank = 0; rank < ranks; rank++) {
        Namespace host = new Namespace();
        hosts.add(host);
        host.ip(List.of("link set lo up"));
        for (int link = 0; link < rates.size(); link++) {
          plug(rank, link, rates.get(link));
        }
        host.waitPatiently();
      }
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  private void plug(int rank, int link, LinkRate rate) throws IOException {
    Namespace host = hosts.get(rank);
    String far = "l" + link + "r" + rank;
    String eth = "eth" + link;
    String all = "10." + (FIRST_NET + link);
    router.ip(
        List.of(
            "link add " + far + " type veth peer name " + eth + " netns " + host.pid(),
            "address add " + all + "." + rank + ".1/24 dev " + far,
            "link set " + far + " up"));
    List<String> own = new ArrayList<>();
    for (int path = 0; path < linkOf.size(); path++) {
      if (linkOf.get(path) == link) {
        own.add("address add " + address(rank, path) + "/24 dev " + eth);
      }
    }
    own.add("link set " + eth + " up");
    own.add("route add " + all + ".0.0/16 via " + all + "." + rank + ".1");
    host.ip(own);
    router.tc(List.of("qdisc add dev " + far + Network.bucket(rate)));
    host.tc(List.of("qdisc add dev " + eth + Network.bucket(rate)));
  }

  /** The first path's packets belong to what has no other class. */
  private static List<String> parts(LinkRate rate, LinkRate connection, int paths) {
    List<String> shape = new ArrayList<>();
    shape.add("qdisc del dev eth0 root");
    shape.add("qdisc add dev eth0 root handle 1: htb default 10");
    shape.add("class add dev eth0 parent 1: classid 1:1 htb rate " + rate.bitsPerSecond() + BURST);
    for (int path = 0; path < paths; path++) {
      String part = "1:1" + path;
      long bits = connection.bitsPerSecond();
      shape.add("class add dev eth0 parent 1:1 classid " + part + " htb rate " + bits + BURST);
      for (int at : path == 0 ? List.<Integer>of() : ADDRESSES_AT) {
        shape.add(
            "filter add dev eth0 parent 1: protocol ip prio 1 u32 match u32 "
                + lastByte(0, path)
                + " 0xff at "
                + at
                + " flowid "
                + part);
      }
    }
    return shape;
  }

  /** The last byte of an address: paths of a link have one after the other. */
  private static int lastByte(int firstOfLink, int path) {
    return 2 + path - firstOfLink;
  }

  private String address(int rank, int path) {
    int link = linkOf.get(path);
    int last = lastByte(linkOf.indexOf(link), path);
    return "10." + (FIRST_NET + link) + "." + rank + "." + last;
  }

  /** From now on nothing passes on one link of a rank, and nobody is told. */
  public void cut(int rank, int link) throws IOException {
    router.ip(List.of("link set l" + link + "r" + rank + " down"));
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
    String own =
        IntStream.range(0, linkOf.size())
            .mapToObj(path -> address(rank, path))
            .collect(Collectors.joining(","));
    return secret.variables(address(0, 0), own);
  }

  @Override
  public void close() {
    hosts.forEach(Namespace::close);
    router.close();
  }
}
