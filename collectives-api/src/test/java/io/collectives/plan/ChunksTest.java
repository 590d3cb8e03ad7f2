package io.collectives.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ChunksTest {

  @Test
  void partsCoverTheWholeAndDifferByOneAtMost() {
    for (long count = 0; count < 100; count++) {
      for (int parts = 1; parts < 40; parts++) {
        long next = 0;
        for (int part = 0; part < parts; part++) {
          assertEquals(next, Chunks.start(count, part, parts));
          long one = Chunks.count(count, part, parts);
          assertTrue(one == count / parts || one == count / parts + 1);
          assertTrue(one <= Chunks.longest(count, parts));
          next += one;
        }
        assertEquals(count, next);
        assertEquals(count, Chunks.start(count, parts, parts));
      }
    }
  }

  @Test
  void startIsExactForTheLargestCounts() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 10_000; i++) {
      long count = random.nextLong() >>> random.nextInt(1, 63);
      int parts = random.nextInt(1, Integer.MAX_VALUE);
      int part = random.nextInt(0, parts);
      BigInteger exact =
          BigInteger.valueOf(count)
              .multiply(BigInteger.valueOf(part))
              .divide(BigInteger.valueOf(parts));
      assertEquals(
          exact.longValueExact(),
          Chunks.start(count, part, parts),
          () -> "seed " + seed + ": part " + part + " of " + parts + " of " + count);
    }
  }
}
