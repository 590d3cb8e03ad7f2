package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.PlanVerifier;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.Algorithms;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The plans of an algorithm: extend it and say which. All that it plans is proven for every number
 * of ranks that it is for, up to 64, and compared with its two numbers.
 *
 * <p>{@link AllReduceNumbersTest} and {@link CollectivesNumbersTest} then run it in process:
 *
 * <pre>{@code
 * class MyOwnPlanTest extends PlanContractTest {
 *   protected String algorithm() {
 *     return "my-own";
 *   }
 * }
 * }</pre>
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class PlanContractTest {
  private static final int MOST_RANKS = 64;
  private static final int MOST_RANKS_OF_ALL_ROOTS = 9;

  private final Algorithms algorithms = Algorithms.onClassPath();

  /** For subclasses. */
  protected PlanContractTest() {}

  /** The name of the algorithm under test, without parameters: a module plans it. */
  protected abstract String algorithm();

  private AlgorithmSpec spec() {
    return algorithms.spec(algorithms.parse(algorithm()));
  }

  @ParameterizedTest
  @EnumSource
  void everyPlanIsRight(Collective collective) {
    Algorithm algorithm = algorithms.parse(algorithm());
    if (!spec().collectives().contains(collective)) {
      return;
    }
    for (int ranks : Kit.ranksUpTo(MOST_RANKS).toArray()) {
      int roots = collective.rooted() ? ranks : 1;
      int step = ranks <= MOST_RANKS_OF_ALL_ROOTS ? 1 : Math.max(1, ranks / 2);
      for (int root = 0; root < roots && spec().suits(ranks); root += step) {
        PlanVerifier.verify(algorithms.plan(algorithm, new PlanRequest(collective, ranks, root)));
      }
    }
  }

  /** If they are told. */
  @Test
  void stepsAndBytesAreThoseOfThePlan() {
    Algorithm algorithm = algorithms.parse(algorithm());
    Optional<AlgorithmSpec.Figures> figures = spec().figures();
    for (int ranks : Kit.ranksUpTo(MOST_RANKS).toArray()) {
      if (figures.isPresent() && spec().suits(ranks)) {
        AlgorithmSpec.Figures told = figures.get();
        PlanFigures found =
            PlanVerifier.verify(algorithms.plan(algorithm, Collective.ALL_REDUCE, ranks));
        String what = algorithm() + " of " + ranks + " ranks";
        assertEquals(told.steps().applyAsInt(ranks), found.rounds(), what);
        assertEquals(told.bytes().applyAsDouble(ranks), found.mostBytesSent(1), 1e-9, what);
      }
    }
  }

  @Test
  void numbersOfRanksThatDoNotSuitAreRefused() {
    List<Integer> suiting = new ArrayList<>();
    for (int ranks : IntStream.rangeClosed(1, MOST_RANKS).toArray()) {
      if (spec().suits(ranks)) {
        suiting.add(ranks);
      } else {
        String message =
            Kit.message(
                assertThrows(
                    IllegalArgumentException.class,
                    () ->
                        algorithms.plan(
                            algorithms.parse(algorithm()), Collective.ALL_REDUCE, ranks)));
        assertTrue(message.contains(spec().sizes().words()), message);
      }
    }
    assertTrue(!suiting.isEmpty(), algorithm() + " is for no number of ranks up to " + MOST_RANKS);
  }
}
