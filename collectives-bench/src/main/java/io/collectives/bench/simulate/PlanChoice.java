package io.collectives.bench.simulate;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.PlanProvider;
import java.util.Optional;
import java.util.ServiceLoader;

/**
 * An algorithm as it is written on the command line: one of the library's own, or the name of any
 * other that is planned by a module on the class path.
 *
 * @param text as written
 */
public record PlanChoice(String text) {
  /**
   * All that are the library's own. The choice among them, {@code auto}, is no plan: it depends on
   * a job.
   */
  public static final String FORMS = AlgorithmChoice.PLANS;

  /** Checks the form; whether a module knows the name shows when a plan is asked for. */
  public PlanChoice {
    if (known(text).isEmpty()) {
      Algorithm.named(text);
    }
  }

  /**
   * The algorithm for a size; a torus takes its mesh, if one is given.
   *
   * @throws IllegalArgumentException if it does not fit
   */
  public Algorithm algorithm(Size size) {
    Optional<AlgorithmChoice> own = known(text);
    if (own.isEmpty()) {
      return Algorithm.named(text);
    }
    if (text.equals("torus") && size.mesh().isPresent()) {
      return Algorithm.torus(size.mesh().get());
    }
    return own.get().forRanks(size.ranks());
  }

  /** For people, with what was left open. */
  public String label(Size size) {
    Algorithm algorithm = algorithm(size);
    return algorithm instanceof Algorithm.Torus
        ? algorithm.name().replaceFirst(" ", ":")
        : known(text).map(choice -> choice.label(size.ranks())).orElseGet(algorithm::name);
  }

  /**
   * The plan of an all-reduce.
   *
   * @throws IllegalArgumentException if nobody plans it, or not for this size
   */
  public Plan plan(Size size) {
    return plan(size, Collective.ALL_REDUCE, 0);
  }

  /**
   * The plan of any collective.
   *
   * @param root 0 for those that have none
   * @throws IllegalArgumentException if nobody plans it, or not for this size or root
   */
  public Plan plan(Size size, Collective collective, int root) {
    Algorithm algorithm = algorithm(size);
    PlanRequest request = new PlanRequest(collective, size.ranks(), root);
    for (PlanProvider provider : ServiceLoader.load(PlanProvider.class)) {
      Optional<Plan> plan = provider.plan(algorithm, request);
      if (plan.isPresent()) {
        return plan.get();
      }
    }
    throw new IllegalArgumentException(
        "'"
            + text
            + "' is no algorithm"
            + (collective == Collective.ALL_REDUCE ? "" : " of a module that plans " + collective)
            + "; there are "
            + FORMS
            + ", and those of other modules on the class path");
  }

  private static Optional<AlgorithmChoice> known(String text) {
    try {
      return Optional.of(AlgorithmChoice.parse(text))
          .filter(choice -> !choice.name().equals("auto"));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  @Override
  public String toString() {
    return text;
  }
}
