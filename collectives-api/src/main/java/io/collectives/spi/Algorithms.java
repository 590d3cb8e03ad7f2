package io.collectives.spi;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.UnavailableException;
import io.collectives.internal.Services;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The algorithms that some modules plan. For any thread. */
public final class Algorithms {
  /** By the names of the algorithms, in the order in which people read of them. */
  private final Map<String, PlanProvider> providers = new LinkedHashMap<>();

  /** The descriptions that were asked for; to make all would take a rank long when it starts. */
  private final Map<String, AlgorithmSpec> specs = new ConcurrentHashMap<>();

  private Algorithms(Iterable<PlanProvider> all) {
    for (PlanProvider provider : all) {
      for (String name : provider.names()) {
        if (providers.putIfAbsent(name, provider) != null) {
          throw new IllegalStateException(
              "two modules on the class path plan the algorithm \"" + name + "\"");
        }
      }
    }
  }

  private @Nullable AlgorithmSpec named(String name) {
    PlanProvider provider = providers.get(name);
    return provider == null ? null : specs.computeIfAbsent(name, provider::algorithm);
  }

  /** Returns the algorithms of all modules on the class path, in its order. */
  public static Algorithms onClassPath() {
    return new Algorithms(Services.of(PlanProvider.class));
  }

  /** Returns the algorithms of some modules. */
  public static Algorithms of(PlanProvider... providers) {
    return new Algorithms(List.of(providers));
  }

  /** All of them, in the order in which people read of them. */
  public List<AlgorithmSpec> all() {
    List<AlgorithmSpec> all = new ArrayList<>();
    providers.keySet().forEach(name -> all.add(Objects.requireNonNull(named(name))));
    return List.copyOf(all);
  }

  /** Returns the forms in which users write the algorithms: {@code ring, torus[:XxY], …}. */
  public String forms() {
    return all().stream().map(AlgorithmSpec::form).collect(Collectors.joining(", "));
  }

  /**
   * Returns the description of an algorithm.
   *
   * @throws UnavailableException if no module plans it
   */
  public AlgorithmSpec spec(Algorithm algorithm) {
    AlgorithmSpec spec = named(algorithm.family());
    if (spec == null) {
      throw new UnavailableException(
          "no module on the class path plans the algorithm \""
              + algorithm.name()
              + "\"; there "
              + (providers.isEmpty() ? "is none" : "are " + forms())
              + ". Add the dependency "
              + algorithm.artifact()
              + ", or io.collectives:collectives-all for everything");
    }
    return spec;
  }

  /**
   * Reads an algorithm, which is not {@code auto}. What it leaves open, such as the mesh of a
   * {@code torus}, is as suits the group that it is used in.
   *
   * @throws IllegalArgumentException if no module plans it, or its parameters are none; the message
   *     lists all
   */
  public Algorithm parse(String text) {
    return parse(text, "");
  }

  /**
   * Reads an algorithm, or {@code auto}, or {@code auto:shipped}: see {@link
   * Algorithm#auto(String)}.
   *
   * @throws IllegalArgumentException as above
   */
  public Algorithm parseOrAuto(String text) {
    String auto = Algorithm.auto().name();
    if (text.equals(auto)) {
      return Algorithm.auto();
    }
    String shipped = auto + ":" + Algorithm.Auto.SHIPPED;
    return text.equals(shipped) ? Algorithm.auto(Algorithm.Auto.SHIPPED) : parse(text, auto + ", ");
  }

  private Algorithm parse(String text, String others) {
    int colon = text.indexOf(':');
    AlgorithmSpec spec = named(colon < 0 ? text : text.substring(0, colon));
    String parameters = colon < 0 ? "" : text.substring(colon + 1);
    boolean good =
        spec != null
            && parameters.isEmpty() == colon < 0
            && spec.parameters().allowed().matcher(parameters).matches();
    if (!good) {
      throw new IllegalArgumentException(
          "'" + text + "' is no algorithm; there are " + others + forms());
    }
    return Algorithm.named(text);
  }

  /**
   * The algorithm with all that was left open, for a group of so many ranks.
   *
   * @throws UnavailableException if no module plans it
   * @throws IllegalArgumentException if it does not fit the number of ranks, saying what would
   */
  public Algorithm forRanks(Algorithm algorithm, int ranks) {
    AlgorithmSpec spec = spec(algorithm);
    if (!spec.suits(ranks)) {
      throw new IllegalArgumentException(
          "the algorithm \""
              + algorithm.name()
              + "\" is for "
              + spec.sizes().words()
              + " of ranks, not for "
              + ranks);
    }
    return algorithm instanceof Algorithm.Named named
        ? spec.parameters().reader().read(named.parameters(), ranks)
        : algorithm;
  }

  /**
   * Returns whether an algorithm can run in a group of so many ranks.
   *
   * @throws UnavailableException if no module plans it
   */
  public boolean suits(Algorithm algorithm, int ranks) {
    try {
      return forRanks(algorithm, ranks).fits(ranks);
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** Returns the number of ranks that a job needs for an algorithm in which so many work. */
  public int ranks(Algorithm algorithm, int workers) {
    return algorithm instanceof Algorithm.Named named
        ? spec(algorithm).parameters().reader().ranks(named.parameters(), workers)
        : workers;
  }

  /**
   * The plan of a collective by an algorithm.
   *
   * @throws UnavailableException if no module plans that
   * @throws IllegalArgumentException if the algorithm does not fit the number of ranks, saying what
   *     would
   */
  public Plan plan(Algorithm algorithm, PlanRequest request) {
    AlgorithmSpec spec = spec(algorithm);
    if (!spec.collectives().contains(request.collective())) {
      throw new UnavailableException(
          "the algorithm \""
              + algorithm.name()
              + "\" does not plan "
              + request.collective()
              + ", only "
              + spec.collectives().stream()
                  .sorted()
                  .map(Collective::toString)
                  .collect(Collectors.joining(", ")));
    }
    return spec.planner().plan(forRanks(algorithm, request.ranks()), request);
  }

  /**
   * The plan of a collective without a root, or with rank 0 as its root: see {@link
   * #plan(Algorithm, PlanRequest)}.
   */
  public Plan plan(Algorithm algorithm, Collective collective, int ranks) {
    return plan(algorithm, PlanRequest.of(collective, ranks));
  }
}
