package io.collectives.bench.digits;

import io.collectives.Communicator;
import io.collectives.Mesh;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.training.layer.BatchNorm;
import io.collectives.training.layer.SpatialTiles;
import io.collectives.training.layer.SplitDense;
import io.collectives.training.layer.TiledConvolution;
import io.collectives.training.layer.TiledPooling;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntConsumer;

/**
 * Convolution to 8 channels, batch norm, rectifier, convolution to 16, batch norm, rectifier,
 * pooling, and a dense layer. Each rank of a group has all weights and a tile of each image; of the
 * dense layer it computes what its tile contributes to the scores, which are then added up.
 *
 * <p>Gradients are those of the rank's tile: the sums over the group are those of its images.
 */
final class DigitsNetwork {
  private static final int FIRST = 8;
  private static final int SECOND = 16;
  private static final int POOLED = SECOND * Digits.PIXELS / 4;

  private final Communicator group;
  private final SpatialTiles tiles;
  private final TiledConvolution first;
  private final BatchNorm firstNorm;
  private final TiledConvolution second;
  private final BatchNorm secondNorm;
  private final TiledPooling pooling;
  private final SplitDense dense;

  /** The weights of the whole dense layer, by class, channel, row and column. */
  private final float[] denseWeights = new float[POOLED * Digits.CLASSES];

  private final float[] denseGradients = new float[denseWeights.length];
  private final float[] denseBiases = new float[Digits.CLASSES];
  private final float[] denseBiasGradients = new float[Digits.CLASSES];

  /** For each weight of the dense layer of this rank's tile, its place in that of all. */
  private final int[] densePlaces;

  private final List<Parameter> parameters = new ArrayList<>();
  private final float[] x;
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
   * A network with random weights, the same on all ranks.
   *
   * @param norms the ranks whose samples are normalised together
   * @param group the ranks that have a tile of each image
   * @param mesh how the tiles are arranged
   * @param batch the most samples of a pass
   */
  DigitsNetwork(Communicator norms, Communicator group, Mesh mesh, int batch, long seed) {
    this.group = group;
    tiles = SpatialTiles.even(group, mesh, Digits.SIDE, Digits.SIDE);
    first = TiledConvolution.of(tiles, 1, FIRST, 3, 1, 1);
    firstNorm = BatchNorm.of(norms, FIRST);
    second = TiledConvolution.of(first.output(), FIRST, SECOND, 3, 1, 1);
    secondNorm = BatchNorm.of(norms, SECOND);
    pooling = TiledPooling.max(second.output(), SECOND, 2, 2, 0);
    int features = SECOND * pooling.output().tileCount();
    dense = SplitDense.byInputs(group.group(group.rank()), features, Digits.CLASSES);
    densePlaces = places(pooling.output(), features);
    x = new float[batch * tiles.tileCount()];
    a = new float[batch * FIRST * tiles.tileCount()];
    b = new float[a.length];
    c = new float[batch * SECOND * tiles.tileCount()];
    d = new float[c.length];
    pooled = new float[batch * features];
    unused = new float[x.length];
    Random random = new Random(seed);
    fill(first.weights(), random, 9);
    fill(second.weights(), random, 9 * FIRST);
    fill(denseWeights, random, POOLED);
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
    add("dense", denseWeights, denseGradients, denseBiases, denseBiasGradients);
  }

  private static int[] places(SpatialTiles pooledTiles, int features) {
    // As numbers of an image, which are exact up to 2^24.
    float[] all = new float[POOLED * Digits.CLASSES];
    for (int i = 0; i < all.length; i++) {
      all[i] = i;
    }
    float[] own = new float[features * Digits.CLASSES];
    pooledTiles.cut(all, SECOND * Digits.CLASSES, own);
    int[] places = new int[own.length];
    for (int i = 0; i < own.length; i++) {
      places[i] = (int) own[i];
    }
    return places;
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
   * Computes scores, the same on all ranks of the group.
   *
   * @param images whole images, the same on all ranks of the group
   * @param isTraining whether to normalise by the batch, or by running statistics
   */
  void forward(float[] images, int batch, float[] scores, boolean isTraining) {
    int count = tiles.tileCount();
    tiles.cut(images, batch, x);
    first.forward(x, batch, a);
    normalise(firstNorm, a, batch, b, isTraining);
    rectify(b, batch * FIRST * count);
    second.forward(b, batch, c);
    normalise(secondNorm, c, batch, d, isTraining);
    rectify(d, batch * SECOND * count);
    pooling.forward(d, batch, pooled);
    for (int i = 0; i < densePlaces.length; i++) {
      dense.weights()[i] = denseWeights[densePlaces[i]];
    }
    if (group.rank() == 0) { // Biases count once.
      System.arraycopy(denseBiases, 0, dense.biases(), 0, Digits.CLASSES);
    }
    dense.forward(pooled, batch, scores);
    if (group.size() > 1) {
      group.allReduce(Payload.of(scores, 0, batch * Digits.CLASSES), ReduceOp.SUM);
    }
  }

  private void normalise(BatchNorm norm, float[] from, int batch, float[] to, boolean isTraining) {
    if (isTraining) {
      norm.forward(from, batch, tiles.tileCount(), to);
    } else {
      norm.infer(from, batch, tiles.tileCount(), to);
    }
  }

  private static void rectify(float[] values, int count) {
    for (int i = 0; i < count; i++) {
      values[i] = Math.max(0, values[i]);
    }
  }

  /**
   * Computes the gradients of all parameters from those of the scores.
   *
   * @param ready is told the place of each parameter as soon as its gradients are there, the last
   *     one first
   */
  void backward(float[] dScores, int batch, IntConsumer ready) {
    int count = tiles.tileCount();
    int parameter = parameters.size();
    float[] gradient = new float[c.length];
    float[] dPooled = new float[pooled.length];
    dense.backward(dScores, dPooled);
    for (int i = 0; i < densePlaces.length; i++) {
      denseGradients[densePlaces[i]] = dense.weightGradients()[i];
    }
    if (group.rank() == 0) {
      System.arraycopy(dense.biasGradients(), 0, denseBiasGradients, 0, Digits.CLASSES);
    }
    ready.accept(--parameter);
    ready.accept(--parameter);
    pooling.backward(dPooled, gradient);
    mask(gradient, d, batch * SECOND * count);
    secondNorm.backward(gradient, gradient);
    ready.accept(--parameter);
    ready.accept(--parameter);
    float[] dFirst = new float[b.length];
    second.backward(gradient, dFirst);
    ready.accept(--parameter);
    ready.accept(--parameter);
    mask(dFirst, b, batch * FIRST * count);
    firstNorm.backward(dFirst, dFirst);
    ready.accept(--parameter);
    ready.accept(--parameter);
    first.backward(dFirst, unused);
    ready.accept(--parameter);
    ready.accept(--parameter);
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

  /** The running statistics, which evaluations need and which are no parameters. */
  List<double[]> statistics() {
    return List.of(
        firstNorm.runningMean(),
        firstNorm.runningVariance(),
        secondNorm.runningMean(),
        secondNorm.runningVariance());
  }
}
