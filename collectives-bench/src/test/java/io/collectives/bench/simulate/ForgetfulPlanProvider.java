package io.collectives.bench.simulate;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.PlanProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Plans {@code forgetful}, which tells the sum to nobody: right for one rank only. */
public final class ForgetfulPlanProvider implements PlanProvider {

  @Override
  public List<AlgorithmSpec> algorithms() {
    return List.of(
        AlgorithmSpec.of("forgetful", "Tells the sum to nobody.", ForgetfulPlanProvider::plan)
            .forCollectives(Set.of(Collective.ALL_REDUCE)));
  }

  private static Plan plan(PlanRequest request) {
    int ranks = request.ranks();
    Rounds gather =
        Rounds.of(
            1,
            (round, sink) -> {
              for (int rank = 1; rank < Math.min(4, ranks); rank++) {
                sink.transfer(rank, 0, 0, 1, Effect.REDUCE);
              }
            });
    return Plan.of(request, 1, gather);
  }

  /**
   * Runs something as if this were a module on the class path.
   *
   * @param directory for the class path
   */
  public static <T> T onClassPath(Path directory, Supplier<T> run) {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try {
      Path services = Files.createDirectories(directory.resolve("META-INF/services"));
      Files.writeString(
          services.resolve(PlanProvider.class.getName()), ForgetfulPlanProvider.class.getName());
      URL[] urls = {directory.toUri().toURL()};
      try (URLClassLoader loader = new URLClassLoader(urls, before)) {
        Thread.currentThread().setContextClassLoader(loader);
        return run.get();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }
}
