package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/** Makes the {@linkplain Optimizer optimizers} of this library. */
public final class Optimizers {
  private Optimizers() {}

  /**
   * Stochastic gradient descent: {@code w -= rate g}.
   *
   * @param rate the learning rate of an update, by its number from 1, as {@code step -> 0.1} or a
   *     {@link LearningRate}
   */
  public static Optimizer sgd(LongToDoubleFunction rate) {
    return new Sgd(rate);
  }

  /** Momentum without weight decay; see {@link #momentum(LongToDoubleFunction, double, double)}. */
  public static Optimizer momentum(LongToDoubleFunction rate, double momentum) {
    return momentum(rate, momentum, 0);
  }

  /**
   * Stochastic gradient descent with momentum: {@code v = momentum v + g + decay w; w -= rate v}
   * (Sutskever et al. 2013, as PyTorch writes it).
   *
   * @param rate as for {@link #sgd}
   * @param decay the factor of weights that is added to their gradients; 0 for none
   */
  public static Optimizer momentum(LongToDoubleFunction rate, double momentum, double decay) {
    return new Momentum(rate, momentum, decay, false);
  }

  /**
   * Nesterov's momentum: with {@code h = g + decay w}, {@code v = momentum v + h; w -= rate (h +
   * momentum v)} (Sutskever et al. 2013, as PyTorch writes it). Its state is that of {@link
   * #momentum}.
   *
   * @param rate as for {@link #sgd}
   */
  public static Optimizer nesterov(LongToDoubleFunction rate, double momentum, double decay) {
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
  public static LayerwiseOptimizer lars(
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
  public static LayerwiseOptimizer larsUnscaled(
      LongToDoubleFunction rate, double momentum, double decay, double trust) {
    return new Lars(rate, momentum, decay, trust, false);
  }

  /**
   * LAMB (You et al. 2019, algorithm 2) with 0.9, 0.999 and 1e-6; see {@link
   * #lamb(LongToDoubleFunction, double, double, double, double)}.
   *
   * @param rate as for {@link #sgd}
   */
  public static LayerwiseOptimizer lamb(LongToDoubleFunction rate, double decay) {
    return lamb(rate, 0.9, 0.999, 1e-6, decay);
  }

  /**
   * LAMB with all of its numbers (You et al. 2019, algorithm 2): with Adam's means {@code m} and
   * {@code v}, freed from their bias, {@code r = m / (sqrt(v) + epsilon) + decay w; w -= rate (|w|
   * / |r|) r} for each layer. Where a norm is 0 the ratio is 1.
   *
   * @param rate as for {@link #sgd}
   */
  public static LayerwiseOptimizer lamb(
      LongToDoubleFunction rate, double beta1, double beta2, double epsilon, double decay) {
    return new Lamb(rate, beta1, beta2, epsilon, decay);
  }

  /**
   * Adam (Kingma and Ba 2015, algorithm 1), with its authors' 0.9, 0.999 and 1e-8.
   *
   * @param rate as for {@link #sgd}
   */
  public static Optimizer adam(LongToDoubleFunction rate) {
    return adamW(rate, 0);
  }

  /**
   * Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2): weights shrink by
   * {@code rate decay} of themselves in each update. Its state is Adam's.
   *
   * @param rate as for {@link #sgd}
   */
  public static Optimizer adamW(LongToDoubleFunction rate, double decay) {
    return new Adam(rate, 0.9, 0.999, 1e-8, decay);
  }

  /**
   * Adam with all of its numbers; see {@link #adamW(LongToDoubleFunction, double)}.
   *
   * @param rate as for {@link #sgd}
   */
  public static Optimizer adamW(
      LongToDoubleFunction rate, double beta1, double beta2, double epsilon, double decay) {
    return new Adam(rate, beta1, beta2, epsilon, decay);
  }
}
