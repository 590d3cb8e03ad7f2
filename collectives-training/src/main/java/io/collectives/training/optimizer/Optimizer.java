package io.collectives.training.optimizer;

/**
 * The rule by which gradients change weights. Each of the ranks that share an update applies it to
 * its part of the parameters, so it works element by element: the new value of a weight depends on
 * the gradient, the state and the number of updates of this weight alone. If it also needs norms of
 * the layer that contains the weight, it is a {@link LayerwiseOptimizer}.
 *
 * <p>The optimizers of {@link Optimizers} are written so that all ranks and runs get the same bits,
 * and so that the just-in-time compiler makes vector loops of them: they are plain loops over
 * arrays, which all have the same index. Other implementations should be written in the same way.
 *
 * <p><b>Threads.</b> Several ranks of one JVM may share an object, so it must have no state of its
 * own; the caller owns all arrays.
 */
public interface Optimizer {

  /**
   * Returns the name of the state in checkpoints, such as {@code adam}; a checkpoint with another
   * name is refused.
   */
  String name();

  /**
   * Returns the number of state values for each weight, which are 0 at first; there may be none.
   */
  int stateCount();

  /**
   * Updates weights {@code from <= i < to}.
   *
   * @param weights the weights to read and write
   * @param gradients the gradients, which may be overwritten
   * @param state {@link #stateCount} arrays to read and write; element i of each belongs to weight
   *     i
   * @param step the number of this update of the weights, from 1; a checkpoint keeps it
   */
  void update(float[] weights, float[] gradients, float[][] state, int from, int to, long step);

  /**
   * Returns the optimizer for biases and the parameters of normalisations that belongs to this one:
   * the same without weight decay and without ratios of norms, which have no meaning there (Goyal
   * et al. 2017, section 5.3; Kumar et al. 2019). It is this optimizer itself if it has neither.
   */
  default Optimizer forBiases() {
    return this;
  }
}
