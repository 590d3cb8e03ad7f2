package io.collectives.bench.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Path2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import javax.imageio.ImageIO;

/**
 * A picture of lines, marks, bars and words in {@linkplain Ink inks}, as SVG or PNG. Its words are
 * text in an SVG, which follows the colors of the page around it; a PNG is light. Lengths are
 * pixels, from the top left.
 */
public final class Drawing {
  /** The part of a text that stands at its place. */
  public enum Anchor {
    START,
    MIDDLE,
    END
  }

  /** The pixels of a PNG for each one of the drawing. */
  private static final int PNG_SCALE = 2;

  /** A text that is larger is bold. */
  private static final double HEADING = 15;

  private static final double MARK = 4;

  /** The head of an arrow: the length of its sides, and their angle to the line. */
  private static final double HEAD = 6;

  private static final double HEAD_ANGLE = 2.7;
  private static final int MARKS = 4;
  private static final String NARROW = " !'(),-./:;I[]fijlrt|·";
  private static final String WIDE = "MW@m%w";

  private final List<Element> elements = new ArrayList<>();
  private final String about;
  private final double width;
  private final double height;

  /**
   * Makes an empty one.
   *
   * @param about what it shows, for those who cannot see it
   */
  public Drawing(double width, double height, String about) {
    this.width = Math.ceil(width);
    this.height = Math.ceil(height);
    this.about = about;
    bar(0, 0, this.width, this.height, Ink.PAPER);
  }

  private interface Element {
    void svg(StringBuilder to);

    void paint(Graphics2D on);
  }

  private record Stroke(double[] points, Ink ink, double width, boolean dashed) implements Element {
    @Override
    public void svg(StringBuilder to) {
      to.append("<polyline class=\"").append(ink.style()).append("\" points=\"");
      append(to, points);
      to.append("\" fill=\"none\" stroke=\"currentColor\" stroke-linejoin=\"round\"");
      to.append(" stroke-width=\"").append(number(width)).append('"');
      to.append(dashed ? " stroke-dasharray=\"5 4\"/>\n" : "/>\n");
    }

    @Override
    public void paint(Graphics2D on) {
      float[] dashes = dashed ? new float[] {5, 4} : null;
      on.setStroke(
          new BasicStroke(
              (float) width, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1, dashes, 0));
      on.draw(path(points));
    }
  }

  /** A filled shape with as many corners as there are points, or a circle around a single one. */
  private record Area(double[] points, Ink ink, String tip, boolean isMark) implements Element {
    @Override
    public void svg(StringBuilder to) {
      String name = points.length == 2 ? "circle" : "polygon";
      to.append('<').append(name).append(" class=\"").append(isMark ? "mark " : "");
      to.append(ink.style()).append("\" fill=\"currentColor\" ");
      if (points.length == 2) {
        to.append("cx=\"").append(number(points[0])).append("\" cy=\"").append(number(points[1]));
        to.append("\" r=\"").append(number(MARK));
      } else {
        to.append("points=\"");
        append(to, points);
      }
      to.append(
          tip.isEmpty() ? "\"/>\n" : "\"><title>" + escaped(tip) + "</title></" + name + ">\n");
    }

    @Override
    public void paint(Graphics2D on) {
      on.fill(
          points.length == 2
              ? new Ellipse2D.Double(points[0] - MARK, points[1] - MARK, 2 * MARK, 2 * MARK)
              : path(points));
    }
  }

  private record Words(double x, double y, String text, Anchor anchor, double size, Ink ink)
      implements Element {
    @Override
    public void svg(StringBuilder to) {
      to.append("<text class=\"").append(ink.style()).append("\" x=\"").append(number(x));
      to.append("\" y=\"").append(number(y)).append("\" font-size=\"").append(number(size));
      to.append("\" text-anchor=\"").append(anchor.name().toLowerCase(Locale.ROOT)).append('"');
      to.append(size > HEADING ? " font-weight=\"bold\">" : ">")
          .append(escaped(text))
          .append("</text>\n");
    }

    @Override
    public void paint(Graphics2D on) {
      on.setFont(
          new Font(Font.SANS_SERIF, size > HEADING ? Font.BOLD : Font.PLAIN, 1)
              .deriveFont((float) size));
      double before = anchor.ordinal() / 2.0 * on.getFontMetrics().stringWidth(text);
      on.drawString(text, (float) (x - before), (float) y);
    }
  }

  /** A line through points, given as x, y, x, y and so on. */
  public void line(Ink ink, double width, boolean dashed, double... points) {
    elements.add(new Stroke(points, ink, width, dashed));
  }

  /**
   * A mark of a point.
   *
   * @param shape a circle, a diamond, a square or a triangle; from 4 on they come again
   * @param tip what a browser says of it under the pointer; empty if it has nothing to say
   */
  public void mark(int shape, double x, double y, Ink ink, String tip) {
    double r = shape % MARKS == 2 ? MARK * 0.85 : MARK * 1.2;
    double[] points =
        switch (shape % MARKS) {
          case 0 -> new double[] {x, y};
          case 1 -> new double[] {x, y - r, x + r, y, x, y + r, x - r, y};
          case 2 -> new double[] {x - r, y - r, x + r, y - r, x + r, y + r, x - r, y + r};
          default -> new double[] {x, y - r, x + r, y + 0.8 * r, x - r, y + 0.8 * r};
        };
    elements.add(new Area(points, ink, tip, true));
  }

  /** A filled rectangle whose top left corner is given, and which has nothing to say. */
  public void bar(double x, double y, double barWidth, double barHeight, Ink ink) {
    bar(x, y, barWidth, barHeight, ink, "");
  }

  /**
   * A filled rectangle whose top left corner is given.
   *
   * @param tip what a browser says of it under the pointer; empty if it has nothing to say
   */
  public void bar(double x, double y, double barWidth, double barHeight, Ink ink, String tip) {
    double right = x + barWidth;
    double bottom = y + barHeight;
    double[] corners = {x, y, right, y, right, bottom, x, bottom};
    elements.add(new Area(corners, ink, tip, false));
  }

  /** A line with a head at its end. */
  public void arrow(Ink ink, double x, double y, double toX, double toY) {
    line(ink, 1, false, x, y, toX, toY);
    double angle = Math.atan2(toY - y, toX - x);
    double[] head = new double[6];
    for (int i = 0; i < 3; i += 2) {
      double side = angle + (i == 0 ? HEAD_ANGLE : -HEAD_ANGLE);
      head[2 * i] = toX + HEAD * Math.cos(side);
      head[2 * i + 1] = toY + HEAD * Math.sin(side);
    }
    head[2] = toX;
    head[3] = toY;
    line(ink, 1.2, false, head);
  }

  /** A text whose base line is at y. */
  public void text(double x, double y, String text, Anchor anchor, double size, Ink ink) {
    elements.add(new Words(x, y, text, anchor, size, ink));
  }

  /** Returns the pixels that a text takes at most, in any of the usual fonts without serifs. */
  public static double width(String text, double size) {
    double ems = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      ems += NARROW.indexOf(c) >= 0 ? 0.4 : WIDE.indexOf(c) >= 0 ? 0.98 : isBroad(c) ? 0.74 : 0.63;
    }
    return ems * size;
  }

  private static boolean isBroad(char c) {
    return c >= 'A' && c <= 'Z' || c == '=' || c == '+' || c == '~';
  }

  /** Returns it as a document of its own, or for a page of HTML, where it needs no more. */
  public String svg() {
    StringBuilder svg = new StringBuilder("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
    svg.append(" width=\"").append(number(width)).append("\" height=\"").append(number(height));
    svg.append("\" viewBox=\"0 0 ").append(number(width)).append(' ').append(number(height));
    svg.append("\" font-family=\"system-ui,'Segoe UI',Helvetica,Arial,sans-serif\">\n<title>");
    svg.append(escaped(about)).append("</title>\n<style>text{fill:currentColor}");
    svg.append(Ink.css()).append("</style>\n");
    elements.forEach(element -> element.svg(svg));
    return svg.append("</svg>\n").toString();
  }

  /** Returns whether a picture of this name can be written. */
  public static boolean canWrite(Path file) {
    String name = file.toString().toLowerCase(Locale.ROOT);
    return name.endsWith(".png") || name.endsWith(".svg");
  }

  /**
   * Writes it.
   *
   * @param file its name ends with {@code .png} or {@code .svg}
   */
  public void write(Path file) throws IOException {
    if (file.toString().toLowerCase(Locale.ROOT).endsWith(".svg")) {
      Files.writeString(file, svg());
      return;
    }
    BufferedImage image =
        new BufferedImage(
            (int) (PNG_SCALE * width), (int) (PNG_SCALE * height), BufferedImage.TYPE_INT_RGB);
    Graphics2D on = image.createGraphics();
    on.scale(PNG_SCALE, PNG_SCALE);
    on.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
    on.setRenderingHint(RenderingHints.KEY_STROKE_CONTROL, RenderingHints.VALUE_STROKE_PURE);
    on.setRenderingHint(
        RenderingHints.KEY_FRACTIONALMETRICS, RenderingHints.VALUE_FRACTIONALMETRICS_ON);
    for (Element element : elements) {
      on.setColor(new Color(ink(element).light()));
      element.paint(on);
    }
    on.dispose();
    // A stream of its own, because ImageIO says nothing of a directory that is not there.
    try (var out = Files.newOutputStream(file)) {
      ImageIO.write(image, "png", out);
    }
  }

  private static Ink ink(Element element) {
    return element instanceof Stroke stroke
        ? stroke.ink()
        : element instanceof Area area ? area.ink() : ((Words) element).ink();
  }

  private static Path2D path(double[] points) {
    Path2D path = new Path2D.Double();
    path.moveTo(points[0], points[1]);
    for (int i = 2; i < points.length; i += 2) {
      path.lineTo(points[i], points[i + 1]);
    }
    return path;
  }

  private static void append(StringBuilder to, double[] points) {
    for (int i = 0; i < points.length; i++) {
      to.append(i == 0 ? "" : i % 2 == 0 ? " " : ",").append(number(points[i]));
    }
  }

  /** A tenth of a pixel is enough. */
  private static String number(double value) {
    String text = String.format(Locale.ROOT, "%.1f", value);
    return text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
  }

  /** Returns a text for HTML and XML, without characters that XML does not allow. */
  public static String escaped(String text) {
    return text.replaceAll("[^\\t\\n\\x20-\\uD7FF\\uE000-\\uFFFD\\x{10000}-\\x{10FFFF}]", "\uFFFD")
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}
