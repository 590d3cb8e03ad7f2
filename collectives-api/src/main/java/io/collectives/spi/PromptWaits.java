package io.collectives.spi;

/**
 * A {@link Transport#capability capability}: whatever arrives ends a wait at once, and costs its
 * sender nothing more, as where the kernel wakes who waits for a socket. Ranks that share a
 * processor sleep soon then; if not, only when they have waited for long.
 */
public interface PromptWaits {

  /** Waits as {@link Transport#await} does. */
  void await(long nanos);
}
