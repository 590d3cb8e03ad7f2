package io.collectives.training.layer;

import io.collectives.Communicator;
import io.collectives.Payload;
import java.util.Arrays;

/**
 * Batch normalisation whose mean and variance are those of the samples of all ranks of a group:
 * {@code y = scale (x - mean) / sqrt(variance + epsilon) + shift} for each channel (Ioffe and
 * Szegedy 2015; over groups of a few ranks: Ying et al. 2018, section 3.1; {@code SyncBatchNorm} in
 * PyTorch). The ranks of a group may have batches of different sizes, of none, or different tiles
 * of images.
 *
 * <pre>{@code
 * BatchNorm norm = BatchNorm.of(BatchNorm.groups(world, 4), 64); // groups of 4 ranks, 64 channels
 * norm.forward(x, batch, height * width, y);
 * norm.backward(dy, dx);
 * norm.share(world);                                             // before an evaluation
 * norm.infer(x, batch, height * width, y);
 * }</pre>
 *
 * <p><b>Numbers.</b> Each rank computes count, mean and sum of squared deviations of its own
 * samples in {@code double}, in two passes; they are gathered, and every rank merges them in the
 * order of ranks by the formula of Chan, Golub and LeVeque 1983, which does not cancel as {@code
 * E[x^2] - E[x]^2} does. So all ranks of a group have the same bits, whatever the algorithm. A
 * batch without samples at any rank changes nothing.
 *
 * <p><b>Running statistics</b> are, as in PyTorch, {@code r = (1 - momentum) r + momentum b} of the
 * batch's mean and unbiased variance, the same on all ranks of the group; {@link #share} makes them
 * the same on the ranks of all groups. A batch whose statistics are not finite does not change
 * them.
 *
 * <p><b>Messages.</b> A forward pass gathers {@code 2 channels + 1} doubles of each rank, a
 * backward pass {@code 2 channels}.
 */
public final class BatchNorm {
  private final Communicator group;
  private final int channels;
  private final double momentum;
  private final double epsilon;
  private final float[] scale;
  private final float[] shift;
  private final float[] scaleGradients;
  private final float[] shiftGradients;
  private final double[] runningMean;
  private final double[] runningVariance;

  // Of the last forward pass.

  private float[] input = {};
  private int batch;
  private int spatial;
  private double count;
  private final double[] mean;
  private final double[] deviation;

  private BatchNorm(Communicator group, int channels, double momentum, double epsilon) {
    this.group = group;
    this.channels = channels;
    this.momentum = momentum;
    this.epsilon = epsilon;
    this.scale = new float[channels];
    this.shift = new float[channels];
    this.scaleGradients = new float[channels];
    this.shiftGradients = new float[channels];
    this.runningMean = new double[channels];
    this.runningVariance = new double[channels];
    this.mean = new double[channels];
    this.deviation = new double[channels];
    Arrays.fill(scale, 1);
    Arrays.fill(runningVariance, 1);
  }

  /**
   * Divides a group into groups of consecutive ranks.
   *
   * @param group the group to divide; all of its ranks call this
   * @param size the size of each new group, at least 1; the last one may be smaller
   * @return the new group of this rank, which lives until it or {@code group} is closed
   */
  public static Communicator groups(Communicator group, int size) {
    if (size < 1) {
      throw new IllegalArgumentException("groups of " + size + " ranks: must be at least 1");
    }
    return group.split(group.rank() / size, group.rank());
  }

  /** Makes a layer with PyTorch's momentum, 0.1, and epsilon, 1e-5. */
  public static BatchNorm of(Communicator group, int channels) {
    return of(group, channels, 0.1, 1e-5);
  }

  /**
   * Makes a layer whose scale is 1 and whose shift is 0.
   *
   * @param group the ranks whose samples are normalised together
   * @param channels the number of channels, at least 1, the same on all ranks
   * @param momentum the share of a batch in the running statistics, from 0 to 1
   * @param epsilon the number that is added to variances, at least 0
   */
  public static BatchNorm of(Communicator group, int channels, double momentum, double epsilon) {
    if (channels < 1 || !(momentum >= 0 && momentum <= 1) || !(epsilon >= 0)) {
      throw new IllegalArgumentException(
          "batch normalisation of "
              + channels
              + " channels with momentum "
              + momentum
              + " and epsilon "
              + epsilon
              + ": there must be a channel, the momentum is from 0 to 1, epsilon at least 0");
    }
    return new BatchNorm(group, channels, momentum, epsilon);
  }

  /**
   * Normalises by the statistics of the batches of all ranks.
   *
   * @param x the input, at least {@code batch * channels * spatial} elements; it must not change
   *     until {@link #backward}
   * @param batchSize the number of samples of this rank; it may be 0, and differ between ranks
   * @param spatialCount the number of elements of a channel of a sample on this rank; it may differ
   *     between ranks
   * @param y the output, as many elements; it may be {@code x} only if there is no backward pass
   */
  public void forward(float[] x, int batchSize, int spatialCount, float[] y) {
    check(x, batchSize, spatialCount);
    check(y, batchSize, spatialCount);
    input = x;
    batch = batchSize;
    spatial = spatialCount;
    statistics(gathered(local(x)));
    normalise(x, y, mean, deviation);
  }

  private void check(float[] values, int batchSize, int spatialCount) {
    if (batchSize < 0
        || spatialCount < 0
        || (long) batchSize * channels * spatialCount > values.length) {
      throw new IllegalArgumentException(
          "an array of "
              + values.length
              + " elements for a batch of "
              + batchSize
              + " samples with "
              + channels
              + " channels of "
              + spatialCount
              + " elements: it must have room for all");
    }
  }

  /** Returns the count, then for each channel mean and sum of squared deviations. */
  private double[] local(float[] x) {
    double[] own = new double[2 * channels + 1];
    long samples = (long) batch * spatial;
    own[0] = samples;
    for (int c = 0; c < channels && samples > 0; c++) {
      double sum = 0;
      for (int n = 0; n < batch; n++) {
        int from = (n * channels + c) * spatial;
        for (int i = from; i < from + spatial; i++) {
          sum += x[i];
        }
      }
      double average = sum / samples;
      double squares = 0;
      for (int n = 0; n < batch; n++) {
        int from = (n * channels + c) * spatial;
        for (int i = from; i < from + spatial; i++) {
          squares += (x[i] - average) * (x[i] - average);
        }
      }
      own[2 * c + 1] = average;
      own[2 * c + 2] = squares;
    }
    return own;
  }

  private double[] gathered(double[] own) {
    double[] all = new double[own.length * group.size()];
    group.allGather(Payload.of(own), Payload.of(all));
    return all;
  }

  /** Merges the statistics of all ranks, in their order. */
  private void statistics(double[] all) {
    int length = 2 * channels + 1;
    for (int c = 0; c < channels; c++) {
      double samples = 0;
      double average = 0;
      double squares = 0;
      for (int rank = 0; rank < group.size(); rank++) {
        double more = all[rank * length];
        if (more > 0) {
          double distance = all[rank * length + 2 * c + 1] - average;
          double total = samples + more;
          average += distance * more / total;
          squares += all[rank * length + 2 * c + 2] + distance * distance * samples * more / total;
          samples = total;
        }
      }
      count = samples;
      mean[c] = average;
      double variance = samples == 0 ? 0 : squares / samples;
      deviation[c] = Math.sqrt(variance + epsilon);
      double unbiased = samples > 1 ? squares / (samples - 1) : variance;
      if (samples > 0 && Double.isFinite(average) && Double.isFinite(unbiased)) {
        runningMean[c] += momentum * (average - runningMean[c]);
        runningVariance[c] += momentum * (unbiased - runningVariance[c]);
      }
    }
  }

  private void normalise(float[] x, float[] y, double[] means, double[] deviations) {
    for (int n = 0; n < batch; n++) {
      for (int c = 0; c < channels; c++) {
        float factor = (float) (scale[c] / deviations[c]);
        float center = (float) means[c];
        // What rounding takes from the mean is a part of the shift.
        float offset = (float) (shift[c] + (center - means[c]) * (scale[c] / deviations[c]));
        int from = (n * channels + c) * spatial;
        for (int i = from; i < from + spatial; i++) {
          y[i] = factor * (x[i] - center) + offset;
        }
      }
    }
  }

  /**
   * Computes the gradients of the last {@link #forward}. Those of scale and shift are of this
   * rank's samples only, as those of any other weight in data-parallel training.
   *
   * @param dy the gradients of {@code y}
   * @param dx the array for the gradients of {@code x}; it may be {@code dy}
   */
  public void backward(float[] dy, float[] dx) {
    check(dy, batch, spatial);
    check(dx, batch, spatial);
    double[] own = new double[2 * channels];
    for (int c = 0; c < channels; c++) {
      double sum = 0;
      double product = 0;
      for (int n = 0; n < batch; n++) {
        int from = (n * channels + c) * spatial;
        for (int i = from; i < from + spatial; i++) {
          sum += dy[i];
          product += dy[i] * ((input[i] - mean[c]) / deviation[c]);
        }
      }
      own[2 * c] = sum;
      own[2 * c + 1] = product;
      shiftGradients[c] = (float) sum;
      scaleGradients[c] = (float) product;
    }
    double[] all = gathered(own);
    for (int c = 0; c < channels; c++) {
      double sum = 0;
      double product = 0;
      for (int rank = 0; rank < group.size(); rank++) {
        sum += all[rank * own.length + 2 * c];
        product += all[rank * own.length + 2 * c + 1];
      }
      double factor = scale[c] / deviation[c];
      for (int n = 0; n < batch; n++) {
        int from = (n * channels + c) * spatial;
        for (int i = from; i < from + spatial; i++) {
          double normal = (input[i] - mean[c]) / deviation[c];
          dx[i] = (float) (factor * (dy[i] - sum / count - normal * (product / count)));
        }
      }
    }
  }

  /**
   * Normalises by the running statistics; sends nothing. Arguments are those of {@link #forward}.
   */
  public void infer(float[] x, int batchSize, int spatialCount, float[] y) {
    check(x, batchSize, spatialCount);
    check(y, batchSize, spatialCount);
    batch = batchSize;
    spatial = spatialCount;
    double[] deviations = new double[channels];
    for (int c = 0; c < channels; c++) {
      deviations[c] = Math.sqrt(runningVariance[c] + epsilon);
    }
    normalise(x, y, runningMean, deviations);
  }

  /**
   * Replaces the running statistics of all ranks by their mean over the ranks of a group, so that
   * ranks of several groups evaluate the same model. The mean is the mean of the means, the
   * variance is the mean of the variances plus the variance of the means.
   *
   * @param all a group that contains every group of this layer; all of its ranks call this
   */
  public void share(Communicator all) {
    double[] own = new double[2 * channels];
    System.arraycopy(runningMean, 0, own, 0, channels);
    System.arraycopy(runningVariance, 0, own, channels, channels);
    double[] gathered = new double[own.length * all.size()];
    all.allGather(Payload.of(own), Payload.of(gathered));
    for (int c = 0; c < channels; c++) {
      double average = 0;
      double squares = 0;
      double variance = 0;
      for (int rank = 0; rank < all.size(); rank++) {
        double distance = gathered[rank * own.length + c] - average;
        average += distance / (rank + 1);
        squares += distance * distance * rank / (rank + 1);
        variance += gathered[rank * own.length + channels + c];
      }
      runningMean[c] = average;
      runningVariance[c] = (variance + squares) / all.size();
    }
  }

  /** Returns the factor of each channel, which is a weight. */
  public float[] scale() {
    return scale;
  }

  /** Returns the number that is added to each channel, which is a weight. */
  public float[] shift() {
    return shift;
  }

  /** Returns the gradients of {@link #scale}, set by {@link #backward}. */
  public float[] scaleGradients() {
    return scaleGradients;
  }

  /** Returns the gradients of {@link #shift}, set by {@link #backward}. */
  public float[] shiftGradients() {
    return shiftGradients;
  }

  /** Returns the running mean of each channel, which is saved and restored with the weights. */
  public double[] runningMean() {
    return runningMean;
  }

  /** Returns the running variance of each channel, which is saved and restored with the weights. */
  public double[] runningVariance() {
    return runningVariance;
  }
}
