package io.collectives.bench.chaos;

import java.util.random.RandomGenerator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Whole numbers from {@code least} to {@code most}. */
public record Range(int least, int most) {
  private static final Pattern TEXT = Pattern.compile("(\\d{1,6})(?:\\.\\.(\\d{1,6}))?");

  /**
   * Reads {@code 3} or {@code 1..3}.
   *
   * @throws IllegalArgumentException if it is neither, or the second number is the less
   */
  public static Range parse(String text) {
    Matcher matcher = TEXT.matcher(text);
    if (matcher.matches()) {
      int least = Integer.parseInt(matcher.group(1));
      int most = matcher.group(2) == null ? least : Integer.parseInt(matcher.group(2));
      if (least <= most) {
        return new Range(least, most);
      }
    }
    throw new IllegalArgumentException("'" + text + "' is no number and no range; write 2 or 1..2");
  }

  /** Returns a random number of the range. */
  public int draw(RandomGenerator random) {
    return random.nextInt(least, most + 1);
  }

  /** Returns the text as it is written. */
  @Override
  public String toString() {
    return least == most ? "" + least : least + ".." + most;
  }
}
