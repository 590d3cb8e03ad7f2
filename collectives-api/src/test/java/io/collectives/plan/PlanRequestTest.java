package io.collectives.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Collective;
import org.junit.jupiter.api.Test;

class PlanRequestTest {

  @Test
  void refusesRootsThatAreNotThere() {
    assertEquals("broadcast with root 3: ranks are 0 to 2", refusal(Collective.BROADCAST, 3, 3));
    assertEquals("gather with root -1: ranks are 0 to 2", refusal(Collective.GATHER, 3, -1));
    assertEquals(
        "all-gather with root 1: it has none, which is written as 0",
        refusal(Collective.ALL_GATHER, 3, 1));
    assertEquals("scatter of 0 ranks: at least 1 is needed", refusal(Collective.SCATTER, 0, 0));
  }

  @Test
  void aPlanKnowsItsRoot() {
    PlanRequest request = new PlanRequest(Collective.REDUCE, 3, 2);
    Plan plan = Plan.of(request, 1, Rounds.of(0, (round, sink) -> {}));
    assertEquals(2, plan.root());
    assertEquals("reduce of 3 ranks, root 2, 1 chunks, rounds by lane [0]", plan.toString());
    assertEquals(0, PlanRequest.of(Collective.REDUCE, 3).root());
  }

  private static String refusal(Collective collective, int ranks, int root) {
    return assertThrows(
            IllegalArgumentException.class, () -> new PlanRequest(collective, ranks, root))
        .getMessage();
  }
}
