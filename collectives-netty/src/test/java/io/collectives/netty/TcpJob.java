package io.collectives.netty;

import io.collectives.CallSettings;
import io.collectives.JobSettings;
import io.collectives.Security;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Roster;
import io.collectives.spi.TransportProvider;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Opens the transports of all ranks of a job in this process. */
final class TcpJob {
  private TcpJob() {}

  /** Opens a job in which nothing is secured. */
  static List<TcpTransport> open(
      SocketKind kind, int slots, String place, int ranks, CallSettings calls) {
    return open(kind, slots, place, ranks, calls, Security.none());
  }

  static JobSettings settings(int rank, int size, String host, CallSettings calls) {
    return JobSettings.of(rank, size, URI.create("tcp://localhost:1"))
        .withListen(host, 0)
        .withJoinTimeout(Duration.ofSeconds(20))
        .withCalls(calls);
  }

  /**
   * Opens them.
   *
   * @param place the host, or for Unix-domain sockets the directory
   */
  static List<TcpTransport> open(
      SocketKind kind, int slots, String place, int ranks, CallSettings calls, Security security) {
    TransportProvider provider = provider(kind, slots);
    List<TransportProvider.Endpoint> endpoints = new ArrayList<>();
    for (int i = 0; i < ranks; i++) {
      JobSettings settings =
          kind.isUnix()
              ? settings(i, ranks, "127.0.0.1", calls).withMemoryDirectory(Path.of(place))
              : settings(i, ranks, place, calls);
      endpoints.add(provider.listen(settings.withSecurity(security)));
    }
    Roster roster =
        new Roster(
            JobEpoch.draw(), endpoints.stream().map(TransportProvider.Endpoint::address).toList());
    return endpoints.stream().map(endpoint -> (TcpTransport) endpoint.open(roster)).toList();
  }

  static TransportProvider provider(SocketKind kind, int slots) {
    return kind.isUnix()
        ? new UnixTransportProvider(kind, slots)
        : new TcpTransportProvider(kind, slots);
  }
}
