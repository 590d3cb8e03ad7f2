package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.collectives.ElementType;
import io.collectives.engine.memory.Held.Kind;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Numbers that are not finite are found in all types and kinds of memory. */
class FirstNonFiniteTest {
  private static final int[] COUNTS = {
    0,
    1,
    Elements.SHORT - 1,
    Elements.SHORT,
    Elements.MARKS - 1,
    Elements.MARKS,
    3 * Elements.MARKS + 7
  };
  private static final double[] WRONG = {
    Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY
  };

  private final Scratch scratch = new Scratch();

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.MATCH_ALL, names = ".*FLOAT.*")
  void theFirstOneIsFound(ElementType type) {
    long seed = ThreadLocalRandom.current().nextLong();
    Random random = new Random(seed);
    for (Kind kind : Kind.values()) {
      for (int count : COUNTS) {
        for (int wrong = 0; wrong < 4; wrong++) {
          int from = random.nextInt(5);
          Number[] values = finite(type, from + count + random.nextInt(5), random);
          // What lies before and behind is nobody's business.
          Arrays.fill(values, 0, from, Held.nearest(type, Double.NaN));
          Arrays.fill(values, from + count, values.length, Held.nearest(type, Double.NaN));
          int first = Integer.MAX_VALUE;
          double value = 0;
          for (int i = 0; i < Math.min(wrong, count); i++) {
            int at = random.nextInt(count);
            double what = WRONG[random.nextInt(WRONG.length)];
            values[from + at] = Held.nearest(type, what);
            if (at <= first) {
              first = at;
              value = what;
            }
          }
          Memory memory = Held.of(kind, type, values, random).memory();
          String text = kind + ", " + count + " elements, seed " + seed;
          long found = memory.firstNonFinite(from, count, scratch);
          assertEquals(first == Integer.MAX_VALUE ? -1 : from + first, found, text);
          Elements elements = ElementTypes.of(type);
          assertFalse(elements.takeMarks(scratch.get(elements.marks)), "a mark is left, " + text);
          if (found >= 0) {
            assertEquals(value, memory.value(found, scratch), text);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"INT32", "INT64"})
  void integersAreFinite(ElementType type) {
    Number[] values = new Number[1000];
    Arrays.fill(values, type == ElementType.INT32 ? (Number) 0x7fc0_0000 : (Number) Long.MAX_VALUE);
    Memory memory = Held.of(Kind.ARRAY, type, values, new Random(1)).memory();
    assertEquals(-1, memory.firstNonFinite(0, values.length, scratch));
  }

  private static Number[] finite(ElementType type, int count, Random random) {
    double most = type.value(type.bits(Double.POSITIVE_INFINITY) - 1);
    double[] some = {most, -most, 0, -0.0, 1, -1e-3, most * 0x1p-20, Double.MIN_VALUE};
    Number[] values = new Number[count];
    Arrays.setAll(values, i -> Held.nearest(type, some[random.nextInt(some.length)]));
    return values;
  }
}
