package io.collectives.spi;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.function.IntToDoubleFunction;
import java.util.function.IntUnaryOperator;
import java.util.regex.Pattern;

/**
 * All that the library has to know of an algorithm: an entry of the list that a {@link
 * PlanProvider} gives. {@link Algorithm#parse}, the engine, the command line and the contract tests
 * read it from there. Immutable; its functions must be usable by any thread.
 *
 * <p>The least is a name, a line for people, and the plans:
 *
 * <pre>{@code
 * AlgorithmSpec.of("my-own", "What it does, in a line.", MyOwnPlan::of)
 *     .forRanks("powers of two", n -> Integer.bitCount(n) == 1)
 *     .withFigures(n -> 2 * levels(n), n -> 2.0 * (n - 1) / n)
 * }</pre>
 *
 * @param name as in {@code ring}: what stands before the colon where an algorithm is written
 * @param description a line for people: what it does, and what it is for
 * @param planner gives its plans
 * @param parameters what may stand behind the colon
 * @param sizes the groups that it can run in
 * @param collectives what it plans
 * @param model the rounds, bytes and time of its all-reduce, as far as they are known
 */
public record AlgorithmSpec(
    String name,
    String description,
    Planner planner,
    Parameters parameters,
    Sizes sizes,
    Set<Collective> collectives,
    Model model) {

  /** Gives the plans of an algorithm. */
  @FunctionalInterface
  public interface Planner {
    /**
     * The plan for a request of a collective and a size that it is for.
     *
     * @param algorithm with all that was left open
     * @throws IllegalArgumentException if its parameters do not fit the number of ranks
     */
    Plan plan(Algorithm algorithm, PlanRequest request);
  }

  /** Reads what stands behind the colon. */
  @FunctionalInterface
  public interface Reader {
    /**
     * The algorithm for a number of ranks, with all that was left open.
     *
     * @param text of the allowed form; empty if nothing is written
     * @throws IllegalArgumentException if it does not fit the number of ranks
     */
    Algorithm read(String text, int ranks);

    /**
     * Returns the number of ranks that a job needs in which so many work; it is larger than that if
     * other ranks only serve.
     */
    default int ranks(String text, int workers) {
      return workers;
    }
  }

  /**
   * The parameters that an algorithm takes: the text behind the colon, as in {@code torus:4x2}.
   *
   * @param form for people, as it is appended to the name: {@code [:XxY]}
   * @param allowed what is well-formed; nothing at all, unless it matches the empty text, too
   * @param reader makes an algorithm of it
   */
  public record Parameters(String form, Pattern allowed, Reader reader) {}

  /**
   * The groups that an algorithm can run in, whatever its parameters.
   *
   * @param words for people: {@code powers of two}
   * @param suits whether it can run in a group of so many ranks
   */
  public record Sizes(String words, IntPredicate suits) {
    /** All of them. */
    public static final Sizes ANY = new Sizes("any number", ranks -> true);
  }

  /**
   * The two numbers of an all-reduce by a number of ranks that suits, parameters being left out.
   *
   * @param steps the rounds of the longest lane
   * @param bytes what the busiest rank sends, as a multiple of the payload
   */
  public record Figures(IntUnaryOperator steps, IntToDoubleFunction bytes) {}

  /**
   * The modelled time of an all-reduce of M bytes on links that are alike, each of which moves one
   * transfer at a time: {@code hops α + M (moved β + added γ)}, of α for a hop, β for a byte on a
   * link and γ for a byte that is added.
   *
   * @param hops one after the other
   * @param moved what crosses links one after the other, as a multiple of M
   * @param added what is added one after the other, as a multiple of M
   * @param oneAtATime whether no rank sends, or receives, several transfers at once, so that a
   *     network card that is slower than its links counts as their β
   */
  public record Cost(double hops, double moved, double added, boolean oneAtATime) {}

  /** Tells the cost of an all-reduce. */
  @FunctionalInterface
  public interface CostFormula {
    /**
     * Returns the cost with so many ranks, at least 2, which suit the algorithm; empty where there
     * is no formula.
     */
    Optional<Cost> of(Algorithm algorithm, int ranks);
  }

  /**
   * The known rounds, bytes and time of an all-reduce.
   *
   * @param figures its two numbers, if they are known for every size
   * @param cost its time, as far as there is a formula for it
   */
  public record Model(Optional<Figures> figures, CostFormula cost) {
    /** The model of an algorithm of which nothing is known. */
    public static final Model UNKNOWN =
        new Model(Optional.empty(), (algorithm, ranks) -> Optional.empty());
  }

  /** Checks the name. */
  public AlgorithmSpec {
    if (!name.equals(Algorithm.named(name).family())) {
      throw new IllegalArgumentException(
          "algorithm name \"" + name + "\": a colon divides it from parameters, so it has none");
    }
    collectives = Set.copyOf(collectives);
  }

  /** An algorithm without parameters that plans every collective for any number of ranks. */
  public static AlgorithmSpec of(
      String name, String description, Function<PlanRequest, Plan> plans) {
    return new AlgorithmSpec(
        name,
        description,
        (algorithm, request) -> plans.apply(request),
        new Parameters("", Pattern.compile(""), (text, ranks) -> Algorithm.named(name)),
        Sizes.ANY,
        EnumSet.allOf(Collective.class),
        Model.UNKNOWN);
  }

  /** Returns this description with parameters, which the planner finds in the algorithm. */
  public AlgorithmSpec withParameters(Parameters some, Planner plans) {
    return new AlgorithmSpec(name, description, plans, some, sizes, collectives, model);
  }

  /**
   * Returns this description, restricted to some numbers of ranks.
   *
   * @param words for people: {@code powers of two}
   */
  public AlgorithmSpec forRanks(String words, IntPredicate suits) {
    return new AlgorithmSpec(
        name, description, planner, parameters, new Sizes(words, suits), collectives, model);
  }

  /** Returns this description, restricted to some collectives. */
  public AlgorithmSpec forCollectives(Set<Collective> some) {
    return new AlgorithmSpec(name, description, planner, parameters, sizes, some, model);
  }

  /** Returns this description with its two numbers: see {@link Figures}. */
  public AlgorithmSpec withFigures(IntUnaryOperator steps, IntToDoubleFunction bytes) {
    return withModel(new Model(Optional.of(new Figures(steps, bytes)), model.cost));
  }

  /** Returns this description with a formula for its time. */
  public AlgorithmSpec withCost(CostFormula formula) {
    return withModel(new Model(model.figures, formula));
  }

  private AlgorithmSpec withModel(Model some) {
    return new AlgorithmSpec(name, description, planner, parameters, sizes, collectives, some);
  }

  /** Returns the two numbers of the all-reduce, if they are known for every size. */
  public Optional<Figures> figures() {
    return model.figures;
  }

  /**
   * Returns the cost of an all-reduce by so many ranks, at least 2, which suit the algorithm; it is
   * empty where there is no formula.
   */
  public Optional<Cost> cost(Algorithm algorithm, int ranks) {
    return model.cost.of(algorithm, ranks);
  }

  /** Returns the form in which users write the algorithm: {@code torus[:XxY]}. */
  public String form() {
    return name + parameters.form();
  }

  /** Returns whether the algorithm can run in a group of so many ranks. */
  public boolean suits(int ranks) {
    return sizes.suits().test(ranks);
  }
}
