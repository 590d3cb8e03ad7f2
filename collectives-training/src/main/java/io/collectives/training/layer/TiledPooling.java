package io.collectives.training.layer;

import io.collectives.training.layer.SpatialTiles.Area;

/**
 * Pooling, by the greatest element or the mean of windows, of images of which each rank has a tile.
 * Padding does not count: means are those of the elements within the image ({@code
 * count_include_pad=False} in PyTorch). The results are those of the whole image to the last bit;
 * gradients agree within rounding errors.
 */
public final class TiledPooling {
  private final SlidingWindows windows;
  private final int channels;
  private final boolean takesGreatest;

  /** The position of each result's greatest element in the window. */
  private int[] greatest = {};

  private int batch;

  private TiledPooling(SlidingWindows windows, int channels, boolean takesGreatest) {
    this.windows = windows;
    this.channels = channels;
    this.takesGreatest = takesGreatest;
  }

  /**
   * Makes a pooling by the greatest element: of equal elements the first one counts, and NaN counts
   * as the greatest.
   *
   * @param tiles the tiles of the input
   * @param channels the number of channels, at least 1
   * @param kernel the number of rows and of columns of a window, at least 1
   * @param stride the distance between windows, at least 1
   * @param padding the number of rows and columns around the image in which windows may begin, at
   *     most half of {@code kernel}
   */
  public static TiledPooling max(
      SpatialTiles tiles, int channels, int kernel, int stride, int padding) {
    return of(tiles, channels, kernel, stride, padding, true);
  }

  /** Makes a pooling by the mean; see {@link #max} for the arguments. */
  public static TiledPooling average(
      SpatialTiles tiles, int channels, int kernel, int stride, int padding) {
    return of(tiles, channels, kernel, stride, padding, false);
  }

  private static TiledPooling of(
      SpatialTiles tiles, int channels, int kernel, int stride, int padding, boolean greatest) {
    if (channels < 1 || padding > kernel / 2) {
      throw new IllegalArgumentException(
          "pooling of "
              + channels
              + " channels in windows of "
              + kernel
              + " with padding of "
              + padding
              + ": there must be a channel, and padding of half a window at most");
    }
    return new TiledPooling(new SlidingWindows(tiles, kernel, stride, padding), channels, greatest);
  }

  /** Returns the tiles of the result; a rank may have none, if there are few windows. */
  public SpatialTiles output() {
    return windows.output;
  }

  /**
   * Computes this rank's tile of the result.
   *
   * @param x the tile of {@code batchSize * channels} planes
   * @param batchSize the number of samples, the same on all ranks
   * @param y the array for the tile of as many planes
   */
  public void forward(float[] x, int batchSize, float[] y) {
    int planes = batchSize * channels;
    int count = output().tileCount();
    SlidingWindows.check("input", x, (long) planes * windows.input.tileCount());
    SlidingWindows.check("result", y, (long) planes * count);
    batch = batchSize;
    float[] window = windows.gather(x, planes);
    if (takesGreatest) {
      greatest = new int[planes * count];
    }
    for (int plane = 0; plane < planes; plane++) {
      for (int i = 0; i < count; i++) {
        Area area = within(i);
        int best = -1;
        double sum = 0;
        for (int row = 0; row < area.height(); row++) {
          int from = at(plane, area, row);
          for (int j = from; j < from + area.width(); j++) {
            sum += window[j];
            if (best < 0
                || window[j] > window[best]
                || window[j] != window[j] && window[best] == window[best]) {
              best = j;
            }
          }
        }
        if (takesGreatest) {
          greatest[plane * count + i] = best;
          y[plane * count + i] = window[best];
        } else {
          y[plane * count + i] = (float) (sum / area.count());
        }
      }
    }
  }

  /** Returns the area of the image that is in the window of a result of this rank. */
  private Area within(int index) {
    Area tile = output().tile(output().group().rank());
    Area window =
        new Area(
            (tile.top() + index / tile.width()) * windows.stride - windows.padding,
            (tile.left() + index % tile.width()) * windows.stride - windows.padding,
            windows.kernel,
            windows.kernel);
    return window.intersection(new Area(0, 0, windows.input.height(), windows.input.width()));
  }

  /** Returns the index at which a row of an area begins in the gathered elements. */
  private int at(int plane, Area area, int row) {
    Area covered = windows.covered;
    return (plane * covered.height() + area.top() + row - covered.top()) * covered.width()
        + area.left()
        - covered.left();
  }

  /**
   * Computes the gradients of the last {@link #forward}.
   *
   * @param dy the gradients of {@code y}
   * @param dx the array for the gradients of {@code x}
   */
  public void backward(float[] dy, float[] dx) {
    int planes = batch * channels;
    int count = output().tileCount();
    SlidingWindows.check("gradients of the result", dy, (long) planes * count);
    SlidingWindows.check("gradients of the input", dx, (long) planes * windows.input.tileCount());
    float[] gradients = new float[planes * windows.covered.count()];
    for (int plane = 0; plane < planes; plane++) {
      for (int i = 0; i < count; i++) {
        float gradient = dy[plane * count + i];
        if (takesGreatest) {
          gradients[greatest[plane * count + i]] += gradient;
          continue;
        }
        Area area = within(i);
        float share = gradient / area.count();
        for (int row = 0; row < area.height(); row++) {
          int from = at(plane, area, row);
          for (int j = from; j < from + area.width(); j++) {
            gradients[j] += share;
          }
        }
      }
    }
    windows.scatter(gradients, planes, dx);
  }
}
