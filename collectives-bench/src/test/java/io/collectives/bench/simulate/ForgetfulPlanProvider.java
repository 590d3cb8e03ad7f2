package io.collectives.bench.simulate;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import io.collectives.spi.PlanProvider;
import java.util.Optional;

/** Plans {@code forgetful}, which tells the sum to nobody: right for one rank only. */
public final class ForgetfulPlanProvider implements PlanProvider {

  @Override
  public Optional<Plan> plan(Algorithm algorithm, PlanRequest request) {
    if (!algorithm.name().equals("forgetful") || request.collective() != Collective.ALL_REDUCE) {
      return Optional.empty();
    }
    int ranks = request.ranks();
    Rounds gather =
        Rounds.of(
            1,
            (round, sink) -> {
              for (int rank = 1; rank < Math.min(4, ranks); rank++) {
                sink.transfer(rank, 0, 0, 1, Effect.REDUCE);
              }
            });
    return Optional.of(Plan.of(request, 1, gather));
  }
}
