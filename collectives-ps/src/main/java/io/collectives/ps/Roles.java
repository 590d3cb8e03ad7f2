package io.collectives.ps;

import io.collectives.Algorithm;
import io.collectives.Communicator;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * The roles of the ranks of a group: at least one rank is a worker and at least one serves.
 *
 * <p>In the setup of the Herring paper (Thangakrishnan et al. 2020, section III-A) there are as
 * many dedicated servers as workers, on hosts of the same bandwidth: then every host sends and
 * receives each byte of the gradients once, half of what a ring takes. Servers among the workers
 * need no additional hosts, and send as much as a ring does, in two hops.
 *
 * <p><b>Hosts.</b> Workers of one host may reduce among themselves first, over the fastest
 * transport between them, so that each sends only its share of their sum: {@link #withHosts(List)}.
 * <b>Proxies.</b> A dedicated server may consist of several ranks, threads of one process or
 * processes of one host, each of which exchanges data with some of the workers: {@link
 * #withProxies(int)}. See {@link Algorithm#parameterServer(int, int, List)}.
 *
 * @param ofRanks the role of each rank
 * @param together for each rank the lowest rank of its set: the workers of one host form a set, and
 *     so do the proxies of one server. A rank that is alone has its own number
 */
public record Roles(List<Role> ofRanks, List<Integer> together) {

  /** Checks that there are workers and servers, and that each set consists of equal roles. */
  public Roles {
    ofRanks = List.copyOf(ofRanks);
    together = List.copyOf(together);
    if (ofRanks.stream().noneMatch(Role::works) || ofRanks.stream().noneMatch(Role::serves)) {
      throw new IllegalArgumentException(
          "roles " + ofRanks + ": at least one rank must be a worker and at least one a server");
    }
    if (!isNumbered(ofRanks, together)) {
      throw new IllegalArgumentException(
          "ranks "
              + together
              + " that the ranks with the roles "
              + ofRanks
              + " are together with: needed is for each rank the lowest of the workers of its host,"
              + " or of the proxies of its server");
    }
  }

  /** Makes roles of ranks that are all alone on their hosts. */
  public Roles(List<Role> ofRanks) {
    this(ofRanks, IntStream.range(0, ofRanks.size()).boxed().toList());
  }

  private static boolean isNumbered(List<Role> roles, List<Integer> together) {
    return roles.size() == together.size()
        && IntStream.range(0, roles.size())
            .allMatch(
                rank -> {
                  int lowest = together.get(rank);
                  return lowest >= 0
                      && lowest <= rank
                      && together.get(lowest) == lowest
                      && roles.get(lowest).works() == roles.get(rank).works();
                });
  }

  /** Numbers the sets of ranks, separately for workers and dedicated servers. */
  private static List<Integer> numbered(List<Role> roles, IntFunction<?> nameOfRank) {
    Map<List<Object>, Integer> lowest = new HashMap<>();
    List<Integer> together = new ArrayList<>();
    for (int rank = 0; rank < roles.size(); rank++) {
      List<Object> name = List.of(roles.get(rank).works(), nameOfRank.apply(rank));
      Integer first = lowest.putIfAbsent(name, rank);
      together.add(first == null ? rank : first);
    }
    return together;
  }

  /**
   * Makes the last ranks dedicated servers.
   *
   * @param ranks the number of ranks of the job
   * @param servers the number of servers, from 1 to {@code ranks - 1}
   */
  public static Roles dedicated(int ranks, int servers) {
    requireServers(ranks, servers, ranks - 1);
    List<Role> roles = new ArrayList<>(Collections.nCopies(ranks - servers, Role.WORKER));
    roles.addAll(Collections.nCopies(servers, Role.SERVER));
    return new Roles(roles);
  }

  /**
   * Makes the last ranks dedicated servers, several of them for each server.
   *
   * @param ranks the number of ranks of the job
   * @param servers the number of servers, at least 1; {@code servers * proxies} ranks serve, at
   *     most {@code ranks - 1}
   * @param proxies the number of ranks of each server, as in {@link #withProxies}
   */
  public static Roles dedicated(int ranks, int servers, int proxies) {
    if (servers < 1 || proxies < 1 || (long) servers * proxies > ranks - 1) {
      throw new IllegalArgumentException(
          servers
              + " servers of "
              + proxies
              + " proxies in a job of "
              + ranks
              + " ranks: at least 1 of each is needed, and together at most "
              + (ranks - 1));
    }
    return dedicated(ranks, servers * proxies).withProxies(proxies);
  }

  /**
   * Makes all ranks workers, of which the first ones also serve.
   *
   * @param ranks the number of ranks of the job
   * @param servers the number of servers, from 1 to {@code ranks}
   */
  public static Roles shared(int ranks, int servers) {
    requireServers(ranks, servers, ranks);
    List<Role> roles = new ArrayList<>(Collections.nCopies(servers, Role.BOTH));
    roles.addAll(Collections.nCopies(ranks - servers, Role.WORKER));
    return new Roles(roles);
  }

  private static void requireServers(int ranks, int servers, int most) {
    if (servers < 1 || servers > most) {
      throw new IllegalArgumentException(
          servers + " servers in a job of " + ranks + " ranks: must be from 1 to " + most);
    }
  }

  /**
   * Returns these roles with servers that each consist of several dedicated ranks, in the order of
   * ranks: the first {@code proxies} of them are the first server, and so on.
   *
   * <p>The proxies of a server should be on one host, where they communicate by shared memory. Each
   * needs a worker of its own among those that exchange data with the server, so there are at most
   * as many proxies as such workers: all workers, or from each host those whose share belongs to
   * the server's part, at least one.
   *
   * @param proxies the number of ranks of each server; the number of dedicated ranks is a multiple
   *     of it
   */
  public Roles withProxies(int proxies) {
    int[] dedicated = ranks(role -> !role.works());
    if (proxies < 1 || dedicated.length == 0 || dedicated.length % proxies != 0) {
      throw new IllegalArgumentException(
          proxies
              + " proxies for each server, and "
              + dedicated.length
              + " ranks that only serve: their number must be a multiple of it, and not 0");
    }
    List<Integer> next = new ArrayList<>(together);
    for (int i = 0; i < dedicated.length; i++) {
      next.set(dedicated[i], dedicated[i - i % proxies]);
    }
    return new Roles(ofRanks, next);
  }

  /**
   * Returns these roles with workers that first reduce among those of their host.
   *
   * @param hosts for each rank the name of its host; those of dedicated servers are ignored
   */
  public Roles withHosts(List<String> hosts) {
    if (hosts.size() != size()) {
      throw new IllegalArgumentException(
          hosts.size() + " hosts for " + size() + " ranks: each needs one");
    }
    return new Roles(
        ofRanks,
        numbered(ofRanks, rank -> of(rank).works() ? hosts.get(rank) : together.get(rank)));
  }

  /**
   * Returns these roles with workers that first reduce among those of their host, as {@link
   * #withHosts(List)} does, with the hosts that {@link Communicator#host()} returns;
   * COLLECTIVES_HOST can set them, too.
   *
   * @param world the job; all its ranks call this, in the same order as its other calls
   */
  public Roles withHostsOf(Communicator world) {
    return RolesEnvironment.hosts(this, world);
  }

  /**
   * Returns the roles that environment variables set; see {@link #fromEnvironment(Communicator,
   * Map)}.
   *
   * @param world the job; all its ranks call this, in the same order as its other calls
   */
  public static Roles fromEnvironment(Communicator world) {
    return fromEnvironment(world, System.getenv());
  }

  /**
   * Returns the roles that the environment variables of all ranks set together. COLLECTIVES_ROLE,
   * which is {@code worker}, {@code server} or {@code both}, is the role of the rank that has it.
   * COLLECTIVES_SERVERS is the number of servers: if no roles are given, they are the last ranks,
   * dedicated; otherwise the number is compared with the roles. A rank without either variable is a
   * worker, unless no rank has any: then all ranks are workers and servers. COLLECTIVES_PROXIES is
   * the number of ranks of each dedicated server, 1 by default, see {@link #withProxies};
   * COLLECTIVES_HIERARCHY, {@code true} or {@code false}, says whether the workers of a host reduce
   * among themselves first, see {@link #withHostsOf}. A variable that is the same for all ranks may
   * be set on some of them.
   *
   * @param world the job; all its ranks call this, in the same order as its other calls
   * @throws IllegalArgumentException on all ranks if a value is invalid, or values contradict each
   *     other
   */
  public static Roles fromEnvironment(Communicator world, Map<String, String> environment) {
    return RolesEnvironment.read(world, environment);
  }

  /** Returns the number of ranks. */
  public int size() {
    return ofRanks.size();
  }

  /** Returns the role of a rank. */
  public Role of(int rank) {
    return ofRanks.get(rank);
  }

  /** Returns the number of ranks that compute gradients. */
  public int workers() {
    return ranks(Role::works).length;
  }

  /** Returns the number of servers, each of which adds its part of the gradients. */
  public int servers() {
    return ranks(role -> role == Role.BOTH).length + dedicated();
  }

  /** Returns the number of dedicated servers. */
  public int dedicated() {
    return (int) firsts(role -> !role.works());
  }

  /** Returns the number of the workers' hosts, which is the number of workers if each is alone. */
  public int hosts() {
    return (int) firsts(Role::works);
  }

  private long firsts(Predicate<Role> wanted) {
    return Arrays.stream(ranks(wanted)).filter(rank -> together.get(rank) == rank).count();
  }

  /**
   * Returns the algorithm by which the workers reduce in a group in the order of {@link #order()}.
   */
  Algorithm.ParameterServer algorithm() {
    int dedicated = ranks(role -> !role.works()).length;
    return new Algorithm.ParameterServer(
        ranks(Role::serves).length,
        dedicated,
        Arrays.stream(order()).mapToObj(together::get).toList());
  }

  /** Returns all ranks, servers among the workers first, dedicated ones last. */
  int[] order() {
    return IntStream.concat(
            IntStream.concat(
                IntStream.of(ranks(role -> role == Role.BOTH)),
                IntStream.of(ranks(role -> role == Role.WORKER))),
            IntStream.of(ranks(role -> role == Role.SERVER)))
        .toArray();
  }

  /** Returns the ranks that compute gradients, in their own order. */
  int[] workerRanks() {
    return ranks(Role::works);
  }

  /**
   * Returns these roles for the ranks that are left, with the same sets. Proxies that are too many
   * for the workers that are left become servers of their own. If no server is left, all ranks
   * serve as well.
   *
   * @param left the ranks that are left, in their new order
   */
  Roles of(int[] left) {
    List<Role> kept = Arrays.stream(left).mapToObj(this::of).toList();
    if (kept.stream().noneMatch(Role::serves)) {
      kept = Collections.nCopies(kept.size(), Role.BOTH);
    }
    Roles next = new Roles(kept, numbered(kept, rank -> together.get(left[rank])));
    if (next.fits()) {
      return next;
    }
    List<Role> roles = kept;
    return new Roles(
        kept, numbered(kept, rank -> roles.get(rank).works() ? next.together.get(rank) : rank));
  }

  /** Refuses proxies that are too many for the workers. */
  void requireFit() {
    new Shares(size(), algorithm());
  }

  private boolean fits() {
    try {
      requireFit();
      return true;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private int[] ranks(Predicate<Role> wanted) {
    return IntStream.range(0, size()).filter(rank -> wanted.test(of(rank))).toArray();
  }

  /** Returns a text such as {@code 4 workers, 2 of which serve, and 1 dedicated server}. */
  @Override
  public String toString() {
    int dedicated = dedicated();
    int shared = servers() - dedicated;
    int proxies = ranks(role -> !role.works()).length;
    return workers()
        + (workers() == 1 ? " worker" : " workers")
        + (hosts() < workers() ? " on " + hosts() + (hosts() == 1 ? " host" : " hosts") : "")
        + (shared > 0 ? ", " + shared + " of which serve" : "")
        + (shared > 0 && dedicated > 0 ? ", and " : dedicated > 0 ? " and " : "")
        + (dedicated > 0
            ? dedicated + (dedicated == 1 ? " dedicated server" : " dedicated servers")
            : "")
        + (proxies > dedicated ? " with " + proxies + " proxies" : "");
  }
}
