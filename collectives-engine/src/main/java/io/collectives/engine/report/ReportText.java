package io.collectives.engine.report;

/** The text of a report: lines of a word that says what they are, and cells, with tabs between. */
final class ReportText {
  private final StringBuilder text = new StringBuilder();

  /** Appends a line; tabs and ends of lines in a cell become blanks. */
  void line(Object... cells) {
    for (int i = 0; i < cells.length; i++) {
      text.append(i == 0 ? "" : "\t").append(cells[i].toString().replaceAll("[\\t\\r\\n]", " "));
    }
    text.append('\n');
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
