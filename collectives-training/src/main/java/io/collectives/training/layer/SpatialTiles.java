package io.collectives.training.layer;

import io.collectives.Communicator;
import io.collectives.Mesh;
import java.util.Arrays;

/**
 * Images of which each rank of a group has a tile: spatial partitioning (Kumar et al. 2019, section
 * 2; Kumar et al. 2021, section 3.1). Ranks are arranged in rows and columns as on a {@link Mesh}:
 * rank r is in row {@code r / columns}. Tiles of a row of ranks have the same height, those of a
 * column the same width; heights and widths of other rows and columns may differ, and be 0.
 *
 * <p>A rank's array holds its tile of all samples and channels. Instances are immutable, and any
 * thread may use them.
 */
public final class SpatialTiles {
  private final Communicator group;
  private final int[] rowStarts;
  private final int[] columnStarts;

  /** Makes tiles from starts that ascend from 0 and end with the size of the image. */
  SpatialTiles(Communicator group, int[] rowStarts, int[] columnStarts) {
    this.group = group;
    this.rowStarts = rowStarts;
    this.columnStarts = columnStarts;
  }

  /**
   * A rectangle of an image.
   *
   * @param top the first row
   * @param left the first column
   */
  record Area(int top, int left, int height, int width) {
    Area intersection(Area other) {
      int firstRow = Math.max(top, other.top);
      int firstColumn = Math.max(left, other.left);
      return new Area(
          firstRow,
          firstColumn,
          Math.max(0, Math.min(top + height, other.top + other.height) - firstRow),
          Math.max(0, Math.min(left + width, other.left + other.width) - firstColumn));
    }

    int count() {
      return height * width;
    }
  }

  /**
   * Makes tiles of given sizes.
   *
   * @param heights the height of each row of ranks, at least 0
   * @param widths the width of each column of ranks, at least 0
   */
  public static SpatialTiles of(Communicator group, int[] heights, int[] widths) {
    if ((long) heights.length * widths.length != group.size()
        || Arrays.stream(heights).anyMatch(height -> height < 0)
        || Arrays.stream(widths).anyMatch(width -> width < 0)) {
      throw new IllegalArgumentException(
          "tiles of heights "
              + Arrays.toString(heights)
              + " and widths "
              + Arrays.toString(widths)
              + " for "
              + group.size()
              + " ranks: there must be a tile for each, and none below 0");
    }
    return new SpatialTiles(group, starts(heights), starts(widths));
  }

  private static int[] starts(int[] lengths) {
    int[] starts = new int[lengths.length + 1];
    for (int i = 0; i < lengths.length; i++) {
      starts[i + 1] = Math.addExact(starts[i], lengths[i]);
    }
    return starts;
  }

  /**
   * Makes tiles that are equal to within a row and a column, on a mesh with a place for each rank.
   */
  public static SpatialTiles even(Communicator group, Mesh mesh, int height, int width) {
    return of(group, lengths(height, mesh.y()), lengths(width, mesh.x()));
  }

  private static int[] lengths(int total, int parts) {
    int[] lengths = new int[parts];
    for (int i = 0; i < parts; i++) {
      lengths[i] = (int) ((long) total * (i + 1) / parts - (long) total * i / parts);
    }
    return lengths;
  }

  /** Returns the group whose ranks have a tile each. */
  public Communicator group() {
    return group;
  }

  /** Returns the number of rows of a whole image. */
  public int height() {
    return rowStarts[rowStarts.length - 1];
  }

  /** Returns the number of columns of a whole image. */
  public int width() {
    return columnStarts[columnStarts.length - 1];
  }

  /** Returns the number of rows of this rank's tile. */
  public int tileHeight() {
    return tile(group.rank()).height;
  }

  /** Returns the number of columns of this rank's tile. */
  public int tileWidth() {
    return tile(group.rank()).width;
  }

  /** Returns the number of elements of this rank's tile of one channel of one sample. */
  public int tileCount() {
    return tile(group.rank()).count();
  }

  /**
   * Copies this rank's tile of whole images.
   *
   * @param images the images, in rows of {@link #width}, one after the other
   * @param planes the number of samples times channels
   * @param tile the array to write, {@code planes} times {@link #tileCount} elements
   */
  public void cut(float[] images, int planes, float[] tile) {
    Area area = tile(group.rank());
    for (int plane = 0; plane < planes; plane++) {
      for (int row = 0; row < area.height; row++) {
        System.arraycopy(
            images,
            (plane * height() + area.top + row) * width() + area.left,
            tile,
            (plane * area.height + row) * area.width,
            area.width);
      }
    }
  }

  Area tile(int rank) {
    int columns = columnStarts.length - 1;
    int row = rank / columns;
    int column = rank % columns;
    return new Area(
        rowStarts[row],
        columnStarts[column],
        rowStarts[row + 1] - rowStarts[row],
        columnStarts[column + 1] - columnStarts[column]);
  }

  /**
   * Returns the tiles of the results of windows that slide over these images: a result belongs to
   * the rank that has the element where its window would begin without padding.
   */
  SpatialTiles slid(int kernel, int stride, int padding) {
    return new SpatialTiles(
        group,
        slid(rowStarts, kernel, stride, padding),
        slid(columnStarts, kernel, stride, padding));
  }

  private static int[] slid(int[] starts, int kernel, int stride, int padding) {
    int length = starts[starts.length - 1];
    if (kernel < 1 || stride < 1 || padding < 0 || length + 2 * padding < kernel) {
      throw new IllegalArgumentException(
          "windows of "
              + kernel
              + " by steps of "
              + stride
              + " over "
              + length
              + " elements with padding of "
              + padding
              + ": one must fit, of 1 at least, in steps of 1 at least");
    }
    int results = (length + 2 * padding - kernel) / stride + 1;
    int[] slid = new int[starts.length];
    for (int i = 0; i < starts.length - 1; i++) {
      slid[i] = Math.min(results, (starts[i] + stride - 1) / stride);
    }
    slid[starts.length - 1] = results;
    return slid;
  }

  @Override
  public String toString() {
    return "tiles of "
        + height()
        + " x "
        + width()
        + " at rows "
        + Arrays.toString(rowStarts)
        + " and columns "
        + Arrays.toString(columnStarts);
  }
}
