package io.collectives.spi;

import io.collectives.JobSettings;

/** Opens endpoints of a transport; found by {@link java.util.ServiceLoader}. */
public interface TransportProvider {

  /** The name by which users ask for it, as {@code tcp}. */
  String name();

  /**
   * Starts to listen, so that there is an address to announce.
   *
   * @throws io.collectives.JoinException if the address cannot be listened on
   */
  Endpoint listen(JobSettings settings);

  /** A listening place that does not know its peers yet. */
  interface Endpoint extends AutoCloseable {

    /**
     * Returns the address at which peers reach it: at most 384 ASCII characters together with the
     * name of the job, in the words of the transport. Ranks of one host should have the same text
     * up to the last colon.
     */
    String address();

    /**
     * Becomes the transport of a rank; no peer is connected yet. From now on the transport owns
     * what this endpoint held.
     */
    Transport open(Roster roster);

    /** Stops listening, if it has not become a transport. */
    @Override
    void close();
  }
}
