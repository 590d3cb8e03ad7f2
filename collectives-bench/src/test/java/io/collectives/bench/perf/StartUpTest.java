package io.collectives.bench.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.bench.perf.StartUp.Block;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StartUpTest {
  private static List<Block> blocks(long... medians) {
    List<Block> blocks = new ArrayList<>();
    for (long median : medians) {
      blocks.add(new Block(10L * blocks.size(), median));
    }
    return blocks;
  }

  @Test
  void sumsAreSteadyFromTheFirstThatAreNearlyAsFastAsTheLastQuarter() {
    // The last quarter is of three blocks, 9 the middle one of it.
    assertEquals(30, StartUp.steadyFrom(blocks(90, 50, 11, 10, 20, 30, 9, 9, 9, 9, 70, 1)));
    assertEquals(0, StartUp.steadyFrom(blocks(10, 9, 9, 9)));
    assertEquals(0, StartUp.steadyFrom(blocks(7)));
  }
}
