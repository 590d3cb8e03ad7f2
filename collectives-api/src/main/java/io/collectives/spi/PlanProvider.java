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
}
