package io.collectives.ps;

import io.collectives.Algorithm.ParameterServer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The distribution of the payload over the ranks in {@link ParameterServerPlan}. A payload is cut
 * into parts, one for each server, and each part into chunks, so many that the following shares are
 * equal.
 *
 * <p><b>On a host of workers</b> each of g owns, after they have reduced among themselves, a gth of
 * the parts of all servers elsewhere, one after the other:
 *
 * <pre>
 *   3 servers elsewhere, g = 2, 2 chunks in a part
 *     chunks        0   1  |  2   3  |  4   5
 *     owners        0   0     0   1     1   1
 * </pre>
 *
 * <p>The part of a server that is one of the host's workers belongs to that worker alone. A worker
 * that is alone on its host owns all parts.
 *
 * <p><b>At a server of P proxies</b> the workers that own some of its part are distributed over the
 * proxies in the order of their shares, so that each proxy holds contributions to one range of
 * chunks, and as few others as possible to the same ones. The chunks are distributed over the
 * proxies, too, to be added up; but a chunk that only one of them received is complete there.
 */
final class Shares {
  /** Then shares of most numbers of ranks are equal, and the others differ little. */
  private static final int MOST_CHUNKS_OF_PART = 120;

  final int ranks;
  final int workers;
  final int servers;
  final int chunksOfPart;

  /** True if workers of one host reduce among themselves first. */
  final boolean hierarchical;

  private final int shared;

  /** The workers of each host, ascending. */
  final int[][] hosts;

  private final int[] hostOf;
  private final int[] placeOnHost;

  /** The servers among the workers of each host, ascending. */
  private final int[][] serversOnHost;

  /** The ranks of each server. */
  final int[][] proxies;

  private final Dealt[] dealt;

  /**
   * The distribution of a server's part over its proxies.
   *
   * @param proxyOfWorker the proxy of each worker, -1 if it owns nothing of the part
   * @param from the first chunk of the part to which each proxy receives contributions
   * @param to the end of these for each proxy
   * @param ownerOfChunk the proxy that adds up each chunk of the part
   */
  private record Dealt(int[] proxyOfWorker, int[] from, int[] to, int[] ownerOfChunk) {}

  /**
   * Computes the shares for a group.
   *
   * @throws IllegalArgumentException if the servers do not fit, or a proxy would have no worker
   */
  Shares(int ranks, ParameterServer algorithm) {
    this.ranks = ranks;
    workers = ranks - algorithm.dedicated();
    shared = algorithm.shared();
    int[][] together = together(algorithm, 0, workers);
    hierarchical = together.length > 1 && together.length < workers;
    hosts =
        hierarchical
            ? together
            : IntStream.range(0, workers).mapToObj(Shares::one).toArray(int[][]::new);
    hostOf = new int[workers];
    placeOnHost = new int[workers];
    serversOnHost = new int[hosts.length][];
    for (int host = 0; host < hosts.length; host++) {
      for (int place = 0; place < hosts[host].length; place++) {
        hostOf[hosts[host][place]] = host;
        placeOnHost[hosts[host][place]] = place;
      }
      serversOnHost[host] = Arrays.stream(hosts[host]).filter(rank -> rank < shared).toArray();
    }
    List<int[]> all = new ArrayList<>();
    IntStream.range(0, shared).mapToObj(Shares::one).forEach(all::add);
    all.addAll(List.of(together(algorithm, workers, ranks)));
    proxies = all.toArray(int[][]::new);
    servers = proxies.length;
    chunksOfPart = chunksOfPart();
    dealt = new Dealt[servers];
    for (int server = 0; server < servers; server++) {
      if (proxies[server].length > 1) {
        dealt[server] = deal(server);
      }
    }
  }

  private static int[] one(int rank) {
    return new int[] {rank};
  }

  /** Returns the ranks of each host, in the order of the first ones. */
  private static int[][] together(ParameterServer algorithm, int from, int to) {
    Map<Integer, List<Integer>> byHost = new LinkedHashMap<>();
    for (int rank = from; rank < to; rank++) {
      int host = algorithm.hosts().isEmpty() ? rank : algorithm.hosts().get(rank);
      byHost.computeIfAbsent(host, key -> new ArrayList<>()).add(rank);
    }
    return byHost.values().stream()
        .map(ranks -> ranks.stream().mapToInt(Integer::intValue).toArray())
        .toArray(int[][]::new);
  }

  /** Refuses servers for which there are no ranks. */
  static void requireFit(int ranks, ParameterServer algorithm) {
    int servers = algorithm.servers();
    if (servers > ranks) {
      throw new IllegalArgumentException(
          "parameter server with "
              + servers
              + " servers in a group of "
              + ranks
              + " ranks: the servers are ranks of the group, so 1 to "
              + ranks
              + " can serve");
    }
    if (algorithm.dedicated() == ranks) {
      throw new IllegalArgumentException(
          "parameter server with "
              + algorithm.dedicated()
              + " dedicated servers in a group of "
              + ranks
              + " ranks: at least 1 must be a worker");
    }
    if (!algorithm.fits(ranks)) {
      throw new IllegalArgumentException(
          "parameter server on hosts of "
              + algorithm.hosts().size()
              + " ranks in a group of "
              + ranks
              + ": the host of each rank of the group is needed");
    }
  }

  /** Returns the smallest number of chunks for which all shares are equal, unless it is large. */
  private int chunksOfPart() {
    int most = 1;
    long common = 1;
    for (int[] server : proxies) {
      most = Math.max(most, server.length);
      common = leastCommonMultiple(common, server.length);
    }
    for (int host = 0; host < hosts.length; host++) {
      int elsewhere = elsewhere(host);
      if (elsewhere > 0) {
        int least = hosts[host].length / (int) greatestDivisor(hosts[host].length, elsewhere);
        most = Math.max(most, least);
        common = leastCommonMultiple(common, least);
      }
    }
    return common <= MOST_CHUNKS_OF_PART ? (int) common : Math.max(most, MOST_CHUNKS_OF_PART);
  }

  /** Returns the least common multiple, or a number above the limit of {@link #chunksOfPart}. */
  private static long leastCommonMultiple(long a, int b) {
    return a > MOST_CHUNKS_OF_PART ? a : a / greatestDivisor(a, b) * b;
  }

  private static long greatestDivisor(long a, long b) {
    return b == 0 ? a : greatestDivisor(b, a % b);
  }

  private int elsewhere(int host) {
    return servers - serversOnHost[host].length;
  }

  /**
   * Returns the first chunk of a server's part that a worker owns, counted from the first of the
   * part.
   */
  int from(int server, int worker) {
    return bound(server, worker, 0);
  }

  /**
   * Returns the end of the chunks that begin with {@link #from}, which is the same if there are
   * none.
   */
  int to(int server, int worker) {
    return bound(server, worker, 1);
  }

  private int bound(int server, int worker, int end) {
    int host = hostOf[worker];
    if (server < shared && hostOf[server] == host) {
      return worker == server ? end * chunksOfPart : 0;
    }
    int before = 0;
    for (int own : serversOnHost[host]) {
      before += own < server ? 1 : 0;
    }
    long all = (long) elsewhere(host) * chunksOfPart;
    long bound = (placeOnHost[worker] + end) * all / hosts[host].length;
    return (int)
        Math.max(0, Math.min(chunksOfPart, bound - (long) (server - before) * chunksOfPart));
  }

  /** Returns whether a worker owns chunks of its host that it exchanges with a server. */
  boolean speaks(int server, int worker) {
    return proxies[server][0] != worker && from(server, worker) < to(server, worker);
  }

  /** Returns the rank of a server with which a worker exchanges data. */
  int proxy(int server, int worker) {
    return dealt[server] == null
        ? proxies[server][0]
        : proxies[server][dealt[server].proxyOfWorker[worker]];
  }

  /** Returns the number of runs of chunks in which one worker exchanges a part, at most. */
  int mostRuns() {
    int most = 0;
    for (int server = 0; server < servers; server++) {
      for (int worker = 0; worker < workers; worker++) {
        most = Math.max(most, speaks(server, worker) ? runs(server, worker).size() : 0);
      }
    }
    return most;
  }

  /** Returns the chunks of a part that a worker exchanges with its server, by who adds them up. */
  List<Run> runs(int server, int worker) {
    int from = from(server, worker);
    int to = to(server, worker);
    Dealt deal = dealt[server];
    if (deal == null) {
      return List.of(new Run(proxies[server][0], from, to - from));
    }
    List<Run> runs = new ArrayList<>();
    for (int start = from, end; start < to; start = end) {
      int owner = deal.ownerOfChunk[start];
      for (end = start + 1; end < to && deal.ownerOfChunk[end] == owner; ) {
        end++;
      }
      runs.add(new Run(proxies[server][owner], start, end - start));
    }
    return runs;
  }

  /**
   * Some chunks of a part.
   *
   * @param owner the rank that adds them up
   */
  record Run(int owner, int from, int count) {}

  /** Returns whether any server has several proxies. */
  boolean hasProxies() {
    return Arrays.stream(proxies).anyMatch(ranks -> ranks.length > 1);
  }

  /**
   * Passes to a function the ranges of chunks of a server's part that one proxy adds up and another
   * one receives.
   */
  void eachRange(int server, int owner, int other, Range range) {
    Dealt deal = dealt[server];
    int start = -1;
    for (int chunk = deal.from[other]; chunk <= deal.to[other]; chunk++) {
      boolean owned = chunk < deal.to[other] && deal.ownerOfChunk[chunk] == owner;
      if (owned && start < 0) {
        start = chunk;
      } else if (!owned && start >= 0) {
        range.chunks(start, chunk - start);
        start = -1;
      }
    }
  }

  /** Some chunks of a part. */
  @FunctionalInterface
  interface Range {
    /** Takes them. */
    void chunks(int first, int count);
  }

  private Dealt deal(int server) {
    int count = proxies[server].length;
    int[] speakers =
        IntStream.range(0, workers)
            .filter(worker -> speaks(server, worker))
            .boxed()
            .sorted(Comparator.comparingInt(worker -> from(server, worker)))
            .mapToInt(Integer::intValue)
            .toArray();
    if (speakers.length < count) {
      throw new IllegalArgumentException(
          "parameter server with "
              + count
              + " proxies, and "
              + speakers.length
              + (speakers.length == 1 ? " worker" : " workers")
              + " that speak with server "
              + server
              + ": each proxy needs one; give the servers at most "
              + speakers.length
              + " proxies");
    }
    int[] proxyOfWorker = new int[workers];
    Arrays.fill(proxyOfWorker, -1);
    int[] from = new int[count];
    Arrays.fill(from, chunksOfPart);
    int[] to = new int[count];
    for (int i = 0; i < speakers.length; i++) {
      int proxy = (int) ((long) i * count / speakers.length);
      proxyOfWorker[speakers[i]] = proxy;
      from[proxy] = Math.min(from[proxy], from(server, speakers[i]));
      to[proxy] = Math.max(to[proxy], to(server, speakers[i]));
    }
    int[] owners = new int[chunksOfPart];
    for (int chunk = 0; chunk < chunksOfPart; chunk++) {
      int at = chunk;
      int[] sent =
          IntStream.range(0, count).filter(proxy -> from[proxy] <= at && at < to[proxy]).toArray();
      owners[chunk] =
          sent.length == 1 ? sent[0] : (int) (((long) chunk + 1) * count - 1) / chunksOfPart;
    }
    return new Dealt(proxyOfWorker, from, to, owners);
  }
}
