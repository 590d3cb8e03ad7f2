package io.collectives.bench.simulate;

import io.collectives.Mesh;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The number of ranks, and their arrangement.
 *
 * @param ranks the number
 * @param mesh their arrangement, if it was given
 */
public record Size(int ranks, Optional<Mesh> mesh) {
  private static final int MOST = Network.MOST_RANKS;
  private static final int MOST_SIZES = 10_000;
  private static final Pattern NUMBERS = Pattern.compile("(\\d{1,5})(?:\\.\\.(\\d{1,5}))?");
  private static final Pattern MESHES =
      Pattern.compile("(\\d{1,5})x(\\d{1,5})(?:\\.\\.(\\d{1,5})x(\\d{1,5}))?");

  /** A number of ranks that stand nowhere in particular. */
  public static Size of(int ranks) {
    return new Size(ranks, Optional.empty());
  }

  /** A mesh. */
  public static Size of(int x, int y) {
    return new Size(Math.multiplyExact(x, y), Optional.of(Mesh.torus(x, y)));
  }

  /** Returns this size with other wraps, if it is a mesh. */
  public Size wrapped(boolean x, boolean y) {
    return new Size(ranks, mesh.map(m -> new Mesh(m.x(), m.y(), x, y)));
  }

  /**
   * Reads sizes with commas between: {@code 4}, {@code 1..64}, {@code 4x2}, {@code 1x1..8x8}.
   *
   * @throws IllegalArgumentException if they are none
   */
  public static List<Size> parse(String text) {
    List<Size> sizes = new ArrayList<>();
    for (String part : text.split(",", -1)) {
      Matcher numbers = NUMBERS.matcher(part);
      Matcher meshes = MESHES.matcher(part);
      if (numbers.matches()) {
        int first = number(numbers, 1, part);
        int last = numbers.group(2) == null ? first : number(numbers, 2, part);
        for (int ranks = first; ranks <= last && sizes.size() <= MOST_SIZES; ranks++) {
          sizes.add(of(ranks));
        }
        require(first <= last, part);
      } else if (meshes.matches()) {
        int firstX = number(meshes, 1, part);
        int firstY = number(meshes, 2, part);
        boolean one = meshes.group(3) == null;
        int lastX = one ? firstX : number(meshes, 3, part);
        int lastY = one ? firstY : number(meshes, 4, part);
        require(firstX <= lastX && firstY <= lastY && (long) lastX * lastY <= MOST, part);
        for (int x = firstX; x <= lastX && sizes.size() <= MOST_SIZES; x++) {
          for (int y = firstY; y <= lastY && sizes.size() <= MOST_SIZES; y++) {
            sizes.add(of(x, y));
          }
        }
      } else {
        require(false, part);
      }
    }
    if (sizes.size() > MOST_SIZES) {
      throw new IllegalArgumentException("'" + text + "' is more than " + MOST_SIZES + " sizes");
    }
    return sizes;
  }

  private static int number(Matcher matcher, int group, String part) {
    int number = Integer.parseInt(matcher.group(group));
    require(number >= 1 && number <= MOST, part);
    return number;
  }

  private static void require(boolean good, String part) {
    if (!good) {
      throw new IllegalArgumentException(
          "'"
              + part
              + "' is no number of ranks; write 8, 1..64, 4x2 or 1x1..8x8, with 1 to "
              + MOST
              + " ranks");
    }
  }
}
