package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.testkit.AllReduceNumbersTest;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The all-reduces of all algorithms that modules plan, between threads. */
@Tag("once")
@ParameterizedClass
@MethodSource("algorithms")
final class EveryAlgorithmAllReduceTest extends AllReduceNumbersTest {
  private final Algorithm algorithm;

  EveryAlgorithmAllReduceTest(String algorithm) {
    this.algorithm = Algorithm.parse(algorithm);
  }

  static Stream<String> algorithms() {
    return NumberedAlgorithms.names();
  }

  static IntStream ranks() {
    return IntStream.of(1, 2, 6);
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return algorithm;
  }
}
