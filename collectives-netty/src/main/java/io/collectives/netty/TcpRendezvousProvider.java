package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.RendezvousProvider;
import java.net.URI;
import java.util.Optional;

/** Rendezvous {@code tcp://host:port}, where rank 0 listens. */
public final class TcpRendezvousProvider implements RendezvousProvider {

  /** For {@link java.util.ServiceLoader}. */
  public TcpRendezvousProvider() {}

  @Override
  public Optional<Rendezvous> open(JobSettings settings) {
    URI place = settings.rendezvous();
    if (!"tcp".equalsIgnoreCase(place.getScheme())) {
      return Optional.empty();
    }
    String host = place.getHost();
    int port = place.getPort();
    if (host == null || port < 1 || port > 65535) {
      throw new JoinException(
          "rendezvous "
              + place
              + ": tcp://host:port is needed, with a port from 1 to 65535"
              + " that all ranks know beforehand");
    }
    return Optional.of(new TcpRendezvous(settings, host, port));
  }
}
