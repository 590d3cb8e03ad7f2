package io.collectives.spi;

import java.util.List;

/**
 * A module that plans algorithms; found by {@link java.util.ServiceLoader}. Must be usable by any
 * thread.
 *
 * <p>To add an algorithm is to write its plan and to name it here. Its plans are proven, and its
 * numbers tested, by the contract kits of the module collectives-testkit, which take it by its
 * name.
 */
public interface PlanProvider {

  /** The algorithms that it plans, in the order in which people read of them. */
  List<AlgorithmSpec> algorithms();

  /** Returns the names of {@link #algorithms}, in the same order. */
  default List<String> names() {
    return algorithms().stream().map(AlgorithmSpec::name).toList();
  }

  /**
   * Returns the one of {@link #algorithms} that has a name. A provider of many algorithms should
   * make only this one, as a rank that starts needs few of them.
   *
   * @param name one of {@link #names}
   */
  default AlgorithmSpec algorithm(String name) {
    for (AlgorithmSpec spec : algorithms()) {
      if (spec.name().equals(name)) {
        return spec;
      }
    }
    throw new IllegalArgumentException("no algorithm \"" + name + "\" is planned here");
  }
}
