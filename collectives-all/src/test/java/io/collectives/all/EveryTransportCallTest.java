package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.CallContractTest;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Calls over every transport, by a plan with few peers and by one with all. */
@Tag("once")
@ParameterizedClass
@MethodSource("rows")
final class EveryTransportCallTest extends CallContractTest {
  private final String transport;
  private final Algorithm algorithm;

  @TempDir private Path directory;

  static Stream<Arguments> rows() {
    return ShortKit.rows(3, "inprocess, ring", "shm, direct", "tcp, direct", "mixed, ring");
  }

  EveryTransportCallTest(String transport, String algorithm) {
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
