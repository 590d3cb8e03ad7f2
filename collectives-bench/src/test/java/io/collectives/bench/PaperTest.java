package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.simulate.PaperFigure;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Figures of papers are drawn by one command each. */
@Tag("once")
class PaperTest {

  @Test
  void bytesOfServersAreThoseOfThePaper() {
    Invocation run = Invocation.of("paper", "herring-iii", "--format", "tsv");
    assertEquals(0, run.status(), run.err());
    List<String[]> rows = run.out().lines().map(line -> line.split("\t")).toList();
    List<String> names = Arrays.asList(rows.get(0));
    assertEquals(9, rows.size());
    for (String[] row : rows.subList(1, 9)) {
      double ratio = Double.parseDouble(row[names.indexOf("ratio")]);
      assertEquals(1, ratio, 0.001, String.join(" ", row));
      assertEquals("MB", row[names.indexOf("unit")]);
    }
  }

  /** Weighted orders are never slower than halves in the plan's order, and nothing beats least. */
  @Test
  void meshesAreBesideTheLeastTime() {
    Invocation run = Invocation.of("paper", "ying-7", "--format", "tsv");
    assertEquals(0, run.status(), run.err());
    List<String[]> rows = run.out().lines().map(line -> line.split("\t")).toList();
    List<String> names = Arrays.asList(rows.get(0));
    assertEquals(36, rows.size());
    for (int i = 1; i < rows.size(); i++) {
      String[] row = rows.get(i);
      double simulated = Double.parseDouble(row[names.indexOf("simulated")]);
      double least = Double.parseDouble(row[names.indexOf("least")]);
      assertTrue(simulated >= least * (1 - 1e-9), String.join(" ", row));
      assertTrue(
          Double.parseDouble(row[names.indexOf("by_arrival")]) >= least * (1 - 1e-9),
          String.join(" ", row));
      if (i > 21) {
        double halves = Double.parseDouble(rows.get(i - 14)[names.indexOf("simulated")]);
        assertTrue(simulated <= halves * (1 + 1e-9), String.join(" ", row));
      }
    }
  }

  @Test
  void whatIsPrintedForPeopleSaysWhatIsAssumed() {
    Invocation run = Invocation.of("paper", "herring-iii");
    assertEquals(0, run.status(), run.err());
    for (String said :
        List.of("table III", "atomic-servers:64", "3,816 MB", "86,684 KB", "collectives perf")) {
      assertTrue(run.out().contains(said), said + ": " + run.out());
    }
    assertEquals(
        List.of("ying-7", "kumar-pods", "herring-10", "herring-iii"),
        Arrays.stream(PaperFigure.values()).map(PaperFigure::toString).toList());
  }

  @Test
  void aFigureThatIsUnknownIsRefused() {
    Invocation run = Invocation.of("paper", "herring-4");
    assertEquals(2, run.status());
    assertTrue(run.err().contains("herring-10"), run.err());
    assertEquals(1, run.err().lines().count(), run.err());
  }
}
