package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Mesh;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class CircuitTest {

  @Test
  void itComesByEveryPlaceOnceAndHome() {
    for (int x = 1; x <= 9; x++) {
      for (int y = 1; y <= 9; y++) {
        boolean line = x == 1 || y == 1;
        boolean odd = x % 2 == 1 && y % 2 == 1;
        Mesh mesh = new Mesh(x, y, line || odd, line || odd);
        if (odd && !line) {
          Mesh half = new Mesh(x, y, true, false);
          assertThrows(IllegalArgumentException.class, () -> Circuit.of(half));
        }
        int[] way = Circuit.of(mesh);
        int[] sorted = way.clone();
        Arrays.sort(sorted);
        assertArrayEquals(IntStream.range(0, x * y).toArray(), sorted, mesh.toString());
        Network network = Network.of(mesh, new Wire(1, 1));
        for (int i = 0; i < way.length && way.length > 1; i++) {
          int hops =
              network.path(way[i], way[(i + 1) % way.length], new int[network.longestPath()]);
          assertEquals(1, hops, mesh + " at " + i);
        }
      }
    }
    assertThrows(IllegalArgumentException.class, () -> Circuit.of(new Mesh(5, 1, false, true)));
  }
}
