package io.collectives.bench;

import io.collectives.bench.network.Hosts;
import io.collectives.bench.network.LinkRate;
import io.collectives.bench.network.Network;
import io.collectives.bench.network.PathLinks;
import io.collectives.bench.network.SharedLinks;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The options by which {@code perf} gives ranks hosts of their own, whose links have rates. */
final class LinkOptions {
  private static final int MOST_PATHS = 8;

  @Option(
      names = "--link-bandwidth",
      paramLabel = "RATE",
      description =
          "Each rank is a process on a host of its own, whose link carries so much each way, as "
              + "200Mbit/s; they talk by TCP. What hosts sent and received is counted. The hosts "
              + "are network namespaces of Linux, which needs root.")
  private Optional<LinkRate> rate = Optional.empty();

  @Option(
      names = "--endpoint-bandwidth",
      paramLabel = "RATE",
      description =
          "With --link-bandwidth: the workers of a host, and the proxies of a server, share a link, "
              + "of which one rank has so much each way at most.")
  private Optional<LinkRate> endpoint = Optional.empty();

  @Option(
      names = "--more-links",
      split = ",",
      paramLabel = "RATE,...",
      hideParamSyntax = true,
      description =
          "With --link-bandwidth: each host has these links, too, and each link is a TCP path.")
  private List<LinkRate> more = List.of();

  @Option(
      names = "--connection-bandwidth",
      paramLabel = "RATE",
      description =
          "With --link-bandwidth: the connection of a TCP path has so much of a link at most; see "
              + "--paths.")
  private Optional<LinkRate> connection = Optional.empty();

  @Option(
      names = "--paths",
      defaultValue = "1",
      paramLabel = "P",
      description =
          "With --connection-bandwidth: how many TCP paths there are, from 1 to 8. "
              + "Default: ${DEFAULT-VALUE}.")
  private int paths;

  /** Returns the rate of the links, if ranks have hosts of their own. */
  Optional<LinkRate> rate() {
    return rate;
  }

  /** Returns whether several ranks may share a host. */
  boolean areShared() {
    return endpoint.isPresent();
  }

  /** Checks that the options go together. */
  void check(CommandSpec spec) {
    Usage.require(
        rate.isPresent()
            || endpoint.isEmpty() && more.isEmpty() && connection.isEmpty() && paths == 1,
        spec,
        "--endpoint-bandwidth, --more-links, --connection-bandwidth and --paths go with "
            + "--link-bandwidth");
    Usage.require(
        Stream.of(endpoint.isPresent(), !more.isEmpty(), connection.isPresent())
                .filter(isGiven -> isGiven)
                .count()
            <= 1,
        spec,
        "--endpoint-bandwidth, --more-links and --connection-bandwidth: give one of them");
    Usage.require(
        more.size() < MOST_PATHS,
        spec,
        "--more-links: " + more.size() + " links more; each is a path, of which there are up to 8");
    Usage.require(
        paths >= 1 && paths <= MOST_PATHS && (paths == 1 || connection.isPresent()),
        spec,
        "--paths " + paths + ": must be from 1 to 8, and goes with --connection-bandwidth");
  }

  /**
   * Makes the hosts; there is a rate.
   *
   * @param hostOf by rank the host, if several ranks may share one
   * @throws IOException if that is not possible here, saying why
   */
  Hosts hosts(int ranks, List<Integer> hostOf) throws IOException {
    LinkRate all = rate.orElseThrow();
    if (connection.isPresent()) {
      return new PathLinks(ranks, all, connection.get(), paths);
    }
    if (!more.isEmpty()) {
      List<LinkRate> links = new ArrayList<>(List.of(all));
      links.addAll(more);
      return new PathLinks(ranks, links);
    }
    return endpoint.isPresent()
        ? new SharedLinks(hostOf, all, endpoint.get())
        : new Network(ranks, all);
  }
}
