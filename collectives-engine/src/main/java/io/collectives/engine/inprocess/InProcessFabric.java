package io.collectives.engine.inprocess;

import io.collectives.spi.Transport;

/** Links the ranks of one JVM with each other: a one-way queue from every rank to every other. */
public final class InProcessFabric {
  private final InProcessTransport[] transports;

  /** A fabric for {@code ranks} ranks, each of which takes its transport once. */
  public InProcessFabric(int ranks) {
    transports = new InProcessTransport[ranks];
    for (int rank = 0; rank < ranks; rank++) {
      transports[rank] = new InProcessTransport(this, rank, ranks);
    }
  }

  /** The transport of a rank. */
  public Transport transport(int rank) {
    return transports[rank];
  }

  InProcessTransport peer(int rank) {
    return transports[rank];
  }
}
