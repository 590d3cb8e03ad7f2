package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.testkit.CollectivesNumbersTest;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The collectives of all algorithms that modules plan, between threads. */
@Tag("once")
@ParameterizedClass
@MethodSource("algorithms")
final class EveryAlgorithmCollectivesTest extends CollectivesNumbersTest {
  private final Algorithm algorithm;

  EveryAlgorithmCollectivesTest(String algorithm) {
    this.algorithm = Algorithm.parse(algorithm);
  }

  static Stream<String> algorithms() {
    return NumberedAlgorithms.names();
  }

  /** With meshes that are no squares, and cubes with corners that are missing. */
  static IntStream ranks() {
    return IntStream.of(1, 4, 6);
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return algorithm;
  }
}
