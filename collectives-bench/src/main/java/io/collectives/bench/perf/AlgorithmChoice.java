package io.collectives.bench.perf;

import io.collectives.Algorithm;
import java.util.Iterator;
import java.util.stream.Stream;

/**
 * An algorithm as it is written on the command line, which {@link Algorithm#parse} reads, too.
 *
 * @param text as written
 */
public record AlgorithmChoice(String text) {
  /** Servers of whose number nothing is said. */
  public static final AlgorithmChoice SERVERS_LEFT_OPEN = new AlgorithmChoice("parameter-server");

  /** Checks the form. */
  public AlgorithmChoice {
    KnownAlgorithms.onClassPath().parseOrAuto(text);
  }

  /** The texts of algorithms, for people. */
  public static final class Forms implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return Stream.of(Algorithm.auto().name(), KnownAlgorithms.onClassPath().forms()).iterator();
    }
  }

  /**
   * The algorithm, with what was left open: a mesh nearest to a square, half of the ranks as
   * servers.
   *
   * @throws IllegalArgumentException if it does not fit the number of ranks
   */
  public Algorithm forRanks(int ranks) {
    Algorithm algorithm = KnownAlgorithms.onClassPath().parseOrAuto(text);
    return algorithm instanceof Algorithm.Auto
        ? algorithm
        : KnownAlgorithms.onClassPath().forRanks(algorithm, ranks);
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
   * Returns how many ranks a job needs for it in which some number of ranks work: more than that if
   * others only serve.
   */
  public int ranks(int workers) {
    return KnownAlgorithms.onClassPath()
        .ranks(KnownAlgorithms.onClassPath().parseOrAuto(text), workers);
  }

  /**
   * Returns this choice with servers, if they were left open; other choices are returned as they
   * are.
   *
   * @param proxies of each dedicated server
   * @param workersPerHost which reduce among themselves first
   */
  public AlgorithmChoice withServers(
      int servers, boolean dedicated, int proxies, int workersPerHost) {
    return equals(SERVERS_LEFT_OPEN)
        ? new AlgorithmChoice(
            text
                + ":"
                + (dedicated ? "0+" : "")
                + servers
                + (proxies > 1 ? "x" + proxies : "")
                + (workersPerHost > 1 ? "/" + workersPerHost : ""))
        : this;
  }

  /** Returns the text on the command line, with the parameters that were left open. */
  public String label(int ranks) {
    Algorithm algorithm = forRanks(ranks);
    boolean onHosts =
        algorithm instanceof Algorithm.ParameterServer servers && !servers.hosts().isEmpty();
    return onHosts || algorithm instanceof Algorithm.Auto
        ? text // Its name tells hosts apart, and not what they are; that of auto not what it goes
        // by.
        : algorithm.name();
  }

  @Override
  public String toString() {
    return text;
  }
}
