package io.collectives.training.optimizer;

import io.collectives.training.exact.Squares;

/**
 * An optimizer that scales the update of each layer by a ratio of two norms of it, as LARS and LAMB
 * do. Ranks that share a layer each {@link #prepare} their part, compute the norms together, and
 * {@link #apply}. {@link #update} does all three for a whole layer on one rank.
 *
 * <p>The norms are those of {@link Squares}, whose bits do not depend on the distribution of the
 * layer over the ranks.
 */
public interface LayerwiseOptimizer extends Optimizer {

  /** Returns whether {@link #prepare} does anything; if not, the norms can be computed at once. */
  boolean prepares();

  /**
   * Does the part of the update that needs no norm, and replaces the gradients by the vector whose
   * norm is needed, if that is another one. The arguments are those of {@link #update}, of a part
   * of a layer.
   */
  void prepare(float[] weights, float[] gradients, float[][] state, int from, int to, long step);

  /**
   * Updates a part of a layer.
   *
   * @param gradients the result of {@link #prepare}
   * @param weightNorm the norm of the weights of the whole layer before this update
   * @param gradientNorm the norm of the result of {@link #prepare} for the whole layer
   */
  void apply(
      float[] weights,
      float[] gradients,
      float[][] state,
      int from,
      int to,
      long step,
      double weightNorm,
      double gradientNorm);

  /** Updates a whole layer, from its first weight to its last. */
  @Override
  default void update(
      float[] weights, float[] gradients, float[][] state, int from, int to, long step) {
    prepare(weights, gradients, state, from, to, step);
    apply(
        weights,
        gradients,
        state,
        from,
        to,
        step,
        Squares.norm(weights, from, to),
        Squares.norm(gradients, from, to));
  }
}
