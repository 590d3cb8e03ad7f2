package io.collectives.bench.report;

import java.util.Locale;

/**
 * A drawing of bars, lines and words, as SVG. Its words are text; its colors follow the page around
 * it, light or dark. Lengths are pixels, from the top left.
 */
public final class Svg {
  private final StringBuilder elements = new StringBuilder();
  private final String about;
  private final double width;
  private final double height;

  /**
   * Makes an empty one.
   *
   * @param about what it shows, for those who cannot see it
   */
  public Svg(double width, double height, String about) {
    this.width = Math.ceil(width);
    this.height = Math.ceil(height);
    this.about = about;
    bar(0, 0, this.width, this.height, Ink.PAPER, "");
  }

  /**
   * The colors, on light pages and on dark ones; those of bars and lines differ for the
   * color-blind, too (Okabe and Ito 2008).
   */
  public enum Ink {
    PAPER(0xffffff, 0x0d1117),
    TEXT(0x1f2328, 0xe6edf3),
    FAINT(0x59636e, 0x9da7b3),
    GRID(0xdfe4ea, 0x2b323b),
    BLUE(0x0072b2, 0x3d9fe0),
    GREEN(0x009e73, 0x26c295),
    VERMILION(0xd55e00, 0xf07b32),
    PURPLE(0xcc79a7, 0xe08fbd),
    SKY(0xbfe0f5, 0x1d4c6b);

    private final int light;
    private final int dark;

    Ink(int light, int dark) {
      this.light = light;
      this.dark = dark;
    }

    private String style() {
      return name().toLowerCase(Locale.ROOT);
    }

    private static String css() {
      StringBuilder day = new StringBuilder();
      StringBuilder night = new StringBuilder();
      for (Ink ink : values()) {
        day.append(String.format(Locale.ROOT, ".%s{color:#%06x}", ink.style(), ink.light));
        night.append(String.format(Locale.ROOT, ".%s{color:#%06x}", ink.style(), ink.dark));
      }
      return day + "@media(prefers-color-scheme:dark){" + night + "}";
    }
  }

  /** The part of a text that stands at its place. */
  public enum Anchor {
    START,
    MIDDLE,
    END
  }

  /**
   * A filled rectangle whose top left corner is given.
   *
   * @param tip what a browser says of it under the pointer; empty if it has nothing to say
   */
  public void bar(double x, double y, double barWidth, double barHeight, Ink ink, String tip) {
    elements
        .append("<rect class=\"")
        .append(ink.style())
        .append("\" fill=\"currentColor\" x=\"")
        .append(number(x))
        .append("\" y=\"")
        .append(number(y))
        .append("\" width=\"")
        .append(number(barWidth))
        .append("\" height=\"")
        .append(number(barHeight))
        .append(tip.isEmpty() ? "\"/>\n" : "\"><title>" + escaped(tip) + "</title></rect>\n");
  }

  /** A line, with a head at its end if it is an arrow. */
  public void line(double x, double y, double toX, double toY, Ink ink, boolean isArrow) {
    stroke(ink, 1, x, y, toX, toY);
    if (isArrow) {
      double angle = Math.atan2(toY - y, toX - x);
      double left = angle + 2.7;
      double right = angle - 2.7;
      stroke(
          ink,
          1.2,
          toX + 6 * Math.cos(left),
          toY + 6 * Math.sin(left),
          toX,
          toY,
          toX + 6 * Math.cos(right),
          toY + 6 * Math.sin(right));
    }
  }

  private void stroke(Ink ink, double thickness, double... points) {
    elements
        .append("<polyline class=\"")
        .append(ink.style())
        .append("\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"")
        .append(number(thickness))
        .append("\" points=\"");
    for (int i = 0; i < points.length; i++) {
      elements.append(i == 0 ? "" : i % 2 == 0 ? " " : ",").append(number(points[i]));
    }
    elements.append("\"/>\n");
  }

  /** A text whose base line is at y. */
  public void text(double x, double y, String text, Anchor anchor, double size, Ink ink) {
    elements
        .append("<text class=\"")
        .append(ink.style())
        .append("\" x=\"")
        .append(number(x))
        .append("\" y=\"")
        .append(number(y))
        .append("\" font-size=\"")
        .append(number(size))
        .append("\" text-anchor=\"")
        .append(anchor.name().toLowerCase(Locale.ROOT))
        .append("\">")
        .append(escaped(text))
        .append("</text>\n");
  }

  /** Returns the pixels that a text takes at most, in any of the usual fonts without serifs. */
  public static double width(String text, double size) {
    return 0.62 * size * text.length();
  }

  /** Returns the document. */
  @Override
  public String toString() {
    String w = number(width);
    String h = number(height);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\""
        + w
        + "\" height=\""
        + h
        + "\" viewBox=\"0 0 "
        + w
        + " "
        + h
        + "\" font-family=\"system-ui,'Segoe UI',Helvetica,Arial,sans-serif\">\n<title>"
        + escaped(about)
        + "</title>\n<style>text{fill:currentColor}"
        + Ink.css()
        + "</style>\n"
        + elements
        + "</svg>\n";
  }

  private static String number(double value) {
    String text = String.format(Locale.ROOT, "%.1f", value);
    return text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }
}
