package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/**
 * How a gradient changes weights. Each of the ranks that share an update applies it to its part of
 * the parameters, so it works element by element: what becomes of one weight depends on the
 * gradients, the state and the number of updates of this weight alone.
 *
 * <p>Those given here are written so that all ranks and runs get the same bits, and so that the
 * just-in-time compiler makes vector loops of them: plain loops over arrays, which all have the
 * same index. One's own should be as well.
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
   * Stochastic gradient descent: {@code w -= rate g}.
   *
   * @param rate the learning rate of an update, by its number from 1, as {@code step -> 0.1}
   */
  static Optimizer sgd(LongToDoubleFunction rate) {
    return new Sgd(rate);
  }

  /**
   * Stochastic gradient descent with momentum: {@code v = momentum v + g; w -= rate v} (Sutskever
   * et al. 2013, as PyTorch writes it).
   *
   * @param rate as for {@link #sgd}
   */
  static Optimizer momentum(LongToDoubleFunction rate, double momentum) {
    return new Momentum(rate, (float) momentum);
  }

  /**
   * Adam (Kingma and Ba 2015, algorithm 1), with its authors' 0.9, 0.999 and 1e-8.
   *
   * @param rate as for {@link #sgd}
   */
  static Optimizer adam(LongToDoubleFunction rate) {
    return adamW(rate, 0);
  }

  /**
   * Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2): weights shrink by
   * {@code rate decay} of themselves in each update. Its state is Adam's.
   *
   * @param rate as for {@link #sgd}
   */
  static Optimizer adamW(LongToDoubleFunction rate, double decay) {
    return new Adam(rate, 0.9, 0.999, 1e-8, decay);
  }

  /**
   * Adam with all of its numbers; see {@link #adamW(LongToDoubleFunction, double)}.
   *
   * @param rate as for {@link #sgd}
   */
  static Optimizer adamW(
      LongToDoubleFunction rate, double beta1, double beta2, double epsilon, double decay) {
    return new Adam(rate, beta1, beta2, epsilon, decay);
  }
}
