package io.collectives.all;

import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.Algorithms;
import io.collectives.testkit.PlanContractTest;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The plans of all modules. */
@Tag("once")
@ParameterizedClass
@MethodSource("algorithms")
final class EveryAlgorithmPlanTest extends PlanContractTest {
  private final String algorithm;

  EveryAlgorithmPlanTest(String algorithm) {
    this.algorithm = algorithm;
  }

  static Stream<String> algorithms() {
    return Algorithms.onClassPath().all().stream().map(AlgorithmSpec::name);
  }

  @Override
  protected String algorithm() {
    return algorithm;
  }
}
