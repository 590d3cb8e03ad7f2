package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.Mesh;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;

@Tag("once")
final class InProcessTorusCollectivesTest extends InProcessCollectives {
  /** More, for meshes that are no squares and cubes with corners that are missing. */
  static IntStream ranks() {
    return IntStream.of(1, 2, 4, 6, 9, 12, 16);
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.torus(Mesh.torusOf(ranks));
  }
}
