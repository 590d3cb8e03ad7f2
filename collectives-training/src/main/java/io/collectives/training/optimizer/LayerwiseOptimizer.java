package io.collectives.training.optimizer;

import io.collectives.training.exact.Squares;

/**
 * An optimizer that scales the update of each layer by a ratio of two norms of it, as LARS and LAMB
 * do. Ranks that share a layer each {@link #prepare} their part, compute the norms together, and
 * {@link #apply} the {@link #layerRate}. {@link #update} does all of it for a whole layer on one
 * rank.
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
   * Returns the learning rate of a layer in an update, which is scaled by a ratio of its norms.
   *
   * @param step the number of this update of the weights, from 1
   * @param weightNorm the norm of the weights of the whole layer before this update
   * @param gradientNorm the norm of the result of {@link #prepare} for the whole layer
   */
  double layerRate(long step, double weightNorm, double gradientNorm);

  /**
   * Updates a part of a layer. The arguments are those of {@link #update}, but for these.
   *
   * @param gradients the result of {@link #prepare}
   * @param layerRate the {@link #layerRate} of the whole layer
   */
  void apply(
      float[] weights,
      float[] gradients,
      float[][] state,
      int from,
      int to,
      long step,
      double layerRate);

  /** Updates a whole layer, from its first weight to its last. */
  @Override
  default void update(
      float[] weights, float[] gradients, float[][] state, int from, int to, long step) {
    prepare(weights, gradients, state, from, to, step);
    double layerRate =
        layerRate(step, Squares.norm(weights, from, to), Squares.norm(gradients, from, to));
    apply(weights, gradients, state, from, to, step, layerRate);
  }
}
