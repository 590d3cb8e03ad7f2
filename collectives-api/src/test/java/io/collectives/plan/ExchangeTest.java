package io.collectives.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Collective;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@link DirectExchange} and {@link Dissemination}. */
@Tag("once")
class ExchangeTest {

  private static Plan allReduce(int ranks, int owners) {
    return Plan.of(
        Collective.ALL_REDUCE,
        ranks,
        owners,
        DirectExchange.reduceScatter(ranks, owners).then(DirectExchange.allGather(ranks, owners)));
  }

  @Test
  void exchangeIsRightForAnyOwners() {
    for (int n = 1; n <= 64; n++) {
      for (int owners = 1; owners <= n; owners += 1 + n / 8) {
        PlanFigures figures = PlanVerifier.verify(allReduce(n, owners), 1, 0);
        assertEquals(n == 1 ? 0 : 2, figures.rounds());
      }
    }
  }

  @Test
  void ownersAddInTheOrderOfRanksFromTheirOwnOn() {
    for (int owner = 0; owner < 4; owner++) {
      int chunk = owner;
      List<Integer> senders =
          allReduce(7, 4).transfers(0, 0).stream()
              .filter(t -> t.firstChunk() == chunk)
              .map(Transfer::from)
              .toList();
      int next = owner + 1;
      assertEquals(List.of(0, 1, 2, 3, 4, 5).stream().map(i -> (next + i) % 7).toList(), senders);
    }
  }

  @Test
  void atNoTimeDoAllSendToOne() {
    for (int round = 0; round < 2; round++) {
      List<Transfer> transfers = allReduce(7, 4).transfers(0, round);
      for (int first = 0; first < transfers.size(); first += 4) {
        List<Transfer> together = transfers.subList(first, first + 4);
        assertEquals(4, together.stream().map(Transfer::from).distinct().count());
        assertEquals(4, together.stream().map(Transfer::to).distinct().count());
      }
    }
  }

  @Test
  void refusesOwnersThatAreNotThere() {
    for (int owners : new int[] {0, 4}) {
      assertEquals(
          owners + " owners of chunks in a group of 3 ranks: 1 to 3 can be",
          assertThrows(IllegalArgumentException.class, () -> DirectExchange.allGather(3, owners))
              .getMessage());
    }
  }

  @Test
  void barrierTakesTheLogarithmOfRounds() {
    for (int n = 1; n <= 200; n++) {
      PlanFigures figures = PlanVerifier.verify(Dissemination.barrier(n), 1, 0);
      assertEquals((int) Math.ceil(Math.log(n) / Math.log(2) - 1e-9), figures.rounds(), "n=" + n);
      assertEquals(figures.rounds(), figures.load().mostSent());
    }
    assertEquals(12, PlanVerifier.verify(Dissemination.barrier(4096)).rounds());
  }
}
