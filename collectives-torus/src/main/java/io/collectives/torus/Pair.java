package io.collectives.torus;

import io.collectives.plan.Transfer;

/** Names what passes between two ranks of which each has its role, as parent and child. */
@FunctionalInterface
interface Pair {
  void transfer(int one, int other, Transfer.Sink sink);
}
