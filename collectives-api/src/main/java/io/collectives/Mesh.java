package io.collectives;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An arrangement of ranks in {@code y} rows of {@code x}: rank {@code r} is in column {@code r % x}
 * of row {@code r / x}.
 *
 * <p>A dimension that wraps has a link from its last place to its first (a torus); one that does
 * not is a line. The TPU multipod of Kumar et al. 2021, section 1, is {@code new Mesh(128, 32,
 * false, true)}.
 *
 * @param x the number of columns, at least 1
 * @param y the number of rows, at least 1
 * @param wrapX whether the last column is linked to the first
 * @param wrapY whether the last row is linked to the first
 */
public record Mesh(int x, int y, boolean wrapX, boolean wrapY) {

  private static final Pattern FORM = Pattern.compile("(\\d{1,9})x(\\d{1,9})(?: wrap=(x|y|none))?");

  /** Checks the shape. */
  public Mesh {
    if (x < 1 || y < 1) {
      throw new IllegalArgumentException(
          "mesh " + x + "x" + y + ": both dimensions must be at least 1");
    }
    if ((long) x * y > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "mesh " + x + "x" + y + ": there may be 2^31 - 1 places at most");
    }
  }

  /** Returns a mesh that wraps in both dimensions. */
  public static Mesh torus(int x, int y) {
    return new Mesh(x, y, true, true);
  }

  /**
   * Returns the mesh nearest to a square that wraps in both dimensions and has exactly {@code
   * ranks} places.
   */
  public static Mesh torusOf(int ranks) {
    if (ranks < 1) {
      throw new IllegalArgumentException("a mesh of " + ranks + " ranks: at least 1 is needed");
    }
    int y = (int) Math.sqrt(ranks);
    while (ranks % y != 0) {
      y--;
    }
    return torus(ranks / y, y);
  }

  /**
   * Reads a mesh that {@link #toString} wrote: {@code 4x2}, which wraps in both dimensions, or
   * {@code 128x32 wrap=y}, where {@code wrap=} is followed by {@code x}, {@code y} or {@code none}.
   *
   * @throws IllegalArgumentException if the text is none
   * @since 0.2.0
   */
  public static Mesh parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is no mesh; write 4x2, or 4x2 wrap=x, wrap=y or wrap=none");
    }
    String wraps = matcher.group(3) == null ? "xy" : matcher.group(3);
    return new Mesh(
        Integer.parseInt(matcher.group(1)),
        Integer.parseInt(matcher.group(2)),
        wraps.contains("x"),
        wraps.contains("y"));
  }

  /** Returns the number of places. */
  public int ranks() {
    return x * y;
  }

  /** Returns the rank in the given column and row. */
  public int rankAt(int column, int row) {
    return row * x + column;
  }

  /**
   * Returns {@code 4x2} when both dimensions wrap, otherwise a text such as {@code 128x32 wrap=y}
   * or {@code 3x3 wrap=none}.
   */
  @Override
  public String toString() {
    String wraps = wrapX ? (wrapY ? "" : " wrap=x") : (wrapY ? " wrap=y" : " wrap=none");
    return x + "x" + y + wraps;
  }
}
