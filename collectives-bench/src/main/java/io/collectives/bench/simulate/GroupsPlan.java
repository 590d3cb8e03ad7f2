package io.collectives.bench.simulate;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Transfer;
import java.util.function.IntBinaryOperator;

/**
 * The plan of a group of ranks, run by several groups at once: together they have all ranks.
 *
 * @param ofGroup the plan
 * @param groups how many run it
 * @param rankOf the rank of (group, member); each rank is a member of one group
 */
record GroupsPlan(Plan ofGroup, int groups, IntBinaryOperator rankOf) implements Plan {
  @Override
  public Collective collective() {
    return ofGroup.collective();
  }

  @Override
  public int ranks() {
    return Math.multiplyExact(ofGroup.ranks(), groups);
  }

  @Override
  public int chunks() {
    return ofGroup.chunks();
  }

  @Override
  public int lanes() {
    return ofGroup.lanes();
  }

  @Override
  public int rounds(int lane) {
    return ofGroup.rounds(lane);
  }

  @Override
  public void transfers(int lane, int round, Transfer.Sink sink) {
    for (int i = 0; i < groups; i++) {
      int group = i;
      ofGroup.transfers(
          lane,
          round,
          new Transfer.Sink() {
            @Override
            public void transfer(int from, int to, int first, int count, Effect effect) {
              sink.transfer(rank(from), rank(to), first, count, effect);
            }

            @Override
            public void relayed(int from, int by, int to, int first, int count, Effect effect) {
              sink.relayed(rank(from), rank(by), rank(to), first, count, effect);
            }

            private int rank(int ofGroup) {
              return rankOf.applyAsInt(group, ofGroup);
            }
          });
    }
  }
}
