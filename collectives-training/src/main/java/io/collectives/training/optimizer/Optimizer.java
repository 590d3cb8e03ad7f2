package io.collectives.training.optimizer;

/**
 * How a gradient changes weights. Each of the ranks that share an update applies it to its part of
 * the parameters, so it works element by element: what becomes of one weight depends on the
 * gradients, the state and the number of updates of this weight alone. If it also needs norms of
 * the layer that the weight is in, it is a {@link LayerwiseOptimizer}.
 *
 * <p>Those of {@link Optimizers} are written so that all ranks and runs get the same bits, and so
 * that the just-in-time compiler makes vector loops of them: plain loops over arrays, which all
 * have the same index. One's own should be as well.
 *
 * <p><b>Threads.</b> Several ranks of one JVM may share an object, so that it has no state of its
 * own; arrays are those of the caller.
 */
public interface Optimizer {

  /** What the state is called in snapshots, as {@code adam}; one with another name is refused. */
  String name();

  /** How many numbers are kept for each weight, zeros at first; may be 0. */
  int stateCount();

  /**
   * Updates weights {@code from <= i < to}.
   *
   * @param weights read and written
   * @param gradients may be written over
   * @param state {@link #stateCount} arrays, read and written; element i of each belongs to weight
   *     i
   * @param step the number of this update of the weights, from 1; a snapshot keeps it
   */
  void update(float[] weights, float[] gradients, float[][] state, int from, int to, long step);

  /**
   * The optimizer for biases and the parameters of normalisations beside this one: the same without
   * weight decay and without ratios of norms, which mean nothing there (Goyal et al. 2017, section
   * 5.3; Kumar et al. 2019). This one itself, if it has neither.
   */
  default Optimizer forBiases() {
    return this;
  }
}
