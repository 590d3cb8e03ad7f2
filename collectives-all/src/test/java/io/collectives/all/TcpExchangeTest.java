package io.collectives.all;

import io.collectives.Algorithm;
import java.net.URI;

/** Meets at a port. */
final class TcpExchangeTest extends TcpAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.exchange();
  }

  @Override
  URI place() {
    return URI.create("tcp://localhost:" + freePort());
  }
}
