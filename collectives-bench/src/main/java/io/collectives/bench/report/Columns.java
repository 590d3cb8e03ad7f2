package io.collectives.bench.report;

import java.util.List;

/**
 * Lines of cells, one under the other, with two blanks between; columns are as wide as they need to
 * be from the start.
 */
public final class Columns {
  private final List<Column> columns;

  /**
   * A column.
   *
   * @param header what stands at its head
   * @param width the least width, in characters
   * @param left whether cells stand at the left, as words do, or at the right, as numbers
   */
  public record Column(String header, int width, boolean left) {
    /** A column of words. */
    public static Column words(String header, int width) {
      return new Column(header, Math.max(width, header.length()), true);
    }

    /** A column of numbers. */
    public static Column numbers(String header, int width) {
      return new Column(header, Math.max(width, header.length()), false);
    }
  }

  /** Columns from left to right. */
  public Columns(List<Column> columns) {
    this.columns = List.copyOf(columns);
  }

  /** The line of headers. */
  public String header() {
    return line(columns.stream().map(Column::header).toList());
  }

  /**
   * A line of cells, one for each column; one that is too long moves those after it to the right.
   */
  public String line(List<String> cells) {
    if (cells.size() != columns.size()) {
      throw new IllegalArgumentException(
          cells.size() + " cells for " + columns.size() + " columns");
    }
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < cells.size(); i++) {
      Column column = columns.get(i);
      String padding = " ".repeat(Math.max(0, column.width() - cells.get(i).length()));
      line.append(i == 0 ? "" : "  ");
      line.append(column.left() ? cells.get(i) + padding : padding + cells.get(i));
    }
    return line.toString().stripTrailing();
  }
}
