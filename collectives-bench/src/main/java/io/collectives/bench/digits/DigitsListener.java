package io.collectives.bench.digits;

/** The part of a rank's surroundings that hears from its training. */
@FunctionalInterface
public interface DigitsListener {
  /** An epoch is over, and every rank has saved what it takes to go on from there. */
  void found(DigitsEpoch epoch);

  /** This rank is in the middle of the epoch in which it is to be killed; never returns. */
  default void awaitDeath() {
    throw new UnsupportedOperationException("nobody is there to kill this rank");
  }
}
