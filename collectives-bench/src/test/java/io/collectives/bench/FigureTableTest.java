package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class FigureTableTest {
  private final StringWriter text = new StringWriter();
  private final PrintWriter out = new PrintWriter(text);
  private final FigureTable table = new FigureTable(1, "name", "time");

  private void row(String name, int time) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("name", name);
    fields.put("time_us", time);
    table.row(List.of(name, time + " us"), fields);
  }

  private String printed() {
    return text.toString().replace(System.lineSeparator(), "\n");
  }

  /** A user who ends it early has what was measured until then. */
  @Test
  void rowsOfTsvArePrintedOnceAsSoonAsTheyAreThere() {
    row("ring", 1);
    table.printSoFar(Format.TSV, out);
    assertEquals("name\ttime_us\nring\t1\n", printed());
    row("direct", 2);
    table.printSoFar(Format.TSV, out);
    assertEquals("name\ttime_us\nring\t1\ndirect\t2\n", printed());
    row("auto", 3);
    table.print(Format.TSV, out, List.of("below"));
    assertEquals("name\ttime_us\nring\t1\ndirect\t2\nauto\t3\n", printed());
  }

  /** A table has columns as wide as the last row wants them. */
  @Test
  void aTableIsPrintedAtTheEnd() {
    row("ring", 1);
    table.printSoFar(Format.TABLE, out);
    table.printSoFar(Format.JSON, out);
    assertEquals("", printed());
    row("bidirectional-ring", 2);
    table.print(Format.TABLE, out, List.of("below"));
    assertEquals(
        "name                time\nring                1 us\nbidirectional-ring  2 us\n\nbelow\n",
        printed());
  }
}
