package io.collectives.plan;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Collective;
import org.junit.jupiter.api.Test;

/** Chunks are told apart by lane, wherever in the payload they are. */
class LaneChunksTest {

  /** Two ranks sum up one chunk: rank 1 at rank 0, which tells it. */
  private static Rounds sum(int firstChunk, int count) {
    return Rounds.of(
        2,
        (round, sink) ->
            sink.transfer(
                1 - round, round, firstChunk, count, round == 0 ? Effect.REDUCE : Effect.REPLACE));
  }

  private static Plan plan(int chunks, Rounds... lanes) {
    return Plan.of(Collective.ALL_REDUCE, 2, chunks, lanes);
  }

  @Test
  void placesAreInTheOrderOfChunks() {
    LaneChunks chunks = LaneChunks.of(plan(6, sum(4, 1).then(sum(1, 2)), sum(0, 1), sum(3, 1)));
    assertArrayEquals(new int[] {1, 2, 4, 5}, chunks.of(0), "none names chunk 5");
    assertArrayEquals(new int[] {0}, chunks.of(1));
    assertArrayEquals(new int[] {3}, chunks.of(2));
    assertEquals(4, chunks.most());
    for (int lane = 0; lane < 3; lane++) {
      for (int place = 0; place < chunks.of(lane).length; place++) {
        assertEquals(lane, chunks.lane(chunks.of(lane)[place]));
        assertEquals(place, chunks.place(chunks.of(lane)[place]));
      }
    }
  }

  /** A plan may say what is wrong, which others find. */
  @Test
  void chunksThatDoNotExistAreNobodys() {
    LaneChunks chunks = LaneChunks.of(plan(2, sum(-5, 6), sum(1, Integer.MAX_VALUE)));
    assertArrayEquals(new int[] {0}, chunks.of(0));
    assertArrayEquals(new int[] {1}, chunks.of(1));
  }

  @Test
  void aFaultIsFoundInWhicheverLane() {
    assertEquals(4, PlanVerifier.verify(plan(2, sum(1, 1), sum(0, 1))).transfers());
    Rounds half = Rounds.of(1, (round, sink) -> sum(0, 1).transfers(0, sink));
    for (Plan plan : new Plan[] {plan(2, sum(1, 1), half), plan(2, half, sum(1, 1))}) {
      assertEquals(
          "at the end chunk 0 of rank 1 lacks the contribution of rank 0",
          assertThrows(InvalidPlanException.class, () -> PlanVerifier.verify(plan)).getMessage());
    }
  }

  /** Rank 0 held chunk 0, at the same place of the lane before; of chunk 1 it has nothing. */
  @Test
  void aLaneBeginsWithWhatRanksContributeToIt() {
    Rounds zero = Rounds.of(1, (round, sink) -> sink.transfer(0, 1, 0, 1, Effect.REPLACE));
    Rounds one = Rounds.of(1, (round, sink) -> sink.transfer(0, 1, 1, 1, Effect.REPLACE));
    Plan plan = Plan.of(Collective.ALL_GATHER, 2, 2, zero, one);
    assertEquals(
        "lane 1, round 0: rank 0 sends chunk 1 to rank 1, but holds nothing of it",
        assertThrows(InvalidPlanException.class, () -> PlanVerifier.verify(plan)).getMessage());
  }
}
