package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.TransportNumbersTest;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Numbers over every transport that moves frames in a way of its own (Unix sockets move them as TCP
 * does), by few plans; those of all plans are tried between threads ({@link
 * EveryAlgorithmAllReduceTest}).
 */
@ParameterizedClass
@MethodSource("rows")
final class EveryTransportNumbersTest extends TransportNumbersTest {
  private final String transport;
  private final Algorithm algorithm;

  @TempDir private Path directory;

  static Stream<Arguments> rows() {
    return ShortKit.rows(3, "shm, direct", "tcp, direct", "mixed, ring", "shm, ring");
  }

  EveryTransportNumbersTest(String transport, String algorithm) {
    this.transport = transport;
    this.algorithm = Algorithm.parse(algorithm);
  }

  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return ThreadJobs.open(transport, ranks, directory, calls);
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return algorithm;
  }
}
