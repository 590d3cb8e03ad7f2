package io.collectives.all;

import io.collectives.Algorithm;
import java.net.URI;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;

/** Meets at a port. */
@Tag("once")
final class TcpExchangeTest extends TcpAllReduce {
  static IntStream ranks() {
    return fewRanks();
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.exchange();
  }

  @Override
  URI place() {
    return URI.create("tcp://localhost:" + freePort());
  }
}
