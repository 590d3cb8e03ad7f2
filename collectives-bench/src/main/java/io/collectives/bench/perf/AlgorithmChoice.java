package io.collectives.bench.perf;

import io.collectives.Algorithm;
import io.collectives.Mesh;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An algorithm as it is written on the command line: {@code ring}, {@code bidirectional-ring},
 * {@code shortest-way-ring}, {@code torus}, {@code torus:4x2}, {@code direct}, {@code exchange},
 * {@code binomial-tree}, {@code recursive-doubling}, {@code halving-doubling}, {@code
 * double-binary-tree}, {@code parameter-server}, {@code parameter-server:2}, {@code
 * parameter-server:1+2}: 1 server among the workers, 2 that do nothing else; {@code
 * parameter-server:1+2x4}: these of 4 ranks each, its proxies; {@code parameter-server:0+2x4/8}:
 * and 8 workers on a host, which reduce among themselves first. A number of servers may be {@code
 * n}, which is that of the workers.
 *
 * @param name the part before the colon
 * @param detail the part after it
 */
public record AlgorithmChoice(String name, Optional<String> detail) {
  /** All forms that are plans, for people. */
  public static final String PLANS =
      "ring, bidirectional-ring, shortest-way-ring, torus[:XxY], direct, exchange,"
          + " binomial-tree, recursive-doubling, halving-doubling, double-binary-tree,"
          + " parameter-server[:S[+DEDICATED[xPROXIES]][/WORKERS-PER-HOST]] (S, DEDICATED: n for as"
          + " many as workers)";

  /** All forms. */
  public static final String FORMS = "auto, " + PLANS;

  /** Servers of whose number nothing is said. */
  public static final AlgorithmChoice SERVERS_LEFT_OPEN = parse("parameter-server");

  private static final Pattern SERVERS =
      Pattern.compile("(\\d{1,6}|n)(?:\\+(\\d{1,6}|n)(?:x([1-9]\\d{0,3}))?)?(?:/([1-9]\\d{0,3}))?");
  private static final String AS_MANY_AS_WORKERS = "n";
  private static final Pattern MESH = Pattern.compile("(\\d{1,4})x(\\d{1,4})");

  /**
   * Reads one.
   *
   * @throws IllegalArgumentException if it is none
   */
  public static AlgorithmChoice parse(String text) {
    int colon = text.indexOf(':');
    String name = colon < 0 ? text : text.substring(0, colon);
    Optional<String> detail = colon < 0 ? Optional.empty() : Optional.of(text.substring(colon + 1));
    boolean good =
        switch (name) {
          case "auto",
              "ring",
              "bidirectional-ring",
              "shortest-way-ring",
              "direct",
              "exchange",
              "binomial-tree",
              "recursive-doubling",
              "halving-doubling",
              "double-binary-tree" ->
              detail.isEmpty();
          case "torus" -> detail.isEmpty() || MESH.matcher(detail.get()).matches();
          case "parameter-server" -> detail.isEmpty() || SERVERS.matcher(detail.get()).matches();
          default -> false;
        };
    if (!good) {
      throw new IllegalArgumentException("'" + text + "' is no algorithm; there are " + FORMS);
    }
    return new AlgorithmChoice(name, detail);
  }

  /**
   * The algorithm, with what was left open: a mesh nearest to a square, half of the ranks as
   * servers.
   *
   * @throws IllegalArgumentException if it does not fit the number of ranks
   */
  public Algorithm forRanks(int ranks) {
    return switch (name) {
      case "auto" -> Algorithm.auto();
      case "ring" -> Algorithm.ring();
      case "bidirectional-ring" -> Algorithm.bidirectionalRing();
      case "shortest-way-ring" -> Algorithm.shortestWayRing();
      case "direct" -> Algorithm.direct();
      case "exchange" -> Algorithm.exchange();
      case "binomial-tree" -> Algorithm.binomialTree();
      case "recursive-doubling" -> Algorithm.recursiveDoubling();
      case "halving-doubling" -> Algorithm.halvingDoubling();
      case "double-binary-tree" -> Algorithm.doubleBinaryTree();
      case "torus" ->
          Algorithm.torus(
              detail
                  .map(AlgorithmChoice::mesh)
                  .map(m -> fitting(m, ranks))
                  .orElseGet(() -> Mesh.torusOf(ranks)));
      default ->
          detail
              .map(servers -> servers(servers, ranks))
              .orElseGet(() -> Algorithm.parameterServer(Math.max(1, ranks / 2)));
    };
  }

  /**
   * The algorithm, as {@link #forRanks}, for a job in which all ranks work.
   *
   * @throws IllegalArgumentException also if some would only serve
   */
  public Algorithm forWorkers(int ranks) {
    Algorithm algorithm = forRanks(ranks);
    if (algorithm instanceof Algorithm.ParameterServer servers && servers.dedicated() > 0) {
      throw new IllegalArgumentException(this + ": all ranks work here, so none can only serve");
    }
    return algorithm;
  }

  /**
   * How many ranks a job needs for it in which some number of ranks work: more than that if others
   * only serve.
   */
  public int ranks(int workers) {
    Matcher matcher = SERVERS.matcher(detail.orElse(""));
    if (!name.equals(SERVERS_LEFT_OPEN.name) || !matcher.matches() || matcher.group(2) == null) {
      return workers;
    }
    return workers + number(matcher.group(2), workers) * times(matcher.group(3));
  }

  /**
   * The same with servers, if they were left open; all others as they are.
   *
   * @param proxies of each dedicated server
   * @param workersPerHost which reduce among themselves first
   */
  public AlgorithmChoice withServers(
      int servers, boolean dedicated, int proxies, int workersPerHost) {
    String detail =
        (dedicated ? "0+" : "")
            + servers
            + (proxies > 1 ? "x" + proxies : "")
            + (workersPerHost > 1 ? "/" + workersPerHost : "");
    return equals(SERVERS_LEFT_OPEN) ? new AlgorithmChoice(name, Optional.of(detail)) : this;
  }

  /** As it can be written on the command line, with what was left open. */
  public String label(int ranks) {
    Algorithm algorithm = forRanks(ranks);
    if (algorithm instanceof Algorithm.ParameterServer servers && !servers.hosts().isEmpty()) {
      return toString(); // Its name tells hosts apart, and not what they are.
    }
    return algorithm instanceof Algorithm.Torus || algorithm instanceof Algorithm.ParameterServer
        ? algorithm.name().replaceFirst(" ", ":")
        : algorithm.name();
  }

  private static Mesh mesh(String detail) {
    Matcher matcher = MESH.matcher(detail);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("'" + detail + "' is no mesh");
    }
    return Mesh.torus(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)));
  }

  private static Mesh fitting(Mesh mesh, int ranks) {
    if ((long) mesh.x() * mesh.y() != ranks) {
      throw new IllegalArgumentException(
          "torus:"
              + mesh
              + " has "
              + (long) mesh.x() * mesh.y()
              + " places, the job "
              + ranks
              + " ranks");
    }
    return mesh;
  }

  private static Algorithm servers(String detail, int ranks) {
    Matcher matcher = SERVERS.matcher(detail);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("'" + detail + "' are no servers");
    }
    int proxies = times(matcher.group(3));
    int workers = workers(matcher.group(2), proxies, ranks, detail);
    int dedicated = ranks - workers;
    int servers = number(matcher.group(1), workers) + dedicated;
    if (servers < 1 || servers > ranks || workers < 1) {
      throw new IllegalArgumentException(
          "parameter-server:"
              + detail
              + ": from 1 to "
              + ranks
              + " of "
              + ranks
              + " ranks can serve"
              + (dedicated > 0 ? ", and 1 must be a worker" : ""));
    }
    return Algorithm.parameterServer(
        servers,
        dedicated,
        Algorithm.ParameterServer.hosts(workers, times(matcher.group(4)), dedicated, proxies));
  }

  /** How many of the ranks work. */
  private static int workers(@Nullable String dedicated, int proxies, int ranks, String detail) {
    if (dedicated == null) {
      return ranks;
    }
    if (!dedicated.equals(AS_MANY_AS_WORKERS)) {
      return (int) Math.max(0, ranks - (long) Integer.parseInt(dedicated) * proxies);
    }
    int each = 1 + proxies;
    if (ranks % each != 0) {
      throw new IllegalArgumentException(
          "parameter-server:"
              + detail
              + ": as many dedicated servers as workers are a multiple of "
              + each
              + " ranks, not "
              + ranks);
    }
    return ranks / each;
  }

  private static int number(String written, int workers) {
    return written.equals(AS_MANY_AS_WORKERS) ? workers : Integer.parseInt(written);
  }

  private static int times(@Nullable String written) {
    return written == null ? 1 : Integer.parseInt(written);
  }

  @Override
  public String toString() {
    return name + detail.map(d -> ":" + d).orElse("");
  }
}
