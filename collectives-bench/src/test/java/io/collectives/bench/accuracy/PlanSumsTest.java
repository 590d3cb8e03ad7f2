package io.collectives.bench.accuracy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.ElementType;
import io.collectives.bench.model.Values;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.bench.simulate.Size;
import io.collectives.plan.Plan;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Numbers that are moved through a plan, against those that the engine moves. */
@Timeout(60)
@Tag("once")
class PlanSumsTest {
  private static final Contributions CONTRIBUTIONS = new Contributions(20_261_122, 0.5);
  private static final int STEPS = 2;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ring",
        "bidirectional-ring",
        "shortest-way-ring",
        "torus",
        "direct",
        "exchange",
        "binomial-tree",
        "recursive-doubling",
        "halving-doubling",
        "double-binary-tree",
        "parameter-server"
      })
  void theBitsAreTheEngines(String algorithm) {
    for (int ranks : new int[] {1, 2, 5}) {
      for (ElementType type :
          List.of(ElementType.FLOAT64, ElementType.BFLOAT16, ElementType.FLOAT16)) {
        assertSame(algorithm, ranks, type, "as-in-memory");
      }
      for (String wire :
          List.of("as-in-memory", "bfloat16", "float16+feedback", "int8", "int8+feedback")) {
        assertSame(algorithm, ranks, ElementType.FLOAT32, wire);
      }
    }
  }

  private static void assertSame(String name, int ranks, ElementType type, String wireName) {
    PlanChoice algorithm = new PlanChoice(name);
    Size size = Size.of(ranks);
    WireChoice wire = WireChoice.parse(wireName);
    if (!new AccuracyCase(algorithm, size, type, wire, 1, CONTRIBUTIONS, true).exists()) {
      return;
    }
    Plan plan = algorithm.plan(size);
    // Some chunks only, where there are more than two.
    Sample sample = Sample.of(plan, 700);
    Sums simulated = new PlanSums(plan, type, wire, sample, CONTRIBUTIONS);
    try (Sums real =
        new EngineSums(algorithm.algorithm(size), ranks, type, wire, sample, CONTRIBUTIONS)) {
      for (int step = 0; step < STEPS; step++) {
        Values expected = real.take(step);
        Values actual = simulated.take(step);
        String which = name + ", " + ranks + " ranks, " + type + ", " + wire + ", step " + step;
        assertEquals(sample.elements(), expected.count(), which);
        for (int i = 0; i < expected.count(); i++) {
          if (Double.compare(expected.get(i), actual.get(i)) != 0) {
            assertEquals(expected.get(i), actual.get(i), which + ", element " + i);
          }
        }
      }
    }
  }

  /** Of a million pairs: a copy of what is looked at for each would be 17 GB. */
  @Test
  void anExchangeNeedsNoRoomForEachPairOfRanks() {
    Plan plan = new PlanChoice("exchange").plan(Size.of(1024));
    Sample sample = Sample.of(plan, 4096);
    WireChoice wire = WireChoice.parse("float16");
    PlanSums sums = new PlanSums(plan, ElementType.FLOAT32, wire, sample, CONTRIBUTIONS);
    assertEquals(sample.elements(), sums.take(0).count());
  }

  @Test
  void chunksThatAreLookedAtAreFound() {
    for (int chunks : new int[] {1, 2, 7, 64, 4096}) {
      for (int elements : new int[] {1, 256, 257, 4096, 65_536}) {
        Sample sample = Sample.of(new PlanChoice("ring").plan(Size.of(chunks)), elements);
        int index = 0;
        for (int chunk = 0; chunk <= sample.chunks(); chunk++) {
          assertEquals(index, sample.firstFrom(chunk), sample + ", from chunk " + chunk);
          if (index < sample.picked() && sample.chunk(index) == chunk) {
            index++;
          }
        }
        assertEquals(sample.picked(), index, sample.toString());
      }
    }
  }
}
