package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.Mesh;
import org.junit.jupiter.api.Tag;

@Tag("once")
final class InProcessTorusTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.torus(Mesh.torusOf(ranks));
  }
}
