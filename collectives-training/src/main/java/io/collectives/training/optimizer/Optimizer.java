package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/**
 * How a gradient changes weights. Each of the ranks that share an update applies it to its part of
 * the parameters, so it works element by element: what becomes of one weight depends on the
 * gradients, the state and the number of updates of this weight alone. If it also needs norms of
 * the layer that the weight is in, it is a {@link LayerwiseOptimizer}.
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
   * The optimizer for biases and the parameters of normalisations beside this one: the same without
   * weight decay and without ratios of norms, which mean nothing there (Goyal et al. 2017, section
   * 5.3; Kumar et al. 2019). This one itself, if it has neither.
   */
  default Optimizer forBiases() {
    return this;
  }

  /**
   * Stochastic gradient descent: {@code w -= rate g}.
   *
   * @param rate the learning rate of an update, by its number from 1, as {@code step -> 0.1} or a
   *     {@link LearningRate}
   */
  static Optimizer sgd(LongToDoubleFunction rate) {
    return new Sgd(rate);
  }

  /** Momentum without weight decay; see {@link #momentum(LongToDoubleFunction, double, double)}. */
  static Optimizer momentum(LongToDoubleFunction rate, double momentum) {
    return momentum(rate, momentum, 0);
  }

  /**
   * Stochastic gradient descent with momentum: {@code v = momentum v + g + decay w; w -= rate v}
   * (Sutskever et al. 2013, as PyTorch writes it).
   *
   * @param rate as for {@link #sgd}
   * @param decay the factor of weights that is added to their gradients; 0 for none
   */
  static Optimizer momentum(LongToDoubleFunction rate, double momentum, double decay) {
    return new Momentum(rate, momentum, decay, false);
  }

  /**
   * Nesterov's momentum: with {@code h = g + decay w}, {@code v = momentum v + h; w -= rate (h +
   * momentum v)} (Sutskever et al. 2013, as PyTorch writes it). Its state is that of {@link
   * #momentum}.
   *
   * @param rate as for {@link #sgd}
   */
  static Optimizer nesterov(LongToDoubleFunction rate, double momentum, double decay) {
    return new Momentum(rate, momentum, decay, true);
  }

  /**
   * LARS with the momentum scaled by the rate, as in MLPerf's reference (Kumar et al. 2019, figure
   * 5): with {@code l = rate trust |w| / (|g| + decay |w|)} for each layer, {@code v = momentum v +
   * l (g + decay w); w -= v}. Where a norm is 0, {@code l} is the rate.
   *
   * @param rate as for {@link #sgd}
   * @param trust the trust coefficient, as 0.001
   */
  static LayerwiseOptimizer lars(
      LongToDoubleFunction rate, double momentum, double decay, double trust) {
    return new Lars(rate, momentum, decay, trust, true);
  }

  /**
   * LARS as first published (You et al. 2017; Kumar et al. 2019, figure 6): with the {@code l} of
   * {@link #lars}, {@code v = momentum v + g + decay w; w -= l v}.
   *
   * @param rate as for {@link #sgd}
   * @param trust the trust coefficient, as 0.001
   */
  static LayerwiseOptimizer larsUnscaled(
      LongToDoubleFunction rate, double momentum, double decay, double trust) {
    return new Lars(rate, momentum, decay, trust, false);
  }

  /**
   * LAMB (You et al. 2019, algorithm 2) with 0.9, 0.999 and 1e-6; see {@link
   * #lamb(LongToDoubleFunction, double, double, double, double)}.
   *
   * @param rate as for {@link #sgd}
   */
  static LayerwiseOptimizer lamb(LongToDoubleFunction rate, double decay) {
    return lamb(rate, 0.9, 0.999, 1e-6, decay);
  }

  /**
   * LAMB with all of its numbers (You et al. 2019, algorithm 2): with Adam's means {@code m} and
   * {@code v}, freed from their bias, {@code r = m / (sqrt(v) + epsilon) + decay w; w -= rate (|w|
   * / |r|) r} for each layer. Where a norm is 0 the ratio is 1.
   *
   * @param rate as for {@link #sgd}
   */
  static LayerwiseOptimizer lamb(
      LongToDoubleFunction rate, double beta1, double beta2, double epsilon, double decay) {
    return new Lamb(rate, beta1, beta2, epsilon, decay);
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
