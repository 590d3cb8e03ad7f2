package io.collectives;

import io.collectives.spi.Algorithms;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The route by which a collective moves its payload. All ranks of a call must ask for the same one.
 *
 * <p>These values only name algorithms; the code that plans them is found on the class path. Asking
 * for one whose module is missing is an {@link UnavailableException} that names the dependency to
 * add.
 *
 * <p>The figures of each are those of an all-reduce of M bytes over n ranks; every algorithm plans
 * every other {@link Collective}, too. Its reduce-scatter and all-gather are the two halves, each
 * with half of the rounds and bytes; what differs, and what it does with a root, is said with it.
 * Gathers, scatters and all-to-alls are the same by all: every rank sends straight to the one that
 * it is for. Barriers are, too, but that of a torus.
 *
 * <p>Strided model-parallel rings (Kumar et al. 2021, figure 4) are not an algorithm but a group:
 * {@link Communicator#strided(int, int, int)} gives it, and any algorithm runs in it; {@link
 * ModelParallelMesh} knows which ranks are in which.
 */
public sealed interface Algorithm {

  /**
   * For each call the algorithm that a table says for the place of the group (threads, shared
   * memory, sockets, several hosts), the collective, the number of ranks and the length of the
   * payload. The first row that fits counts: of the rows of {@link #auto(String)} and {@code
   * COLLECTIVES_AUTO} first, then of those that {@link Communicator#tune()} has measured, then of
   * the table that is shipped. So all ranks choose the same. {@link Communicator#explain} prints
   * the row and where it comes from. A barrier goes by the algorithm that is chosen for all-reduces
   * of 8 bytes.
   *
   * <p>The shipped table gives groups of more than 64 ranks algorithms in which a rank has few
   * peers. Reductions that need all contributions at once, by their {@link Repeatability} or {@link
   * UserOp}, pass over rows whose algorithm does not bring them together.
   */
  static Algorithm auto() {
    return new Auto("", "");
  }

  /**
   * The same with rows of one's own, as {@code all-reduce: 0-4K: exchange, 4K-inf: direct;
   * broadcast: 0-inf: halving-doubling}, which go before all others; {@code shipped} stands for the
   * shipped table alone, whatever was measured. docs/ALGORITHMS.md has the grammar. All ranks must
   * give the same. Rows that are wrong are an {@link IllegalArgumentException} when a communicator
   * is made with them, which says where, and what is allowed.
   */
  static Algorithm auto(String rows) {
    return new Auto(rows, "the program");
  }

  /**
   * One ring: 2(n-1) rounds, each rank sends 2M(n-1)/n bytes to its right neighbour. A broadcast or
   * reduction is a chain of n-1 rounds, in which each rank sends at most M, and a pipeline when the
   * payload has several slabs.
   */
  static Algorithm ring() {
    return named("ring");
  }

  /**
   * Two rings in opposite directions, each with half of the payload: 2(n-1) rounds. A broadcast or
   * reduction is two chains likewise, of n-1 rounds.
   */
  static Algorithm bidirectionalRing() {
    return named("bidirectional-ring");
  }

  /**
   * One ring that is used both ways at once: each contribution goes the shorter way round, and the
   * result back. 2 floor(n/2) rounds, each rank sends 2M(n-1)/n bytes, half each way. A broadcast
   * or reduction is two chains of floor(n/2) rounds, between the root and the ranks on either side;
   * the root of a broadcast sends 2M.
   */
  static Algorithm shortestWayRing() {
    return named("shortest-way-ring");
  }

  /**
   * Rings along the rows and columns of a mesh, two halves of the payload at once, one column first
   * and one row first (Ying et al. 2018, section 3.3): 2(X-1)+2(Y-1) rounds.
   *
   * <p>Along a dimension that does not wrap the ring is folded, so that each rank speaks with ranks
   * at most two places from it.
   *
   * <p>By itself a reduce-scatter goes along the columns first and an all-gather along the rows
   * first, with all of the payload: (X-1)+(Y-1) rounds (Kumar et al. 2021, section 3.3). A
   * broadcast or reduction goes between neighbours by the shortest way, floor(X/2)+floor(Y/2)
   * rounds if both dimensions wrap, and a barrier likewise.
   *
   * @param mesh the arrangement; it must have as many places as the group has ranks
   */
  static Algorithm torus(Mesh mesh) {
    return new Torus(mesh);
  }

  /**
   * Every rank serves one share of the payload: 2 rounds, each rank sends 2M(n-1)/n bytes to n-1
   * peers. A broadcast is a scatter and an all-gather, a reduction a reduce-scatter and a gather,
   * of 2 rounds, too; the root of a broadcast sends 2M(n-1)/n.
   */
  static Algorithm direct() {
    return named("direct");
  }

  /**
   * Every rank sends the whole payload to every other, and each sums all contributions itself, in
   * the order of ranks: 1 round, each rank sends M(n-1) bytes. Nothing is faster for payloads so
   * small that only the number of hops counts. A barrier is the same without a payload, other
   * collectives are those of {@link #direct}.
   */
  static Algorithm exchange() {
    return named("exchange");
  }

  /**
   * Recursive doubling (Thakur, Rabenseifner and Gropp 2005, section 4.4): in round k ranks 2^k
   * apart swap all that they have, and both add it up in the order of ranks, so that all end with
   * the same bits. log2 n rounds, each rank sends M log2 n bytes if n is a power of two. Otherwise
   * some ranks hand theirs to their neighbour first and are handed the result last: floor(log2 n) +
   * 2 rounds, and up to M bytes more. For payloads so small that the number of messages counts: n
   * log2 n of them in all, where {@link #exchange} takes n(n-1). Other collectives are those of
   * {@link #halvingDoubling}.
   */
  static Algorithm recursiveDoubling() {
    return named("recursive-doubling");
  }

  /**
   * A binomial tree (Thakur, Rabenseifner and Gropp 2005, section 4): the payload is reduced to
   * rank 0 and broadcast from there, 2 ceil(log2 n) rounds. It takes 2(n-1) messages of all ranks
   * together, the least there can be, where {@link #recursiveDoubling} takes n log2 n in half the
   * rounds: for short payloads of ranks that outnumber the processors, where the work of all counts
   * and not the way of one. Rank 0 sends and receives M ceil(log2 n) bytes. A barrier is the same
   * without a payload, other collectives are those of {@link #halvingDoubling}.
   */
  static Algorithm binomialTree() {
    return named("binomial-tree");
  }

  /**
   * Recursive halving and doubling (Rabenseifner 2004): each rank sends 2M(n-1)/n bytes in 2 log2 n
   * rounds if n is a power of two. Otherwise the ranks beyond the largest power of two hand theirs
   * to a partner first and are handed the result last: 2 floor(log2 n) + 2 rounds, and up to M
   * bytes more; either half takes floor(log2 n) + 2 then. A broadcast or reduction is a binomial
   * tree of ceil(log2 n) rounds; the root of a broadcast sends M in each.
   */
  static Algorithm halvingDoubling() {
    return named("halving-doubling");
  }

  /**
   * Two binary trees, each of which reduces and broadcasts half of the payload; the inner nodes of
   * one are leaves of the other (Sanders, Speck and Träff 2009): 2 floor(log2 n) rounds, each rank
   * sends from M to 2M bytes. A broadcast or reduction takes floor(log2 n) + 1; its root sends at
   * most 3M/2. A reduce-scatter or all-gather is that of {@link #halvingDoubling}.
   */
  static Algorithm doubleBinaryTree() {
    return named("double-binary-tree");
  }

  /**
   * A parameter server whose servers are the first ranks of the group, each of which serves an
   * equal share of every buffer (Herring, Thangakrishnan et al. 2020, section III): 2 rounds. Other
   * collectives are those of {@link #direct}.
   *
   * @param servers how many ranks serve, from 1 to the size of the group
   */
  static Algorithm parameterServer(int servers) {
    return parameterServer(servers, 0);
  }

  /**
   * A parameter server with servers that do nothing else: of n ranks the last {@code dedicated}
   * contribute nothing to an all-reduce and get no result, and the other servers are the first
   * ranks. A rank that only works sends M bytes and receives M, half of what it takes to reduce
   * without servers; a dedicated server sends and receives (n - dedicated) M / servers.
   *
   * <p>Part s of a buffer is the sum of the workers' from rank s (modulo their number) on, so the
   * bits are the same whether servers are dedicated or among the workers, as long as there are as
   * many workers and servers, and no more servers than workers; unless the wire type is narrow,
   * because what a worker serves to itself is not rounded. {@link Repeatability} asks for other
   * orders. Dedicated servers make the all-reduces with the others, passing payloads of the same
   * type and count that are left alone; or they {@linkplain Communicator#serve serve} whatever
   * comes. An average is one over the workers. In all other collectives all ranks are alike.
   * Gradients are reduced by them through the {@code ParameterServers} of the module
   * collectives-ps.
   *
   * @param servers how many ranks serve, from 1 to the size of the group
   * @param dedicated how many of them do nothing else, less than the size of the group
   */
  static Algorithm parameterServer(int servers, int dedicated) {
    return new ParameterServer(servers, dedicated);
  }

  /**
   * A parameter server, as {@link #parameterServer(int, int)}, of ranks that are together on hosts
   * (Herring, Thangakrishnan et al. 2020, sections III-3 and III-A). Either adds 2 rounds to the 2:
   *
   * <ul>
   *   <li><b>Hierarchy.</b> The workers of a host reduce-scatter among themselves first, so that
   *       each of g sends its gth of the sum to the servers only, and all-gather last. On the host
   *       of a server that is a worker, too, its whole part goes straight to it. If all workers are
   *       on one host they have nothing to reduce first, and are taken as if they were alone.
   *   <li><b>Proxies.</b> Ranks that only serve and are together are the proxies of <em>one</em>
   *       server. Each speaks with its share of the workers; between themselves they reduce-scatter
   *       what they were sent, and all-gather the sums. A server of P proxies has no more
   *       connections to workers than one without, and at most P(P-1)/2 between them.
   * </ul>
   *
   * <p>Partial sums are passed on, so sums cannot be taken in the order of ranks, or exactly.
   *
   * @param servers how many ranks serve, from 1 to the size of the group
   * @param dedicated how many of them do nothing else, less than the size of the group
   * @param hosts for each rank of the group the number of its host: workers of the same number are
   *     together, and so are ranks of the same number that only serve. Nothing for ranks that are
   *     all alone. See {@link ParameterServer#hosts(int, int, int, int)}
   */
  static Algorithm parameterServer(int servers, int dedicated, List<Integer> hosts) {
    return new ParameterServer(servers, dedicated, hosts);
  }

  /**
   * Reads an algorithm as people write it: {@code auto}, or one that a module on the class path
   * plans, of this library or not, as in {@code ring}, {@code torus:4x2}, {@code
   * parameter-server:2}. What it leaves open, such as the mesh of a {@code torus}, is as suits the
   * group that it is used in.
   *
   * @throws IllegalArgumentException if there is none of that name, or its parameters are none; the
   *     message lists all
   */
  static Algorithm parse(String text) {
    return Algorithms.onClassPath().parseOrAuto(text);
  }

  /**
   * The algorithm of a name, as {@link #parse} reads it, whether a module plans it or not: that
   * shows when it is used.
   *
   * @param name at most 64 lower-case letters, digits, spaces and {@code -_=.:+/}
   */
  static Algorithm named(String name) {
    return new Named(name);
  }

  /**
   * The name by which ranks compare their calls, as {@code ring} or {@code torus:4x2}: lower-case
   * letters, digits, spaces and {@code -_=.:+/}, of which the first 24 count.
   */
  String name();

  /** What stands before the colon of the name: the entry in the list of algorithms. */
  default String family() {
    int colon = name().indexOf(':');
    return colon < 0 ? name() : name().substring(0, colon);
  }

  /**
   * The Maven artifact that plans it, as {@code io.collectives:collectives-torus}, if it is this
   * library's own; a hint for errors.
   */
  default String artifact() {
    return "io.collectives:collectives-torus";
  }

  /** Whether it can run in a group of that many ranks. */
  default boolean fits(int ranks) {
    return true;
  }

  /**
   * See {@link Algorithm#auto(String)}.
   *
   * @param rows of a table that goes before others, {@link #SHIPPED}, or nothing
   * @param source where they come from, for people: the name of a variable or file
   */
  record Auto(String rows, String source) implements Algorithm {
    /** Stands for the shipped table alone. */
    public static final String SHIPPED = "shipped";

    @Override
    public String name() {
      return "auto";
    }
  }

  /**
   * See {@link Algorithm#torus(Mesh)}.
   *
   * @param mesh the arrangement of the group's ranks
   */
  record Torus(Mesh mesh) implements Algorithm {
    @Override
    public String name() {
      return "torus:" + mesh;
    }

    @Override
    public boolean fits(int ranks) {
      return mesh.ranks() == ranks;
    }
  }

  /**
   * See {@link Algorithm#parameterServer(int, int, List)}.
   *
   * @param servers how many ranks serve
   * @param dedicated how many of them contribute nothing
   * @param hosts by rank the number of its host, numbered in the order in which they appear;
   *     nothing if each rank is alone
   */
  record ParameterServer(int servers, int dedicated, List<Integer> hosts) implements Algorithm {
    /** Checks the number of servers, and numbers the hosts. */
    public ParameterServer {
      if (servers < 1) {
        throw new IllegalArgumentException(
            "parameter server with " + servers + " servers: at least 1 is needed");
      }
      if (dedicated < 0 || dedicated > servers) {
        throw new IllegalArgumentException(
            "parameter server with "
                + dedicated
                + " dedicated servers of "
                + servers
                + ": must be from 0 to all");
      }
      if (!hosts.isEmpty() && (hosts.size() <= dedicated || hosts.size() < servers)) {
        throw new IllegalArgumentException(
            "parameter server with "
                + servers
                + " servers, "
                + dedicated
                + " of which are dedicated, and hosts of "
                + hosts.size()
                + " ranks: one is needed for each rank of the group, servers and workers");
      }
      hosts = numbered(hosts, hosts.size() - dedicated);
    }

    /** Ranks that are all alone. */
    public ParameterServer(int servers, int dedicated) {
      this(servers, dedicated, List.of());
    }

    /** In the order in which they appear, the workers' first; nothing if no ranks are together. */
    private static List<Integer> numbered(List<Integer> hosts, int workers) {
      Map<Integer, Integer> numbers = new HashMap<>();
      List<Integer> numbered = new ArrayList<>();
      int next = 0;
      for (int rank = 0; rank < hosts.size(); rank++) {
        if (rank == workers) {
          numbers.clear();
        }
        Integer known = numbers.putIfAbsent(hosts.get(rank), next);
        numbered.add(known == null ? next++ : known);
      }
      return next == hosts.size() ? List.of() : List.copyOf(numbered);
    }

    /**
     * Hosts of ranks that follow each other.
     *
     * @param workers the first ranks, among them servers that work
     * @param workersPerHost of each host but the last, which has those that are left
     * @param dedicated the last ranks, which only serve
     * @param proxies how many of these make up a server; {@code dedicated} is a multiple of it
     */
    public static List<Integer> hosts(int workers, int workersPerHost, int dedicated, int proxies) {
      if (workersPerHost < 1 || proxies < 1 || dedicated % proxies != 0) {
        throw new IllegalArgumentException(
            "hosts of "
                + workersPerHost
                + " workers, and "
                + dedicated
                + " dedicated servers with "
                + proxies
                + " proxies each: at least 1 of both is needed, and full servers");
      }
      List<Integer> hosts = new ArrayList<>();
      for (int worker = 0; worker < workers; worker++) {
        hosts.add(worker / workersPerHost);
      }
      for (int server = 0; server < dedicated; server++) {
        hosts.add(workers + server / proxies);
      }
      return hosts;
    }

    /**
     * As {@code parameter-server:2}; with dedicated servers, as {@code parameter-server:1+2}; on
     * hosts, as {@code servers 1+2 on 1a2b3c}, a number that tells their ranks.
     */
    @Override
    public String name() {
      if (!hosts.isEmpty()) {
        String told = Integer.toString(hosts.hashCode() & Integer.MAX_VALUE, Character.MAX_RADIX);
        return "servers " + shared() + "+" + dedicated + " on " + told;
      }
      return family() + ":" + (dedicated == 0 ? "" + servers : shared() + "+" + dedicated);
    }

    @Override
    public String family() {
      return "parameter-server";
    }

    /** How many servers are workers, too. */
    public int shared() {
      return servers - dedicated;
    }

    @Override
    public boolean fits(int ranks) {
      return dedicated < ranks && servers <= ranks && (hosts.isEmpty() || hosts.size() == ranks);
    }

    @Override
    public String artifact() {
      return "io.collectives:collectives-ps";
    }
  }

  /**
   * An algorithm that is told by its name alone; see {@link Algorithm#parse(String)}.
   *
   * @param name the name on the wire
   */
  record Named(String name) implements Algorithm {
    private static final Pattern ALLOWED = Pattern.compile("[a-z0-9 _=.:+/-]{1,64}");

    /** Checks the name. */
    public Named {
      if (!ALLOWED.matcher(name).matches()) {
        throw new IllegalArgumentException(
            "algorithm name \""
                + name
                + "\": allowed are 1 to 64 lower-case letters, digits, spaces and -_=.:+/");
      }
    }

    /** What stands behind the colon; empty if nothing does. */
    public String parameters() {
      int colon = name.indexOf(':');
      return colon < 0 ? "" : name.substring(colon + 1);
    }
  }
}
