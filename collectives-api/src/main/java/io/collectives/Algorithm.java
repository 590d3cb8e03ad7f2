package io.collectives;

import io.collectives.spi.Algorithms;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The route by which a collective moves its payload. All ranks of a call must ask for the same one.
 *
 * <p>These values only name algorithms; the code that plans them is found on the class path. Asking
 * for one whose module is missing is an {@link UnavailableException} that names the dependency to
 * add.
 *
 * <p>The figures given for each algorithm are those of an all-reduce of M bytes over n ranks. Every
 * algorithm also plans every other {@link Collective}: unless its description says otherwise, its
 * reduce-scatter and its all-gather are the two halves of the all-reduce, each with half of the
 * rounds and bytes. Gathers, scatters and all-to-alls are the same for all algorithms: every rank
 * sends each block straight to the rank that it is for. Barriers are the same, too, except that of
 * a torus.
 *
 * <p>Strided model-parallel rings (Kumar et al. 2021, figure 4) are not an algorithm but a group:
 * {@link Communicator#strided(int, int, int)} makes it, and any algorithm runs in it; {@link
 * ModelParallelMesh} computes which ranks form which group.
 */
public sealed interface Algorithm {

  /**
   * Chooses for each call the algorithm that a table says for the place of the group (threads,
   * shared memory, sockets, several hosts), the collective, the number of ranks and the length of
   * the payload. The first row that fits counts: of the rows of {@link #auto(String)} and {@code
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
   * Chooses as {@link #auto()} does, by rows of the caller's own before all others.
   *
   * @param rows such as {@code all-reduce: 0-4K: exchange, 4K-inf: direct; broadcast: 0-inf:
   *     halving-doubling}; docs/ALGORITHMS.md has the grammar. {@code shipped} stands for the
   *     shipped table alone, whatever was measured. All ranks must give the same rows. Rows that
   *     are wrong are an {@link IllegalArgumentException} when a communicator is made with them,
   *     which says where, and what is allowed
   */
  static Algorithm auto(String rows) {
    return new Auto(rows, "the program");
  }

  /**
   * Passes data around one ring: it takes 2(n-1) rounds, in which each rank sends 2M(n-1)/n bytes
   * to its right neighbour. A broadcast or reduction is a chain of n-1 rounds, in which each rank
   * sends at most M, and a pipeline when the payload has several slabs.
   */
  static Algorithm ring() {
    return named("ring");
  }

  /**
   * Runs two rings in opposite directions, each with half of the payload, in 2(n-1) rounds. A
   * broadcast or reduction is two chains of n-1 rounds, each with half of the payload.
   */
  static Algorithm bidirectionalRing() {
    return named("bidirectional-ring");
  }

  /**
   * Uses one ring both ways at once: each contribution goes the shorter way round, and the result
   * comes back the same way. This takes 2 floor(n/2) rounds, in which each rank sends 2M(n-1)/n
   * bytes, half of them each way. A broadcast or reduction is two chains of floor(n/2) rounds,
   * between the root and the ranks on either side; the root of a broadcast sends 2M.
   */
  static Algorithm shortestWayRing() {
    return named("shortest-way-ring");
  }

  /**
   * Runs rings along the rows and columns of a mesh (Ying et al. 2018, section 3.3). The two halves
   * of the payload move at once, one along the columns first, the other along the rows first, in
   * 2(X-1)+2(Y-1) rounds.
   *
   * <p>Along a dimension that does not wrap data move from both ends of a line at once. So each
   * rank exchanges data with its neighbours only.
   *
   * <p>A reduce-scatter by itself goes along the columns first, and an all-gather by itself along
   * the rows first, with all of the payload, in (X-1)+(Y-1) rounds (Kumar et al. 2021, section
   * 3.3). A broadcast, a reduction and a barrier go between neighbours by the shortest way, in
   * floor(X/2)+floor(Y/2) rounds if both dimensions wrap.
   *
   * @param mesh the arrangement; it must have as many places as the group has ranks
   */
  static Algorithm torus(Mesh mesh) {
    return new Torus(mesh);
  }

  /**
   * Lets every rank reduce one block of the payload for all: it takes 2 rounds, in which each rank
   * sends 2M(n-1)/n bytes to n-1 peers. A broadcast is a scatter and an all-gather, a reduction is
   * a reduce-scatter and a gather, in 2 rounds each; the root of a broadcast sends 2M(n-1)/n.
   */
  static Algorithm direct() {
    return named("direct");
  }

  /**
   * Lets every rank send its whole payload to every other rank, and sum all contributions itself,
   * in the order of ranks: it takes 1 round, in which each rank sends M(n-1) bytes. Nothing is
   * faster for payloads so small that only the number of hops counts. A barrier is an exchange
   * without a payload; other collectives are those of {@link #direct}.
   */
  static Algorithm exchange() {
    return named("exchange");
  }

  /**
   * Runs recursive doubling (Thakur, Rabenseifner and Gropp 2005, section 4.4): in round k ranks
   * 2^k apart exchange all that they have, and both add it up in the order of ranks, so that all
   * end with the same bits. If n is a power of two this takes log2 n rounds, in which each rank
   * sends M log2 n bytes. Otherwise some ranks send their payload to their neighbour first and
   * receive the result last, which makes floor(log2 n) + 2 rounds and up to M bytes more. It suits
   * payloads so small that the number of messages counts: all ranks together send n log2 n of them,
   * where {@link #exchange} takes n(n-1). Other collectives are those of {@link #halvingDoubling}.
   */
  static Algorithm recursiveDoubling() {
    return named("recursive-doubling");
  }

  /**
   * Reduces the payload to rank 0 along a binomial tree and broadcasts it from there (Thakur,
   * Rabenseifner and Gropp 2005, section 4), in 2 ceil(log2 n) rounds. All ranks together send
   * 2(n-1) messages, the least possible, where {@link #recursiveDoubling} takes n log2 n in half
   * the rounds. It suits short payloads of ranks that outnumber the processors, where the total
   * work counts and not the latency of one path. Rank 0 sends and receives M ceil(log2 n) bytes. A
   * barrier is the same without a payload; other collectives are those of {@link #halvingDoubling}.
   */
  static Algorithm binomialTree() {
    return named("binomial-tree");
  }

  /**
   * Runs recursive halving and then recursive doubling (Rabenseifner 2004): each rank sends
   * 2M(n-1)/n bytes in 2 log2 n rounds if n is a power of two. Otherwise the ranks beyond the
   * largest power of two send their payload to a partner first and receive the result last, which
   * makes 2 floor(log2 n) + 2 rounds and up to M bytes more; a reduce-scatter or an all-gather
   * alone then takes floor(log2 n) + 2. A broadcast or reduction is a binomial tree of ceil(log2 n)
   * rounds; the root of a broadcast sends M in each.
   */
  static Algorithm halvingDoubling() {
    return named("halving-doubling");
  }

  /**
   * Uses two binary trees, each of which reduces and broadcasts half of the payload; the inner
   * nodes of one are leaves of the other (Sanders, Speck and Träff 2009). It takes 2 floor(log2 n)
   * rounds, in which each rank sends from M to 2M bytes. A broadcast or reduction takes floor(log2
   * n) + 1; its root sends at most 3M/2. Reduce-scatters and all-gathers are those of {@link
   * #halvingDoubling}.
   */
  static Algorithm doubleBinaryTree() {
    return named("double-binary-tree");
  }

  /**
   * Uses the first ranks of the group as parameter servers, each of which reduces an equal share of
   * every buffer (Herring, Thangakrishnan et al. 2020, section III), in 2 rounds. Other collectives
   * are those of {@link #direct}.
   *
   * @param servers the number of ranks that serve, from 1 to the size of the group
   */
  static Algorithm parameterServer(int servers) {
    return parameterServer(servers, 0);
  }

  /**
   * Uses parameter servers of which some do nothing else: of n ranks the last {@code dedicated}
   * contribute nothing to an all-reduce and get no result, and the other servers are the first
   * ranks. A rank that is only a worker sends M bytes and receives M, half of what a reduction
   * without servers takes; a dedicated server sends and receives (n - dedicated) M / servers.
   *
   * <p>Server s adds up part s of a buffer in the order of the workers, beginning with worker s
   * (modulo their number). So the bits do not depend on whether servers are dedicated or are
   * workers, too, as long as the numbers of workers and servers are the same and there are no more
   * servers than workers. A narrow wire type is the exception, because what a worker sends to
   * itself is not rounded. {@link Repeatability} can ask for other orders. Dedicated servers either
   * call each all-reduce with the others, with payloads of the same type and count, which stay
   * untouched, or they {@linkplain Communicator#serve serve} whatever arrives. An average is one
   * over the workers. In all other collectives all ranks have the same role. Gradients are reduced
   * by servers through the {@code ParameterServers} of the module collectives-ps.
   *
   * @param servers the number of ranks that serve, from 1 to the size of the group
   * @param dedicated the number of servers that do nothing else, less than the size of the group
   */
  static Algorithm parameterServer(int servers, int dedicated) {
    return new ParameterServer(servers, dedicated);
  }

  /**
   * Uses parameter servers as {@link #parameterServer(int, int)} does, for ranks that share hosts
   * (Herring, Thangakrishnan et al. 2020, sections III-3 and III-A). There are two extensions, of
   * which the first adds 2 rounds to the 2, the second at most as many as a server has proxies:
   *
   * <ul>
   *   <li><b>Hierarchy.</b> The workers of a host reduce-scatter among themselves first, so that
   *       each of g workers sends only its gth of the sum to the servers, and all-gather last. On
   *       the host of a server that is also a worker, all of its part goes straight to it. If all
   *       workers are on one host, there is nothing to reduce first, and each counts as alone on
   *       its host.
   *   <li><b>Proxies.</b> Dedicated servers on the same host are the proxies of <em>one</em>
   *       server. Each exchanges data with its share of the workers, and adds up a Pth of the
   *       server's part; what its workers contribute to the rest it passes on as it is. A server of
   *       P proxies has no more connections to workers than one without proxies, and at most
   *       P(P-1)/2 between the proxies.
   * </ul>
   *
   * <p>In a hierarchy partial sums are passed on, so sums cannot be taken in the order of ranks, or
   * exactly; with proxies alone they can.
   *
   * @param servers the number of ranks that serve, from 1 to the size of the group
   * @param dedicated the number of servers that do nothing else, less than the size of the group
   * @param hosts for each rank of the group the number of its host: workers of the same number
   *     share a host, and so do dedicated servers of the same number. An empty list says that each
   *     rank has a host of its own. See {@link ParameterServer#hosts(int, int, int, int)}
   */
  static Algorithm parameterServer(int servers, int dedicated, List<Integer> hosts) {
    return new ParameterServer(servers, dedicated, hosts);
  }

  /**
   * Parses the name of an algorithm: {@code auto}, or one that a module on the class path plans,
   * whether it belongs to this library or not. Examples are {@code ring}, {@code torus:4x2} and
   * {@code parameter-server:2}. What the name leaves open, such as the mesh of {@code torus}, is
   * chosen for the group in which the algorithm is used.
   *
   * @throws IllegalArgumentException if there is no algorithm of that name, or its parameters are
   *     invalid; the message lists all names
   */
  static Algorithm parse(String text) {
    return Algorithms.onClassPath().parseOrAuto(text);
  }

  /**
   * Returns the algorithm of a name, as {@link #parse} reads it, without a check that a module
   * plans it: that is found when it is used.
   *
   * @param name at most 64 lower-case letters, digits, spaces and {@code -_=.:+/}
   */
  static Algorithm named(String name) {
    return new Named(name);
  }

  /**
   * Returns the name by which ranks compare their calls, such as {@code ring} or {@code torus:4x2}.
   * It consists of lower-case letters, digits, spaces and {@code -_=.:+/}. Calls tell one of more
   * than 24 characters by its beginning and a hash.
   */
  String name();

  /**
   * Returns the part of the name before the colon, which is the entry in the list of algorithms.
   */
  default String family() {
    int colon = name().indexOf(':');
    return colon < 0 ? name() : name().substring(0, colon);
  }

  /**
   * Returns the Maven artifact that plans this algorithm if it is one of this library, such as
   * {@code io.collectives:collectives-torus}; error messages use it as a hint.
   */
  default String artifact() {
    return "io.collectives:collectives-torus";
  }

  /** Returns whether the algorithm can run in a group of the given number of ranks. */
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
   * @param servers the number of ranks that serve
   * @param dedicated the number of servers that contribute nothing
   * @param hosts for each rank the number of its host; hosts are numbered in the order in which
   *     they appear; empty if each rank has a host of its own
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

    /** Makes the algorithm for ranks of which each has a host of its own. */
    public ParameterServer(int servers, int dedicated) {
      this(servers, dedicated, List.of());
    }

    /**
     * Numbers hosts in the order in which they appear, the workers' first; returns an empty list if
     * no ranks share a host.
     */
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
     * Returns the hosts of ranks that are placed one host after the other.
     *
     * @param workers the first ranks, among them servers that work
     * @param workersPerHost the number of workers on each host but the last, which has the rest
     * @param dedicated the last ranks, which only serve
     * @param proxies the number of these that make up a server; {@code dedicated} is a multiple of
     *     it
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
     * Returns a name such as {@code parameter-server:2}, with dedicated servers {@code
     * parameter-server:1+2}, and on hosts {@code servers 1+2 on 1a2b3c}, where the last word is a
     * hash of the hosts.
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

    /** Returns the number of servers that are also workers. */
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
   * An algorithm that is identified by its name alone; see {@link Algorithm#parse(String)}.
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

    // What a record has by itself would take a rank that starts some 10 ms to link.

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Named named && name.equals(named.name);
    }

    @Override
    public int hashCode() {
      return name.hashCode();
    }

    /** Returns the part of the name after the colon; empty if there is none. */
    public String parameters() {
      int colon = name.indexOf(':');
      return colon < 0 ? "" : name.substring(colon + 1);
    }
  }
}
