package io.collectives.bench;

import io.collectives.bench.report.Columns;
import io.collectives.bench.report.Columns.Column;
import io.collectives.bench.report.Fields;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Rows of figures; a table for people is as wide as the widest, so it is printed at the end. */
final class FigureTable {
  private final List<String> headers;
  private final int words;
  private final List<List<String>> cells = new ArrayList<>();
  private final List<Map<String, Object>> fields = new ArrayList<>();

  /** The number of rows of TSV that were printed. */
  private int printed;

  /** Columns of a table, the first {@code words} of them with words. */
  FigureTable(int words, String... headers) {
    this.words = words;
    this.headers = List.of(headers);
  }

  /** A row, for people and for programs. */
  void row(List<String> forPeople, Map<String, Object> forPrograms) {
    cells.add(forPeople);
    fields.add(forPrograms);
  }

  boolean isEmpty() {
    return cells.isEmpty();
  }

  /** Prints the rows of TSV that were not printed yet: who is interrupted later keeps them. */
  void printSoFar(Format format, PrintWriter out) {
    if (format != Format.TSV) {
      return;
    }
    for (; printed < fields.size(); printed++) {
      if (printed == 0) {
        out.println(Fields.tsvHeader(fields.get(0)));
      }
      out.println(Fields.tsv(fields.get(printed)));
    }
    out.flush();
  }

  /** Prints all rows, a table with lines below. */
  void print(Format format, PrintWriter out, List<String> below) {
    switch (format) {
      case TABLE -> table(out, below);
      case TSV -> printSoFar(format, out);
      case JSON -> {
        out.print("[");
        for (int i = 0; i < fields.size(); i++) {
          out.print((i == 0 ? "\n  " : ",\n  ") + Fields.json(fields.get(i)));
        }
        out.println("\n]");
      }
    }
    out.flush();
  }

  /** Columns in which no row has anything are left out. */
  private void table(PrintWriter out, List<String> below) {
    List<Integer> kept =
        IntStream.range(0, headers.size())
            .filter(i -> cells.stream().anyMatch(row -> !row.get(i).equals(Fields.NONE)))
            .boxed()
            .toList();
    Columns table =
        new Columns(
            kept.stream()
                .map(
                    i -> {
                      int width =
                          cells.stream().mapToInt(row -> row.get(i).length()).max().orElse(0);
                      return i < words
                          ? Column.words(headers.get(i), width)
                          : Column.numbers(headers.get(i), width);
                    })
                .toList());
    out.println(table.header());
    cells.forEach(row -> out.println(table.line(kept.stream().map(row::get).toList())));
    out.println();
    below.forEach(out::println);
  }
}
