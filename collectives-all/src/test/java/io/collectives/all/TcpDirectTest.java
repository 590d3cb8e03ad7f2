package io.collectives.all;

import io.collectives.Algorithm;
import java.net.URI;
import org.junit.jupiter.api.Tag;

/** Meets at a port. */
@Tag("once")
final class TcpDirectTest extends TcpAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }

  @Override
  URI place() {
    return URI.create("tcp://localhost:" + freePort());
  }
}
