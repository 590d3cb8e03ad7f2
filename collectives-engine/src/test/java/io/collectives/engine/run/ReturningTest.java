package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The contributions that come back as the sum from the rank at which all of them meet. */
class ReturningTest {
  private static Program program(Algorithm algorithm, int ranks, int rank, AddOrder order) {
    Plan plan = Bench.plan(algorithm, Collective.ALL_REDUCE, ranks);
    return ProgramCompiler.compile(algorithm, plan, rank, order);
  }

  @Test
  void eachRankIsSentBackWhatItContributesToAllOthers() {
    for (int ranks = 2; ranks < 9; ranks++) {
      for (int rank = 0; rank < ranks; rank++) {
        int self = rank;
        for (AddOrder order : new AddOrder[] {AddOrder.OF_PLAN, AddOrder.OF_RANKS}) {
          Program program = program(Algorithm.direct(), ranks, rank, order);
          assertEquals(ranks - 1, program.returns);
          assertArrayEquals(
              IntStream.range(0, ranks).filter(peer -> peer != self).toArray(),
              program.returnsFrom);
          assertArrayEquals(
              IntStream.range(0, ranks - 1).toArray(),
              IntStream.range(0, program.chunks)
                  .map(program::returning)
                  .filter(number -> number >= 0)
                  .sorted()
                  .toArray());
          for (Program.Lane lane : program.lanes) {
            for (Program.Step send : lane.sends) {
              assertEquals(send.effect == Effect.REDUCE, send.returns);
            }
          }
        }
      }
    }
  }

  @Test
  void partialSumsAndWhatIsAddedAsItComesDoNotComeBack() {
    assertEquals(1, program(Algorithm.ring(), 2, 0, AddOrder.OF_PLAN).returns);
    assertEquals(0, program(Algorithm.ring(), 3, 0, AddOrder.OF_PLAN).returns);
    assertEquals(0, program(Algorithm.exchange(), 3, 1, AddOrder.OF_PLAN).returns);
    assertEquals(0, program(Algorithm.direct(), 3, 1, AddOrder.OF_ARRIVAL).returns);
  }
}
