package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.Mesh;

final class SharedMemoryTorusCollectivesTest extends SharedMemoryCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.torus(Mesh.torusOf(ranks));
  }
}
