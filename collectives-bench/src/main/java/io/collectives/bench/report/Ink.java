package io.collectives.bench.report;

import java.util.Locale;

/**
 * The palette of all pictures: each ink has a color on light pages and one on dark pages. Lines
 * have colors that the color-blind can tell apart (Okabe and Ito 2008), without the yellow, which
 * nobody sees on white.
 */
public enum Ink {
  /** The ground of the picture. */
  PAPER(0xffffff, 0x0d1117),
  /** Titles and names. */
  TEXT(0x1f2328, 0xe6edf3),
  /** The words beside the axes. */
  FAINT(0x59636e, 0x9da7b3),
  /** Lines of a grid. */
  GRID(0xdfe4ea, 0x2b323b),
  /** Bars with words on them. */
  PALE(0xbfe0f5, 0x1d4c6b),
  BLUE(0x0072b2, 0x3d9fe0),
  VERMILION(0xd55e00, 0xf07b32),
  GREEN(0x009e73, 0x26c295),
  PURPLE(0xcc79a7, 0xe08fbd),
  SKY(0x56b4e9, 0x93d3fa),
  ORANGE(0xe69f00, 0xe69f00),
  BLACK(0x000000, 0xffffff),
  GRAY(0x7f7f7f, 0x8f8f8f);

  /** The number of inks of lines. */
  public static final int LINES = values().length - BLUE.ordinal();

  private final int light;
  private final int dark;

  Ink(int light, int dark) {
    this.light = light;
    this.dark = dark;
  }

  /** Returns the ink of a line; from {@link #LINES} on they come again. */
  public static Ink ofLine(int index) {
    return values()[BLUE.ordinal() + index % LINES];
  }

  /** The color on a light page, as 0xRRGGBB. */
  public int light() {
    return light;
  }

  /** The name of its class in {@link #css()}. */
  public String style() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the style sheet that gives each class its color, for light pages and for dark ones. */
  public static String css() {
    StringBuilder day = new StringBuilder();
    StringBuilder night = new StringBuilder();
    for (Ink ink : values()) {
      day.append(rule(ink.style(), ink.light));
      night.append(rule(ink.style(), ink.dark));
    }
    return day + "@media(prefers-color-scheme:dark){" + night + "}";
  }

  private static String rule(String style, int color) {
    return String.format(Locale.ROOT, ".%s{color:#%06x}", style, color);
  }
}
