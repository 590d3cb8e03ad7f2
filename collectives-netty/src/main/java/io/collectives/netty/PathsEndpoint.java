package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import java.util.ArrayList;
import java.util.List;

/** A rank that listens by TCP for several connections of each peer. */
final class PathsEndpoint implements TransportProvider.Endpoint {
  private final JobSettings settings;
  private final List<SocketEndpoint> paths;

  PathsEndpoint(JobSettings settings, List<SocketEndpoint> paths) {
    this.settings = settings;
    this.paths = List.copyOf(paths);
  }

  @Override
  public String address() {
    return PathsTransport.address(paths.stream().map(SocketEndpoint::address).toList());
  }

  @Override
  public Transport open(Roster roster) {
    List<Roster> rosters = PathsTransport.rosters(roster, settings.rank(), paths.size());
    List<TcpTransport> opened = new ArrayList<>();
    try {
      for (int path = 0; path < paths.size(); path++) {
        opened.add(paths.get(path).open(rosters.get(path)));
      }
    } catch (RuntimeException e) {
      opened.forEach(TcpTransport::close);
      throw e;
    }
    return new PathsTransport(opened);
  }

  @Override
  public void close() {
    paths.forEach(SocketEndpoint::close);
  }
}
