package io.collectives.bench.perf;

import io.collectives.Algorithm.ParameterServer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Which ranks of a job on this machine are threads of one process, and which hosts it stands for.
 *
 * @param processes by process the number of its ranks, which follow each other
 * @param hosts by rank the name of its host, as COLLECTIVES_HOST tells it; nothing if all are on
 *     this one
 */
public record Seating(List<Integer> processes, List<String> hosts) {

  /** A process for each rank, all on this host. */
  public static Seating alone(int ranks) {
    return new Seating(IntStream.range(0, ranks).mapToObj(rank -> 1).toList(), List.of());
  }

  /**
   * Workers on hosts of their own, and servers of several proxies, each on another.
   *
   * @param dedicated the last ranks, which only serve
   * @param proxies how many of these make up a server
   * @param inThreads whether these are threads of one process
   */
  public static Seating onHosts(
      int ranks, int workersPerHost, int dedicated, int proxies, boolean inThreads) {
    int workers = ranks - dedicated;
    List<String> hosts =
        ParameterServer.hosts(workers, workersPerHost, dedicated, proxies).stream()
            .map(host -> "host-" + host)
            .toList();
    List<Integer> processes = new ArrayList<>(alone(workers).processes());
    for (int left = dedicated; left > 0; left -= processes.get(processes.size() - 1)) {
      processes.add(inThreads ? proxies : 1);
    }
    return new Seating(processes, hosts);
  }

  /** Numbers what hosts are called, in the order of their first ranks. */
  public static List<Integer> numbered(List<Integer> hosts) {
    List<Integer> names = hosts.stream().distinct().toList();
    return hosts.stream().map(names::indexOf).toList();
  }

  /** The number of ranks. */
  public int ranks() {
    return processes.stream().mapToInt(Integer::intValue).sum();
  }
}
