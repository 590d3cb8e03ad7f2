package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.bench.perf.ThreadRanks;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.JavaCommand;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

/** Reports of real jobs tell which rank was slow and why; broken ones are one clear error. */
@Tag("once")
@DisabledOnOs(OS.WINDOWS)
class ReportTest {
  @TempDir private Path directory;

  private Invocation report(String... arguments) {
    List<String> all = new ArrayList<>(List.of("report"));
    all.addAll(List.of(arguments));
    all.add(directory.toString());
    return Invocation.of(all.toArray(String[]::new));
  }

  /** Ranks that are threads, but talk as processes do. */
  @Test
  void aRankThatSleepsInEveryTenthStepIsFound() throws Exception {
    CallSettings reported = CallSettings.defaults().withReportDirectory(directory);
    try (ThreadRanks ranks = ThreadRanks.joined(4, "auto", reported, FreePort.find())) {
      ranks.all(
          world -> {
            ReportedTraining.train(world, "sleeps", 45);
            return world;
          });
    }
    Path page = directory.resolve("page.html");
    Invocation run = report("--html", page.toString());
    assertEquals(0, run.status(), run.err());
    assertTrue(
        run.out()
            .matches(
                "(?s).*What to change:\n {2}\\* Rank 2 is late in every 10th step by \\d{3} ms.*"),
        run.out());
    assertTrue(run.out().contains("more than elsewhere pass before its first gradient"), run.out());
    assertTrue(run.out().contains("Slowest rank: rank 2."), run.out());
    assertTrue(run.out().contains("45 steps"), run.out());
    assertTrue(run.out().contains("the shipped table, line "), run.out());
    assertFalse(run.out().contains("is not the last one"), run.out());
    String html = Files.readString(page);
    assertTrue(html.contains("&lt;script&gt;"), html);
    assertFalse(html.contains("<script"), html);
    String others = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    assertFalse(others.matches("(?s).*(https?:|href=|src=|url\\().*"), html);
    DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new InputSource(new StringReader(html)));
    Invocation json = report("--format", "json");
    assertTrue(json.out().contains("{\"text\": \"Rank 2 is late in every 10th step"), json.out());
    assertTrue(json.out().contains("{\"title\": \"Ranks\"},\n      {\"rank\": 0,"), json.out());
  }

  /** Ranks that are processes, each with garbage of its own. */
  @Test
  @Tag("long")
  void aRankThatCollectsGarbageAllTheTimeIsFound() throws Exception {
    LaunchedJob.run(
        List.of("-n", "2"),
        "COLLECTIVES_REPORT=" + directory,
        JavaCommand.of(
            ReportedTraining.class,
            List.of("-Xmx128m", "-XX:+UseSerialGC"),
            List.of("litters", "25")));
    Invocation run = report();
    assertEquals(0, run.status(), run.err());
    assertTrue(
        run.out()
            .matches(
                "(?s).*What to change:\n {2}\\* Rank 1 is late in .*: garbage collections take .*"),
        run.out());
    assertTrue(run.out().contains("of the time of rank 1 ("), run.out());
    assertTrue(run.out().contains("Slowest rank: rank 1."), run.out());
  }

  @Test
  void shorterBuffersAreProposedWhereAModelHidesMoreWithThem() throws Exception {
    // A sum takes 100 µs and 1 ms for each MB, and gradients come at 1 MB in a millisecond.
    StringBuilder text = new StringBuilder(head(0, 1));
    text.append("reducer\t0\t3\nbuffer\t0\t0\t0\t1000000\t1\ta\n");
    text.append("buffer\t0\t1\t1\t24000000\t9\tb\n");
    for (int step = 0; step < 3; step++) {
      text.append("interval\t0\t").append(step);
      text.append("\t1\t48100\t0\t24000\t24100\t1\t1\t48100\t0\t0.5\n");
      text.append("step\t0\t").append(step).append("\t0\t0\t24000\t24100\t0\t0.5\t");
      text.append("0,1000,1000,2100;1000,24000,24000,48100\n");
    }
    write(0, text.append("end\n").toString());
    Invocation run = report();
    assertEquals(0, run.status(), run.err());
    assertTrue(
        run.out()
            .matches(
                "(?s).*Buffers of \\d MiB would hide (19|20|21)\\.\\d ms more of each step's 48\\.1 ms"
                    + " \\(a model, in which a sum takes 100 µs and 1\\.00 ms for each MB\\): set"
                    + " COLLECTIVES_BUFFER_LENGTH=.*"),
        run.out());
    assertTrue(
        run.out().contains("Sums outlast the backward pass by 24.1 ms of each step's 48.1 ms"),
        run.out());
  }

  private Path write(int rank, String text) throws Exception {
    return Files.writeString(directory.resolve("report-rank-" + rank + ".tsv"), text);
  }

  private static String head(int rank, int size) {
    return "collectives-report\t1\njob\t" + rank + "\t" + size + "\thost\t1000\t2000\ttrue\n";
  }

  private void assertRefused(String why) {
    Invocation run = report();
    assertEquals(1, run.status(), run.out());
    assertEquals("", run.out());
    assertEquals(1, run.err().lines().count(), run.err());
    assertTrue(run.err().contains(why), run.err());
  }

  @Test
  void reportsThatAreBrokenOrCutAreRefusedByName() throws Exception {
    assertRefused("no file of the name report-rank-*.tsv");
    write(0, head(0, 2));
    assertRefused("report-rank-0.tsv: no report of a run: it is cut off after line 2");
    write(0, head(0, 2) + "reducer\t0\t10\nstep\t0\t3\t1\t1\t1\t1\t0\tNaN\t1,2,3\nend\n");
    assertRefused("line 4: buffer 0 has 3 times, not 4");
    write(0, head(0, 2) + "interval\t7\nend\n");
    assertRefused("line 3: reducer 7 is not known");
    write(0, head(0, 2) + "calls\tworld\nend\n");
    assertRefused("line 3: a line 'calls' of 2 cells");
    write(0, "flight record\n");
    assertRefused("line 1: it does not begin with 'collectives-report'");
    write(0, head(0, 2) + "end\n");
    write(1, head(1, 3) + "end\n");
    assertRefused("the reports are of several jobs: rank ");
  }

  @Test
  void ranksWithoutAReportAndGroupsThatBrokeAreTold() throws Exception {
    write(
        0,
        head(0, 3)
            + "transports\ttcp\nfailure\trank 2 is dead\nlater-word\tx\ncalls\tworld\tall-reduce"
            + "\tring\t64\t3\t1\t120\t3000000\t2000000\nend\n");
    Invocation run = report();
    assertEquals(0, run.status(), run.err());
    assertTrue(run.out().contains("There is no report of ranks 1, 2 of 3"), run.out());
    assertTrue(run.out().contains("A group broke: rank 2 is dead"), run.out());
    assertTrue(run.out().contains("No rank made a step of a GradientReducer"), run.out());
    assertTrue(run.out().matches("(?s).*world +all-reduce +ring +64 +3 +1 +120 .*"), run.out());
  }
}
