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
 * The role of each rank of a group: at least one works and at least one serves.
 *
 * <p>In the set-up of the Herring paper (Thangakrishnan et al. 2020, section III-A) there are as
 * many dedicated servers as workers, on hosts of the same bandwidth: then every host sends and
 * receives each byte of the gradients once, half of what a ring takes. Servers among the workers
 * cost no hosts, and take what a ring does, in two hops.
 *
 * <p><b>Hosts.</b> Workers of one host may reduce among themselves first, over what reaches fastest
 * from one to the other, so that each sends its share of their sum only: {@link #withHosts(List)}.
 * <b>Proxies.</b> A dedicated server may be made of several ranks, threads of one process or
 * processes of one host, each of which speaks with some of the workers: {@link #withProxies(int)}.
 * See {@link Algorithm#parameterServer(int, int, List)}.
 *
 * @param ofRanks by rank
 * @param together by rank the lowest rank that it is together with: a worker with those of its
 *     host, a dedicated server with the proxies of the same server. A rank that is alone has its
 *     own
 */
public record Roles(List<Role> ofRanks, List<Integer> together) {

  /** Checks that there is work and somebody to serve, and that only equals are together. */
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
              + " are together with: needed is for each rank the lowest of the workers of its host, or"
              + " of the proxies of its server");
    }
  }

  /** Ranks that are all alone. */
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

  /** Names for who is together, each kind of ranks by itself. */
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
   * The last ranks serve and do nothing else.
   *
   * @param ranks of the job
   * @param servers from 1 to {@code ranks - 1}
   */
  public static Roles dedicated(int ranks, int servers) {
    requireServers(ranks, servers, ranks - 1);
    List<Role> roles = new ArrayList<>(Collections.nCopies(ranks - servers, Role.WORKER));
    roles.addAll(Collections.nCopies(servers, Role.SERVER));
    return new Roles(roles);
  }

  /**
   * The last ranks serve and do nothing else, several of them for each server.
   *
   * @param ranks of the job
   * @param servers at least 1; {@code servers * proxies} ranks serve, at most {@code ranks - 1}
   * @param proxies of each server, as in {@link #withProxies}
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
   * All ranks work, and the first ones serve, too.
   *
   * @param ranks of the job
   * @param servers from 1 to {@code ranks}
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
   * The same with servers that are each made of several of the ranks that only serve, in the order
   * of ranks: the first {@code proxies} of them are the first server, and so on.
   *
   * <p>They are to be on one host, where they reach each other by shared memory. Each needs a
   * worker of its own among those that speak with the server, so there are at most as many as
   * these: all workers, or of each host those whose share is of the server's part, at least one.
   *
   * @param proxies the number of ranks that only serve is a multiple of it
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
   * The same with workers that reduce among those of their host first.
   *
   * @param hosts by rank the name of its host; those of dedicated servers do not matter
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
   * The same with workers that reduce among those of their host first, as {@link #withHosts(List)},
   * whose hosts are found: those of {@link Communicator#host()}, so that COLLECTIVES_HOST can tell
   * them, too.
   *
   * @param world all ranks of it call this, in the same order as its other calls
   */
  public Roles withHostsOf(Communicator world) {
    return RolesEnvironment.hosts(this, world);
  }

  /**
   * What the environment says, see {@link #fromEnvironment(Communicator, Map)}.
   *
   * @param world all ranks of it call this, in the same order as its other calls
   */
  public static Roles fromEnvironment(Communicator world) {
    return fromEnvironment(world, System.getenv());
  }

  /**
   * What the environments of all ranks say together. COLLECTIVES_ROLE, which is {@code worker},
   * {@code server} or {@code both}, is the role of the rank that has it. COLLECTIVES_SERVERS says
   * how many servers there are: if roles are not given they are the last ranks, dedicated; else the
   * number is compared with theirs. A rank without either is a worker, unless no rank has any: then
   * all work and serve. COLLECTIVES_PROXIES says of how many ranks each dedicated server is made, 1
   * if it does not, see {@link #withProxies}; COLLECTIVES_HIERARCHY, {@code true} or {@code false},
   * whether the workers of a host reduce among themselves first, see {@link #withHostsOf}. A
   * variable that is the same for all may be set on some of them.
   *
   * @param world all ranks of it call this, in the same order as its other calls
   * @throws IllegalArgumentException on all ranks if a value is none of these, or they do not go
   *     together
   */
  public static Roles fromEnvironment(Communicator world, Map<String, String> environment) {
    return RolesEnvironment.read(world, environment);
  }

  /** How many ranks there are. */
  public int size() {
    return ofRanks.size();
  }

  /** The role of a rank. */
  public Role of(int rank) {
    return ofRanks.get(rank);
  }

  /** How many ranks compute gradients. */
  public int workers() {
    return ranks(Role::works).length;
  }

  /** How many servers add the gradients of others, each its part. */
  public int servers() {
    return ranks(role -> role == Role.BOTH).length + dedicated();
  }

  /** How many of them do nothing else. */
  public int dedicated() {
    return (int) firsts(role -> !role.works());
  }

  /** How many hosts the workers are on; as many as there are workers if each is alone. */
  public int hosts() {
    return (int) firsts(Role::works);
  }

  private long firsts(Predicate<Role> wanted) {
    return Arrays.stream(ranks(wanted)).filter(rank -> together.get(rank) == rank).count();
  }

  /** By what the workers reduce in a group in the order of {@link #seats()}. */
  Algorithm.ParameterServer algorithm() {
    int dedicated = ranks(role -> !role.works()).length;
    return new Algorithm.ParameterServer(
        ranks(Role::serves).length,
        dedicated,
        Arrays.stream(seats()).mapToObj(together::get).toList());
  }

  /** All ranks, servers among the workers first, dedicated ones last. */
  int[] seats() {
    return IntStream.concat(
            IntStream.concat(
                IntStream.of(ranks(role -> role == Role.BOTH)),
                IntStream.of(ranks(role -> role == Role.WORKER))),
            IntStream.of(ranks(role -> role == Role.SERVER)))
        .toArray();
  }

  /** The ranks that compute gradients, in their own order. */
  int[] workerRanks() {
    return ranks(Role::works);
  }

  /**
   * The same roles for those who are left, who stay together. Proxies that are too many for the
   * workers that are left become servers of their own. If no server is left, all serve as well.
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

  /** As {@code 4 workers, 2 of which serve, and 1 dedicated server}. */
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
