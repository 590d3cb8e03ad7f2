package io.collectives.bench.digits;

import io.collectives.Communicator;
import io.collectives.training.layer.BatchNorm;
import io.collectives.training.layer.SpatialTiles;
import io.collectives.training.layer.SplitDense;
import io.collectives.training.layer.TiledConvolution;
import io.collectives.training.layer.TiledPooling;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Convolution to 8 channels, batch norm, rectifier, convolution to 16, batch norm, rectifier,
 * pooling, and a dense layer; each rank has all of it.
 */
final class DigitsNetwork {
  private static final int FIRST = 8;
  private static final int SECOND = 16;
  private static final int POOLED = SECOND * Digits.PIXELS / 4;

  private final TiledConvolution first;
  private final BatchNorm firstNorm;
  private final TiledConvolution second;
  private final BatchNorm secondNorm;
  private final TiledPooling pooling;
  private final SplitDense dense;
  private final List<Parameter> parameters = new ArrayList<>();
  private final float[] a;
  private final float[] b;
  private final float[] c;
  private final float[] d;
  private final float[] pooled;
  private final float[] unused;

  /**
   * Weights with their gradients.
   *
   * @param isBias whether they are a bias, or belong to a normalisation
   */
  record Parameter(String name, float[] weights, float[] gradients, boolean isBias) {}

  /**
   * A network with random weights.
   *
   * @param norms the ranks whose samples are normalised together
   * @param batch the most samples of a pass
   */
  DigitsNetwork(Communicator norms, int batch, long seed) {
    Communicator alone = norms.group(norms.rank());
    SpatialTiles tiles = SpatialTiles.of(alone, new int[] {Digits.SIDE}, new int[] {Digits.SIDE});
    first = TiledConvolution.of(tiles, 1, FIRST, 3, 1, 1);
    firstNorm = BatchNorm.of(norms, FIRST);
    second = TiledConvolution.of(tiles, FIRST, SECOND, 3, 1, 1);
    secondNorm = BatchNorm.of(norms, SECOND);
    pooling = TiledPooling.max(tiles, SECOND, 2, 2, 0);
    dense = SplitDense.byInputs(alone, POOLED, Digits.CLASSES);
    a = new float[batch * FIRST * Digits.PIXELS];
    b = new float[a.length];
    c = new float[batch * SECOND * Digits.PIXELS];
    d = new float[c.length];
    pooled = new float[batch * POOLED];
    unused = new float[batch * Digits.PIXELS];
    Random random = new Random(seed);
    fill(first.weights(), random, 9);
    fill(second.weights(), random, 9 * FIRST);
    fill(dense.weights(), random, POOLED);
    add("first", first.weights(), first.weightGradients(), first.biases(), first.biasGradients());
    add(
        "first norm",
        firstNorm.scale(),
        firstNorm.scaleGradients(),
        firstNorm.shift(),
        firstNorm.shiftGradients());
    add(
        "second",
        second.weights(),
        second.weightGradients(),
        second.biases(),
        second.biasGradients());
    add(
        "second norm",
        secondNorm.scale(),
        secondNorm.scaleGradients(),
        secondNorm.shift(),
        secondNorm.shiftGradients());
    add("dense", dense.weights(), dense.weightGradients(), dense.biases(), dense.biasGradients());
  }

  /** He et al. 2015. */
  private static void fill(float[] weights, Random random, int inputs) {
    for (int i = 0; i < weights.length; i++) {
      weights[i] = (float) (random.nextGaussian() * Math.sqrt(2.0 / inputs));
    }
  }

  private void add(String name, float[] w, float[] dw, float[] bias, float[] dBias) {
    parameters.add(new Parameter(name, w, dw, name.endsWith("norm")));
    parameters.add(new Parameter(name + " bias", bias, dBias, true));
  }

  /** In the order of the forward pass. */
  List<Parameter> parameters() {
    return parameters;
  }

  /**
   * Computes scores.
   *
   * @param isTraining whether to normalise by the batch, or by running statistics
   */
  void forward(float[] images, int batch, float[] scores, boolean isTraining) {
    first.forward(images, batch, a);
    normalise(firstNorm, a, batch, b, isTraining);
    rectify(b, batch * FIRST * Digits.PIXELS);
    second.forward(b, batch, c);
    normalise(secondNorm, c, batch, d, isTraining);
    rectify(d, batch * SECOND * Digits.PIXELS);
    pooling.forward(d, batch, pooled);
    dense.forward(pooled, batch, scores);
  }

  private static void normalise(
      BatchNorm norm, float[] x, int batch, float[] y, boolean isTraining) {
    if (isTraining) {
      norm.forward(x, batch, Digits.PIXELS, y);
    } else {
      norm.infer(x, batch, Digits.PIXELS, y);
    }
  }

  private static void rectify(float[] values, int count) {
    for (int i = 0; i < count; i++) {
      values[i] = Math.max(0, values[i]);
    }
  }

  /** Computes the gradients of all parameters from those of the scores. */
  void backward(float[] dScores, int batch) {
    float[] gradient = new float[c.length];
    float[] dPooled = new float[pooled.length];
    dense.backward(dScores, dPooled);
    pooling.backward(dPooled, gradient);
    mask(gradient, d, batch * SECOND * Digits.PIXELS);
    secondNorm.backward(gradient, gradient);
    float[] dFirst = new float[b.length];
    second.backward(gradient, dFirst);
    mask(dFirst, b, batch * FIRST * Digits.PIXELS);
    firstNorm.backward(dFirst, dFirst);
    first.backward(dFirst, unused);
  }

  private static void mask(float[] gradients, float[] rectified, int count) {
    for (int i = 0; i < count; i++) {
      gradients[i] = rectified[i] > 0 ? gradients[i] : 0;
    }
  }

  /** Lets all ranks evaluate by the same statistics. */
  void share(Communicator ranks) {
    firstNorm.share(ranks);
    secondNorm.share(ranks);
  }
}
