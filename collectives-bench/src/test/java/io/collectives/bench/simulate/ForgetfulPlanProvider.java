package io.collectives.bench.simulate;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Rounds;
import io.collectives.spi.PlanProvider;
import java.util.Optional;

/** Plans {@code forgetful}, which tells the sum to nobody: right for one rank only. */
public final class ForgetfulPlanProvider implements PlanProvider {

  @Override
  public Optional<Plan> plan(Algorithm algorithm, Collective collective, int ranks) {
    if (!algorithm.name().equals("forgetful") || collective != Collective.ALL_REDUCE) {
      return Optional.empty();
    }
    Rounds gather =
        Rounds.of(
            1,
            (round, sink) -> {
              for (int rank = 1; rank < Math.min(4, ranks); rank++) {
                sink.transfer(rank, 0, 0, 1, Effect.REDUCE);
              }
            });
    return Optional.of(Plan.of(collective, ranks, 1, gather));
  }
}
