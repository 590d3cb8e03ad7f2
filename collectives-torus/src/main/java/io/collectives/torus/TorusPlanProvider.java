package io.collectives.torus;

import io.collectives.Algorithm;
import io.collectives.Mesh;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.AlgorithmSpec.Cost;
import io.collectives.spi.PlanProvider;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The algorithms of this module, each of which plans every collective. */
public final class TorusPlanProvider implements PlanProvider {
  private static final String HIERARCHICAL = "hierarchical";
  private static final String HIERARCHICAL_TREE = "hierarchical-tree";
  private static final String WEIGHTED = "weighted-torus";
  private static final String WRITTEN_MESH = "(\\d{1,5}x\\d{1,5}(?: wrap=(?:x|y|none))?)";
  private static final Pattern MESH = Pattern.compile(WRITTEN_MESH + "?");
  private static final Pattern MESH_AND_WEIGHTS =
      Pattern.compile("(?:" + WRITTEN_MESH + "(?:/(\\d{1,2}):(\\d{1,2}))?)?");

  private static final List<String> NAMES =
      List.of(
          "ring",
          "bidirectional-ring",
          "shortest-way-ring",
          "torus",
          WEIGHTED,
          HIERARCHICAL,
          HIERARCHICAL_TREE,
          "direct",
          "exchange",
          "binomial-tree",
          "recursive-doubling",
          "halving-doubling",
          "swing",
          "double-binary-tree");

  /** Makes the provider; the service loader calls this. */
  public TorusPlanProvider() {}

  @Override
  public List<String> names() {
    return NAMES;
  }

  @Override
  public AlgorithmSpec algorithm(String name) {
    return switch (name) {
      case "ring" ->
          AlgorithmSpec.of(name, "One ring, for long payloads.", RingPlan::of)
              .withFigures(n -> 2 * (n - 1), TorusPlanProvider::both)
              .withCost(always(n -> new Cost(2 * (n - 1), both(n), half(n), true)));
      case "bidirectional-ring" ->
          AlgorithmSpec.of(
                  name,
                  "Two rings in opposite directions, each with half of the payload.",
                  BidirectionalRingPlan::of)
              .withFigures(n -> 2 * (n - 1), TorusPlanProvider::both)
              .withCost(
                  where(n -> n > 2, n -> new Cost(2 * (n - 1), both(n) / 2, half(n) / 2, false)));
      case "shortest-way-ring" ->
          AlgorithmSpec.of(
                  name,
                  "One ring, in which each contribution goes the shorter way round.",
                  ShortestWayRingPlan::of)
              .withFigures(n -> n / 2 * 2, TorusPlanProvider::both);
      case "torus" ->
          AlgorithmSpec.of(name, "Rings along the rows and columns of a mesh.", RingPlan::of)
              .withParameters(
                  new AlgorithmSpec.Parameters("[:XxY]", MESH, TorusPlanProvider::torus),
                  (algorithm, request) ->
                      TorusPlan.of(((Algorithm.Torus) algorithm).mesh(), request))
              .withFigures(TorusPlanProvider::torusSteps, TorusPlanProvider::both);
      case WEIGHTED ->
          AlgorithmSpec.of(
                  name,
                  "A torus whose two orders have unequal parts, for dimensions that are unlike.",
                  RingPlan::of)
              .withParameters(
                  new AlgorithmSpec.Parameters(
                      "[:XxY[/COLUMNS:ROWS]]", MESH_AND_WEIGHTS, TorusPlanProvider::weighted),
                  (algorithm, request) -> {
                    String text = ((Algorithm.Named) algorithm).parameters();
                    Mesh mesh = mesh(name, text, request.ranks());
                    return WeightedTorusPlan.of(mesh, weights(text, mesh), request);
                  })
              .withFigures(TorusPlanProvider::weightedSteps, TorusPlanProvider::both)
              .withCost(TorusPlanProvider::weightedCost);
      case HIERARCHICAL ->
          onMesh(
                  name,
                  "Within the rows of a mesh, which are hosts, then between them, and back.",
                  HierarchicalPlan::of)
              .withFigures(TorusPlanProvider::torusSteps, TorusPlanProvider::both)
              .withCost(TorusPlanProvider::hierarchicalCost);
      case HIERARCHICAL_TREE ->
          onMesh(
                  name,
                  "Within the rows of a mesh, which are hosts, by two trees between them, and back.",
                  HierarchicalTreePlan::of)
              .withFigures(n -> treeSteps(Mesh.torusOf(n)), n -> treeBytes(Mesh.torusOf(n)));
      case "direct" ->
          AlgorithmSpec.of(name, "Each rank serves one share to all others.", DirectPlans::of)
              .withFigures(n -> n == 1 ? 0 : 2, TorusPlanProvider::both)
              .withCost(always(n -> new Cost(2, 2.0 / n, half(n), false)));
      case "exchange" ->
          AlgorithmSpec.of(
                  name,
                  "Each rank sends all it has to all others, for the shortest payloads.",
                  DirectPlans::exchange)
              .withFigures(n -> n == 1 ? 0 : 1, n -> n - 1)
              .withCost(always(n -> new Cost(1, 1, n - 1, false)));
      case "binomial-tree" ->
          AlgorithmSpec.of(
                  name,
                  "A tree up and down, which takes the fewest messages of all ranks together.",
                  BinomialTreePlan::of)
              .withFigures(n -> 2 * levels(n), TorusPlanProvider::levels)
              .withCost(
                  where(
                      TorusPlanProvider::isPowerOfTwo,
                      n -> new Cost(2 * levels(n), 2 * levels(n), levels(n), false)));
      case "recursive-doubling" ->
          AlgorithmSpec.of(
                  name,
                  "Pairs exchange all that they have, for short payloads.",
                  RecursiveDoublingPlan::of)
              .withFigures(
                  TorusPlanProvider::doublings, n -> levels(core(n)) + (isPowerOfTwo(n) ? 0 : 1))
              .withCost(
                  where(
                      TorusPlanProvider::isPowerOfTwo,
                      n -> new Cost(levels(n), levels(n), levels(n), true)));
      case "halving-doubling" ->
          byHalves(
              name,
              "Pairs exchange halves, quarters, …, and back: few steps, the least bytes.",
              HalvingDoublingPlan::of);
      case "swing" ->
          byHalves(
              name,
              "Pairs that are near on a ring exchange halves, quarters, …, and back.",
              SwingPlan::of);
      case "double-binary-tree" ->
          AlgorithmSpec.of(
                  name, "Two trees, each with half of the payload.", DoubleBinaryTreePlan::of)
              .withFigures(n -> 2 * levels(core(n)), n -> Math.min(2, n / 2.0 * (n == 1 ? 0 : 1)));
      default ->
          throw new IllegalArgumentException("no algorithm \"" + name + "\" is planned here");
    };
  }

  @Override
  public List<AlgorithmSpec> algorithms() {
    return NAMES.stream().map(this::algorithm).toList();
  }

  /**
   * Returns (n-1)/n: the least that each rank sends in one half of an all-reduce, as a multiple of
   * M.
   */
  private static double half(int ranks) {
    return (ranks - 1.0) / ranks;
  }

  private static double both(int ranks) {
    return 2 * half(ranks);
  }

  /** Returns the logarithm to base 2, rounded up. */
  private static int levels(int ranks) {
    return Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1);
  }

  private static boolean isPowerOfTwo(int ranks) {
    return core(ranks) == ranks;
  }

  /** Returns the largest power of two up to a number of ranks. */
  private static int core(int ranks) {
    return Integer.highestOneBit(ranks);
  }

  /**
   * Returns the number of rounds of doubling, with those in which the ranks beyond a power of two
   * send their data.
   */
  private static int doublings(int ranks) {
    return levels(core(ranks)) + (isPowerOfTwo(ranks) ? 0 : 2);
  }

  private static int torusSteps(int ranks) {
    Mesh mesh = Mesh.torusOf(ranks);
    return 2 * (mesh.x() - 1) + 2 * (mesh.y() - 1);
  }

  private static AlgorithmSpec.CostFormula always(IntFunction<Cost> cost) {
    return (algorithm, ranks) -> Optional.of(cost.apply(ranks));
  }

  /**
   * Describes an algorithm that exchanges a half, a quarter and so on of the payload and back, with
   * any partners.
   */
  private static AlgorithmSpec byHalves(
      String name, String description, Function<PlanRequest, Plan> plans) {
    return AlgorithmSpec.of(name, description, plans)
        .withFigures(
            n -> doublings(n) + levels(core(n)), n -> both(core(n)) + (isPowerOfTwo(n) ? 0 : 1))
        .withCost(
            where(
                TorusPlanProvider::isPowerOfTwo,
                n -> new Cost(2 * levels(n), both(n), half(n), true)));
  }

  private static AlgorithmSpec.CostFormula where(IntPredicate known, IntFunction<Cost> cost) {
    return (algorithm, ranks) ->
        known.test(ranks) ? Optional.of(cost.apply(ranks)) : Optional.empty();
  }

  /** Describes an algorithm whose parameter is a mesh. */
  private static AlgorithmSpec onMesh(
      String name, String description, BiFunction<Mesh, PlanRequest, Plan> plans) {
    return AlgorithmSpec.of(name, description, RingPlan::of)
        .withParameters(
            new AlgorithmSpec.Parameters(
                "[:XxY]",
                MESH,
                (text, ranks) -> Algorithm.named(name + ":" + mesh(name, text, ranks))),
            (algorithm, request) ->
                plans.apply(
                    mesh(name, ((Algorithm.Named) algorithm).parameters(), request.ranks()),
                    request));
  }

  private static int treeSteps(Mesh mesh) {
    return 2 * (mesh.x() - 1) + 2 * levels(core(mesh.y()));
  }

  /** A rank sends as in a ring within its host, and its share of what a node of both trees does. */
  private static double treeBytes(Mesh mesh) {
    double ofTrees = mesh.y() == 1 ? 0 : Math.min(2, mesh.y() / 2.0);
    return both(mesh.x()) + ofTrees / mesh.x();
  }

  private static int weightedSteps(int ranks) {
    Mesh mesh = Mesh.torusOf(ranks);
    return mesh.y() == 1 ? 2 * (mesh.x() - 1) : 4 * (Math.max(mesh.x(), mesh.y()) - 1);
  }

  /**
   * Two lanes of opposite directions have half of the payload each. Two places have one link each
   * way, which both lanes share: there is no formula for these.
   */
  private static Optional<Cost> hierarchicalCost(Algorithm algorithm, int ranks) {
    Mesh mesh = mesh(HIERARCHICAL, ((Algorithm.Named) algorithm).parameters(), ranks);
    boolean apart =
        (mesh.x() == 1 || TorusPlan.rows(mesh).closed())
            && (mesh.y() == 1 || TorusPlan.columns(mesh).closed());
    return apart
        ? Optional.of(
            new Cost(
                2 * (mesh.x() - 1) + 2 * (mesh.y() - 1), both(ranks) / 2, half(ranks) / 2, false))
        : Optional.empty();
  }

  /** On a square that wraps both ways four lanes have a quarter each, and meet on no link. */
  private static Optional<Cost> weightedCost(Algorithm algorithm, int ranks) {
    String text = ((Algorithm.Named) algorithm).parameters();
    Mesh mesh = mesh(WEIGHTED, text, ranks);
    WeightedTorusPlan.Weights weights = weights(text, mesh);
    boolean square = mesh.x() == mesh.y() && weights.columns() == weights.rows();
    return square && TorusPlan.rows(mesh).closed() && TorusPlan.columns(mesh).closed()
        ? Optional.of(new Cost(4 * (mesh.x() - 1), both(ranks) / 4, half(ranks) / 4, false))
        : Optional.empty();
  }

  private static Algorithm torus(String text, int ranks) {
    return Algorithm.torus(mesh("torus", text, ranks));
  }

  private static Algorithm weighted(String text, int ranks) {
    Mesh mesh = mesh(WEIGHTED, text, ranks);
    return Algorithm.named(WEIGHTED + ":" + mesh + "/" + weights(text, mesh));
  }

  /** The weights that are written, or those for the mesh. */
  private static WeightedTorusPlan.Weights weights(String text, Mesh mesh) {
    Matcher matcher = MESH_AND_WEIGHTS.matcher(text);
    return matcher.matches() && matcher.group(2) != null
        ? new WeightedTorusPlan.Weights(
            Integer.parseInt(matcher.group(2)), Integer.parseInt(matcher.group(3)))
        : WeightedTorusPlan.Weights.of(mesh);
  }

  /** The mesh that is written, or the one nearest to a square. */
  private static Mesh mesh(String algorithm, String text, int ranks) {
    if (text.isEmpty()) {
      return Mesh.torusOf(ranks);
    }
    Matcher matcher = MESH_AND_WEIGHTS.matcher(text);
    Mesh mesh = Mesh.parse(matcher.matches() ? matcher.group(1) : text);
    TorusPlan.requireFit(algorithm, mesh, ranks);
    return mesh;
  }
}
