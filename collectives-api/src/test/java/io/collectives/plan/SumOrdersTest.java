package io.collectives.plan;

import static io.collectives.plan.Effect.REDUCE;
import static io.collectives.plan.Effect.REPLACE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Ranks that complete the same chunk must take the very same sum. */
class SumOrdersTest {
  private static final String OTHER =
      " is not the very sum that another rank takes: operands differ in order, or in rounding";

  @SafeVarargs
  private static TablePlan plan(int ranks, List<Transfer>... rounds) {
    return new TablePlan(Collective.ALL_REDUCE, ranks, 1, List.of(List.of(rounds)));
  }

  private static Transfer add(int from, int to) {
    return new Transfer(from, to, 0, 1, REDUCE);
  }

  private static Transfer put(int from, int to) {
    return new Transfer(from, to, 0, 1, REPLACE);
  }

  private static String rejection(Plan plan) {
    return assertThrows(InvalidPlanException.class, () -> PlanVerifier.verify(plan)).getMessage();
  }

  /** Each rank sends to the one 2^k on, and gets from the one 2^k before. */
  private static Plan dissemination(int ranks) {
    return Plan.of(
        Collective.ALL_REDUCE,
        ranks,
        1,
        Rounds.of(
            Integer.numberOfTrailingZeros(ranks),
            (round, sink) -> {
              for (int rank = 0; rank < ranks; rank++) {
                sink.transfer(rank, (rank + (1 << round)) % ranks, 0, 1, REDUCE);
              }
            }));
  }

  @Test
  void ranksThatAddInDifferentOrdersAreRefused() {
    assertEquals("at the end chunk 0 of rank 1" + OTHER, rejection(dissemination(4)));
    assertEquals("at the end chunk 0 of rank 1" + OTHER, rejection(dissemination(128)));
  }

  @Test
  void exchangesOfBlocksAreRightInAnyNumbering() {
    TablePlan pairs =
        plan(
            4,
            List.of(add(0, 3), add(3, 0), add(1, 2), add(2, 1)),
            List.of(add(0, 1), add(1, 0), add(2, 3), add(3, 2)));
    // Rank 1 has the operand of the lower block, but rank 2 is lower than rank 3.
    assertEquals("at the end chunk 0 of rank 2" + OTHER, rejection(pairs));
    TablePlan blocks =
        plan(
            4,
            List.of(add(0, 2), add(2, 0), add(1, 3), add(3, 1)),
            List.of(add(0, 1), add(1, 0), add(2, 3), add(3, 2)));
    assertEquals(8, PlanVerifier.verify(blocks).transfers());
  }

  @Test
  void someMayTakeTheSumAndOthersBeSentIt() {
    TablePlan plan = plan(3, List.of(add(2, 1)), List.of(add(0, 1), add(1, 0)), List.of(put(0, 2)));
    assertEquals(4, PlanVerifier.verify(plan).transfers());
  }

  @Test
  void whatIsAddedMustBeTheSameToTheLastRounding() {
    List<Transfer> exchange = List.of(add(0, 1), add(1, 0));
    List<Transfer> last = List.of(put(0, 2));
    TablePlan alike = plan(3, exchange, List.of(add(2, 0), add(2, 1)), last);
    assertEquals(5, PlanVerifier.verify(alike).transfers());
    // Rank 0 takes its own as it sends it, rank 1 as it is.
    TablePlan unlike = plan(3, exchange, List.of(add(2, 0), add(2, 1), add(0, 2)), last);
    assertEquals("at the end chunk 0 of rank 1" + OTHER, rejection(unlike));
  }

  @Test
  void aReplacementMustBeTheSumOfAll() {
    TablePlan plan =
        plan(
            4,
            List.of(add(0, 1), add(1, 2), add(2, 3), add(3, 0)),
            List.of(add(0, 2), add(1, 3)),
            List.of(put(3, 0), put(2, 1)));
    String message = rejection(plan);
    assertEquals(
        "lane 0, round 2: rank 2 sends chunk 0 to rank 1 as a replacement, but it" + OTHER,
        message);
  }

  @Test
  void someMayExchangeAndOthersBeSentTheSum() {
    List<Transfer> all = List.of(add(2, 1), add(0, 1), add(1, 0), add(2, 0));
    assertEquals(5, PlanVerifier.verify(plan(3, all, List.of(put(1, 2)))).transfers());
    // In two rounds it is no exchange: rank 1 adds its own and rank 2's first.
    TablePlan late = plan(3, List.of(add(2, 1), add(2, 0)), List.of(add(0, 1), add(1, 0)));
    assertTrue(rejection(late).contains("already holds"));
    TablePlan apart =
        plan(
            4,
            List.of(add(3, 0), add(2, 1)),
            List.of(add(0, 1), add(1, 0)),
            List.of(put(0, 2), put(1, 3)));
    assertEquals(6, PlanVerifier.verify(apart).transfers());
  }
}
