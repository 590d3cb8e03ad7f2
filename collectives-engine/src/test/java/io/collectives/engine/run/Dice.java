package io.collectives.engine.run;

import java.util.Random;

/**
 * Random numbers of a seed for one thread: Steele, Lea and Flood's SplitMix64. A {@link Random}
 * whose state is atomic takes a tenth of the time of a simulation.
 */
final class Dice extends Random {
  private static final long serialVersionUID = 1;

  private long state;

  Dice(long seed) {
    super(seed);
  }

  /** Another number for each argument, which looks like chance. */
  static long mix(long value) {
    long z = value + 0x9e3779b97f4a7c15L;
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }

  @Override
  public void setSeed(long seed) {
    state = seed;
  }

  @Override
  protected int next(int bits) {
    long z = mix(state);
    state += 0x9e3779b97f4a7c15L;
    return (int) (z >>> 64 - bits);
  }

  /** Returns whether something happens that happens once in so many times. */
  boolean oneIn(int times) {
    return nextInt(times) == 0;
  }

  /** Returns one of them. */
  @SafeVarargs
  final <T> T any(T... of) {
    return of[nextInt(of.length)];
  }
}
