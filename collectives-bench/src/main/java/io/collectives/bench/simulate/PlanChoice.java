package io.collectives.bench.simulate;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.UnavailableException;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.perf.KnownAlgorithms;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.Algorithms;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;

/**
 * An algorithm that a module on the class path plans, as it is written on the command line. The
 * choice among them, {@code auto}, has no plan of its own: it depends on a job.
 *
 * @param text as written
 */
public record PlanChoice(String text) {

  /** Checks the form. */
  public PlanChoice {
    KnownAlgorithms.onClassPath().parse(text);
  }

  /** The texts of the choices, for people. */
  public static final class Forms implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return List.of(KnownAlgorithms.onClassPath().forms()).iterator();
    }
  }

  /** All of them, with what they leave open. */
  public static List<PlanChoice> all() {
    return KnownAlgorithms.onClassPath().all().stream()
        .map(spec -> new PlanChoice(spec.name()))
        .toList();
  }

  /**
   * Returns those of some sizes that the choice supports.
   *
   * @throws IllegalArgumentException if it supports none of them
   */
  public List<Size> suiting(List<Size> sizes) {
    Algorithms algorithms = KnownAlgorithms.onClassPath();
    AlgorithmSpec spec = algorithms.spec(Algorithm.named(text));
    List<Size> suiting = sizes.stream().filter(size -> spec.suits(size.ranks())).toList();
    if (suiting.isEmpty()) {
      algorithms.forRanks(Algorithm.named(text), sizes.get(0).ranks());
    }
    return suiting;
  }

  /**
   * The algorithm for a size; one that is planned for a mesh takes that mesh, if one is given.
   *
   * @throws IllegalArgumentException if it does not fit
   */
  public Algorithm algorithm(Size size) {
    PlanChoice own = size.mesh().map(this::on).orElse(this);
    return KnownAlgorithms.onClassPath().forRanks(Algorithm.named(own.text), size.ranks());
  }

  /** Returns this choice on a mesh, if it is planned for meshes and leaves open for which. */
  PlanChoice on(Mesh mesh) {
    return knowsMeshes() && !text.contains(":") ? new PlanChoice(text + ":" + mesh) : this;
  }

  /**
   * Returns the mesh to whose links the plans for a size keep, if they keep to any; trees between
   * hosts do not.
   */
  public Optional<Mesh> mesh(Size size) {
    if (!knowsMeshes() || algorithm(size).family().equals("hierarchical-tree")) {
      return Optional.empty();
    }
    String name = algorithm(size).name();
    int weights = name.indexOf('/');
    return Optional.of(
        Mesh.parse(name.substring(name.indexOf(':') + 1, weights < 0 ? name.length() : weights)));
  }

  private boolean knowsMeshes() {
    return KnownAlgorithms.onClassPath()
        .spec(Algorithm.named(text))
        .parameters()
        .form()
        .startsWith("[:XxY");
  }

  /** For people, with what was left open. */
  public String label(Size size) {
    return knowsMeshes() ? algorithm(size).name() : new AlgorithmChoice(text).label(size.ranks());
  }

  /**
   * The plan of an all-reduce.
   *
   * @throws IllegalArgumentException if it is not planned for this size
   */
  public Plan plan(Size size) {
    return plan(size, Collective.ALL_REDUCE, 0);
  }

  /**
   * The plan of any collective.
   *
   * @param root 0 for those that have none
   * @throws IllegalArgumentException if it is not planned, or not for this size or root
   */
  public Plan plan(Size size, Collective collective, int root) {
    try {
      return KnownAlgorithms.onClassPath()
          .plan(algorithm(size), new PlanRequest(collective, size.ranks(), root));
    } catch (UnavailableException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  @Override
  public String toString() {
    return text;
  }
}
