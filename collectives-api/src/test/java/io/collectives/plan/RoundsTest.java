package io.collectives.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Collective;
import java.util.List;
import org.junit.jupiter.api.Test;

class RoundsTest {

  /**
   * Rounds of one transfer each, which names the sender and, as its chunk, the number of the round.
   */
  private static Rounds of(int count, int from) {
    return Rounds.of(count, (round, sink) -> sink.transfer(from, 9, round, 1, Effect.REDUCE));
  }

  private static List<String> of(Rounds rounds, int round) {
    return Plan.of(Collective.ALL_REDUCE, 10, 10, rounds).transfers(0, round).stream()
        .map(t -> t.from() + ":" + t.firstChunk())
        .toList();
  }

  @Test
  void phasesFollowEachOther() {
    Rounds rounds = of(2, 1).then(of(0, 2)).then(of(3, 3));
    assertEquals(5, rounds.count());
    assertEquals(List.of("1:1"), of(rounds, 1));
    assertEquals(List.of("3:0"), of(rounds, 2));
    assertEquals(List.of("3:2"), of(rounds, 4));
    assertThrows(IndexOutOfBoundsException.class, () -> of(rounds, 5));
    assertThrows(IndexOutOfBoundsException.class, () -> of(rounds, -1));
  }

  @Test
  void partsRunSideBySideUntilEachHasEnded() {
    Rounds rounds = Rounds.sideBySide(3, part -> of(3 - part, part));
    assertEquals(3, rounds.count());
    assertEquals(List.of("0:0", "1:0", "2:0"), of(rounds, 0));
    assertEquals(List.of("0:1", "1:1"), of(rounds, 1));
    assertEquals(List.of("0:2"), of(rounds, 2));
    assertEquals(0, Rounds.sideBySide(0, part -> of(1, part)).count());
  }

  @Test
  void refusesWhatCannotBe() {
    assertEquals(
        "-1 rounds: at least 0 are needed",
        assertThrows(IllegalArgumentException.class, () -> of(-1, 0)).getMessage());
    assertEquals(
        "a plan of 3 ranks, 3 chunks and 0 lanes: at least 1 of each is needed",
        assertThrows(IllegalArgumentException.class, () -> Plan.of(Collective.ALL_REDUCE, 3, 3))
            .getMessage());
  }

  @Test
  void planSaysWhatItIs() {
    assertEquals(
        "all-reduce of 10 ranks, 4 chunks, rounds by lane [2, 3]",
        Plan.of(Collective.ALL_REDUCE, 10, 4, of(2, 0), of(3, 0)).toString());
  }
}
