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
 * {@code recursive-doubling}, {@code halving-doubling}, {@code double-binary-tree}, {@code parameter-server}, {@code
 * parameter-server:2}, {@code parameter-server:1+2}: 1 server among the workers, 2 that do nothing
 * else; {@code parameter-server:1+2x4}: these of 4 ranks each, its proxies; {@code
 * parameter-server:0+2x4/8}: and 8 workers on a host, which reduce among themselves first.
 *
 * @param name the part before the colon
 * @param detail the part after it
 */
public record AlgorithmChoice(String name, Optional<String> detail) {
  /** All forms, for people. */
  public static final String FORMS =
      "auto, ring, bidirectional-ring, shortest-way-ring, torus[:XxY], direct, exchange,"
          + " recursive-doubling, halving-doubling, double-binary-tree,"
          + " parameter-server[:S[+DEDICATED[xPROXIES]][/WORKERS-PER-HOST]]";

  /** Servers of whose number nothing is said. */
  public static final AlgorithmChoice SERVERS_LEFT_OPEN = parse("parameter-server");

  private static final Pattern SERVERS = 
      Pattern.compile("(\\d{1,6})(?:\\+(\\d{1,6})(?:x([1-9]\\d{0,3}))?)?(?:/([1-9]\\d{0,3}))?");
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
    int first = Integer.parseInt(matcher.group(1));
    int proxies = number(matcher.group(3), 1);
    long dedicated = (long) number(matcher.group(2), 0) * proxies;
    long serving = first + dedicated;
    if (serving < 1 || serving > ranks || dedicated == ranks) {
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
    int last = (int) dedicated;
    int workersPerHost = number(matcher.group(4), 1);
    return Algorithm.parameterServer(
        (int) serving,
        last,
        Algorithm.ParameterServer.hosts(ranks - last, workersPerHost, last, proxies));
  }

  private static int number(@Nullable String text, int otherwise) {
    return text == null ? otherwise : Integer.parseInt(text);
  }

  @Override
  public String toString() {
    return name + detail.map(d -> ":" + d).orElse("");
  }
}
