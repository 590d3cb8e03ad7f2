package io.collectives.training.layer;

import java.util.Arrays;

/**
 * A two-dimensional convolution of images of which each rank has a tile; all ranks have all
 * weights. The borders that a tile's windows need from other ranks are exchanged, forward and
 * backward (Kumar et al. 2021, section 3.1).
 *
 * <p>Each element of the result is that of the whole image to the last bit. Gradients of the input
 * agree within rounding errors, because those of borders are added at their owner. Gradients of
 * weights and biases are those of this rank's tile: their <em>sum</em> over the tiles' ranks is the
 * gradient of the image.
 */
public final class TiledConvolution {
  private final SlidingWindows windows;
  private final int inChannels;
  private final int outChannels;
  private final float[] weights;
  private final float[] biases;
  private final float[] weightGradients;
  private final float[] biasGradients;
  private float[] window = {};
  private int batch;

  private TiledConvolution(SlidingWindows windows, int inChannels, int outChannels) {
    this.windows = windows;
    this.inChannels = inChannels;
    this.outChannels = outChannels;
    int count =
        Math.multiplyExact(
            Math.multiplyExact(inChannels, outChannels), windows.kernel * windows.kernel);
    this.weights = new float[count];
    this.weightGradients = new float[count];
    this.biases = new float[outChannels];
    this.biasGradients = new float[outChannels];
  }

  /**
   * Makes a convolution whose weights and biases are 0.
   *
   * @param tiles the tiles of the input
   * @param inChannels the number of channels of the input, at least 1
   * @param outChannels the number of channels of the result, at least 1
   * @param kernel the number of rows and of columns of a window, at least 1
   * @param stride the distance between windows, at least 1
   * @param padding the number of rows and columns of zeros around the image, at least 0
   */
  public static TiledConvolution of(
      SpatialTiles tiles, int inChannels, int outChannels, int kernel, int stride, int padding) {
    if (inChannels < 1 || outChannels < 1) {
      throw new IllegalArgumentException(
          "a convolution of "
              + inChannels
              + " channels to "
              + outChannels
              + ": there must be one at least");
    }
    return new TiledConvolution(
        new SlidingWindows(tiles, kernel, stride, padding), inChannels, outChannels);
  }

  /** Returns the tiles of the result; a rank may have none, if there are few windows. */
  public SpatialTiles output() {
    return windows.output;
  }

  /**
   * Computes this rank's tile of the result.
   *
   * @param x the tile of {@code batchSize * inChannels} planes
   * @param batchSize the number of samples, the same on all ranks
   * @param y the array for the tile of {@code batchSize * outChannels} planes
   */
  public void forward(float[] x, int batchSize, float[] y) {
    int count = output().tileCount();
    SlidingWindows.check("input", x, (long) batchSize * inChannels * windows.input.tileCount());
    SlidingWindows.check("result", y, (long) batchSize * outChannels * count);
    batch = batchSize;
    window = windows.gather(x, batch * inChannels);
    int rows = output().tileHeight();
    int columns = output().tileWidth();
    int width = windows.covered.width();
    int kernel = windows.kernel;
    int stride = windows.stride;
    for (int n = 0; n < batch; n++) {
      for (int o = 0; o < outChannels; o++) {
        int to = (n * outChannels + o) * count;
        Arrays.fill(y, to, to + count, biases[o]);
        for (int i = 0; i < inChannels; i++) {
          int plane = (n * inChannels + i) * windows.covered.count();
          for (int k = 0; k < kernel * kernel; k++) {
            float weight = weights[(o * inChannels + i) * kernel * kernel + k];
            int from = plane + k / kernel * width + k % kernel;
            for (int row = 0; row < rows; row++) {
              addRow(
                  window,
                  from + row * stride * width,
                  stride,
                  weight,
                  y,
                  to + row * columns,
                  columns);
            }
          }
        }
      }
    }
  }

  private static void addRow(
      float[] x, int from, int stride, float weight, float[] y, int to, int count) {
    if (stride == 1) {
      for (int i = 0; i < count; i++) {
        y[to + i] += weight * x[from + i];
      }
    } else {
      for (int i = 0; i < count; i++) {
        y[to + i] += weight * x[from + i * stride];
      }
    }
  }

  /**
   * Computes the gradients of the last {@link #forward}.
   *
   * @param dy the gradients of {@code y}
   * @param dx the array for the gradients of {@code x}
   */
  public void backward(float[] dy, float[] dx) {
    int count = output().tileCount();
    SlidingWindows.check("gradients of the result", dy, (long) batch * outChannels * count);
    SlidingWindows.check(
        "gradients of the input", dx, (long) batch * inChannels * windows.input.tileCount());
    int rows = output().tileHeight();
    int columns = output().tileWidth();
    int width = windows.covered.width();
    int kernel = windows.kernel;
    int stride = windows.stride;
    float[] gradients = new float[window.length];
    double[] sums = new double[weights.length];
    for (int o = 0; o < outChannels; o++) {
      double sum = 0;
      for (int n = 0; n < batch; n++) {
        int at = (n * outChannels + o) * count;
        for (int j = at; j < at + count; j++) {
          sum += dy[j];
        }
      }
      biasGradients[o] = (float) sum;
    }
    for (int n = 0; n < batch; n++) {
      for (int o = 0; o < outChannels; o++) {
        int at = (n * outChannels + o) * count;
        for (int i = 0; i < inChannels; i++) {
          int plane = (n * inChannels + i) * windows.covered.count();
          for (int k = 0; k < kernel * kernel; k++) {
            int index = (o * inChannels + i) * kernel * kernel + k;
            int from = plane + k / kernel * width + k % kernel;
            for (int row = 0; row < rows; row++) {
              int there = from + row * stride * width;
              int here = at + row * columns;
              double sum = 0;
              for (int j = 0; j < columns; j++) {
                sum += dy[here + j] * window[there + j * stride];
              }
              sums[index] += sum;
              spread(dy, here, weights[index], gradients, there, stride, columns);
            }
          }
        }
      }
    }
    for (int i = 0; i < sums.length; i++) {
      weightGradients[i] = (float) sums[i];
    }
    windows.scatter(gradients, batch * inChannels, dx);
  }

  private static void spread(
      float[] dy, int from, float weight, float[] dx, int to, int stride, int count) {
    if (stride == 1) {
      for (int i = 0; i < count; i++) {
        dx[to + i] += weight * dy[from + i];
      }
    } else {
      for (int i = 0; i < count; i++) {
        dx[to + i * stride] += weight * dy[from + i];
      }
    }
  }

  /**
   * Returns the weights by channel of the result, channel of the input, row and column; they are
   * the same on all ranks.
   */
  public float[] weights() {
    return weights;
  }

  /** Returns the bias of each channel of the result; biases are the same on all ranks. */
  public float[] biases() {
    return biases;
  }

  /** Returns the gradients of {@link #weights}, set by {@link #backward}. */
  public float[] weightGradients() {
    return weightGradients;
  }

  /** Returns the gradients of {@link #biases}, set by {@link #backward}. */
  public float[] biasGradients() {
    return biasGradients;
  }
}
