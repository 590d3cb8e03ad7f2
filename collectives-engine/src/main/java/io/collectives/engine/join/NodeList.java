package io.collectives.engine.join;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The parts that a job needs of Slurm's compressed list of hosts, such as {@code
 * node[03-07,09],gpu1}.
 *
 * @param first the first host, with the padding of its number
 * @param single whether the list names one host only
 */
record NodeList(String first, boolean single) {
  private static final Pattern RANGES = Pattern.compile("\\[(\\d+)(-\\d+)?((?:,\\d+(?:-\\d+)?)*)]");
  private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._-]+");

  /**
   * Reads a list.
   *
   * @throws IllegalArgumentException saying what is wrong with it
   */
  static NodeList parse(String list) {
    int end = firstItem(list);
    boolean single = end == list.length();
    Matcher ranges = RANGES.matcher(list.substring(0, end));
    StringBuilder first = new StringBuilder();
    while (ranges.find()) {
      single &= ranges.group(2) == null && ranges.group(3).isEmpty();
      ranges.appendReplacement(first, ranges.group(1));
    }
    ranges.appendTail(first);
    if (!HOST.matcher(first).matches()) {
      throw new IllegalArgumentException("needed is a list of hosts such as node[03-07,09],gpu1");
    }
    return new NodeList(first.toString(), single);
  }

  /** Returns the end of the first item, which is the first comma outside brackets. */
  private static int firstItem(String list) {
    boolean inside = false;
    for (int i = 0; i < list.length(); i++) {
      char c = list.charAt(i);
      if (c == ',' && !inside) {
        return i;
      }
      inside = c == '[' || inside && c != ']';
    }
    return list.length();
  }
}
