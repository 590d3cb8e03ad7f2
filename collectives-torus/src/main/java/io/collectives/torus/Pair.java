package io.collectives.torus;

import io.collectives.plan.Transfer;

/**
 * A function that lists the transfers between two ranks with different roles, such as parent and
 * child.
 */
@FunctionalInterface
interface Pair {
  void transfer(int one, int other, Transfer.Sink sink);
}
