package io.collectives.torus;

import io.collectives.plan.Rounds;

/** The two halves of an all-reduce among ranks that stand at places, each of which owns a share. */
interface Halves {

  /** Makes the rounds after which each place holds the sum of its own share. */
  Rounds reduceScatter();

  /** Makes the rounds after which each place has got the share of every other. */
  Rounds allGather();
}
