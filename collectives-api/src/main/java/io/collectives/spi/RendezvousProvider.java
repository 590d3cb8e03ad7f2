package io.collectives.spi;

import io.collectives.JobSettings;
import java.util.Optional;

/** Opens rendezvous by the scheme of their address; found by {@link java.util.ServiceLoader}. */
public interface RendezvousProvider {

  /**
   * A rendezvous at {@code settings.rendezvous()}.
   *
   * @return nothing if this provider does not know the scheme
   */
  Optional<Rendezvous> open(JobSettings settings);
}
