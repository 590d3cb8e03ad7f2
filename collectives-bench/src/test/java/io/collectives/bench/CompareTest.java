package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.process.JavaCommand;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The command, with a search path on which there are no programs but those of the test. */
@Tag("process")
@DisabledOnOs(OS.WINDOWS)
@Tag("once")
@Tag("long")
class CompareTest {
  private static final String ANSWERING =
      "echo peer ready; while read verb count nanos; do case $verb in "
          + "measure) echo 'peer 10 7000000000 6 9 0 -';; *) echo peer ready;; esac; done";

  @TempDir private Path directory;

  private record Outcome(int status, List<String> out, String err) {}

  private void program(String name, String script) throws IOException {
    Path file = Files.createDirectories(directory.resolve("bin")).resolve(name);
    Files.writeString(file, "#!/bin/sh\n" + script + "\n");
    assertTrue(file.toFile().setExecutable(true));
  }

  private Outcome compare(String arguments) throws IOException, InterruptedException {
    List<String> command =
        new ArrayList<>(
            JavaCommand.of(
                Main.class, List.of("-Djava.io.tmpdir=" + directory), List.of("compare")));
    command.addAll(List.of(arguments.split(" ")));
    command.add("--directory=" + directory.resolve("peers"));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(directory.resolve("err").toFile());
    builder.environment().put("PATH", directory.resolve("bin").toString());
    Process process = builder.start();
    String out = new String(process.getInputStream().readAllBytes());
    int status = process.waitFor();
    return new Outcome(status, out.lines().toList(), Files.readString(directory.resolve("err")));
  }

  private static void assertSays(String what, Outcome outcome) {
    assertTrue(outcome.err().lines().anyMatch(line -> line.startsWith(what)), outcome.err());
  }

  private void assertNothingLeft() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      assertFalse(
          files.anyMatch(file -> file.getFileName().toString().startsWith("collectives-compare-")));
    }
  }

  @Test
  void withoutAnyPeerEachIsNamedAndTheStatusIs1() throws Exception {
    Outcome outcome = compare("--ranks 2 --bytes 8");
    assertEquals(1, outcome.status(), outcome.err());
    assertEquals(List.of(), outcome.out());
    assertSays("collectives compare: without openmpi: no mpicc on the PATH; as root, apt", outcome);
    assertSays("collectives compare: without gloo: no c++ on the PATH; as root, apt", outcome);
    assertSays("collectives compare: without pytorch-gloo: no mvn on the PATH; as root", outcome);
    assertSays("collectives compare: without rabit: no mvn on the PATH; as root", outcome);
    assertSays("collectives compare: without spark: no mvn on the PATH; as root", outcome);
    assertSays("collectives compare: nothing was compared", outcome);
  }

  /** Threads are compared with peers that share memory; the others are named. */
  @Test
  void aPeerThatAnswersIsCompared() throws Exception {
    program("mpicc", "exit 0");
    program("mpirun", ANSWERING);
    Outcome outcome =
        compare(
            "--placement threads --ranks 2,3 --bytes 8,4K --rounds 3 --warmup 0.02 --min-time 0.01 "
                + "--format tsv --chart "
                + directory.resolve("times.svg"));
    assertEquals(0, outcome.status(), outcome.err());
    assertEquals(
        "peer\tvariant\ttransport\tplacement\tranks\tbytes\trounds\tours_us\tpeer_us\tratio\tratio_min\tratio_max\tcore_to_core_ns\tcollective\tcores",
        outcome.out().get(0));
    assertEquals(1 + 4, outcome.out().size(), outcome.out().toString());
    String[] cells = outcome.out().get(1).split("\t");
    assertEquals(
        List.of("openmpi", "default", "inprocess", "threads", "2", "8", "3"),
        List.of(cells).subList(0, 7));
    double ours = Double.parseDouble(cells[7]);
    assertTrue(ours > 0 && ours < 7e6, cells[7]);
    assertEquals("7000000.000", cells[8]);
    assertEquals("all-reduce", cells[13]);
    assertTrue(cells[14].matches("smt|near|far|disturbed"), cells[14]);
    double least = Double.parseDouble(cells[10]);
    double ratio = Double.parseDouble(cells[9]);
    assertTrue(1 < least && least <= ratio && ratio <= Double.parseDouble(cells[11]), cells[9]);
    assertSays(
        "collectives compare: without gloo: its ranks do not share memory; --transport tcp",
        outcome);
    assertTrue(Files.size(directory.resolve("times.svg")) > 1000);
    assertNothingLeft();
  }

  /** A variant beaten by far in two rounds is not measured in the third. */
  @Test
  void aVariantThatIsFarBehindIsMeasuredTwice() throws Exception {
    program("mpicc", "exit 0");
    Path slow = directory.resolve("slow");
    Path others = directory.resolve("others");
    program(
        "mpirun",
        "case \"$*\" in *segmentsize\\ 1048576*) took=15000000000; log="
            + slow
            + ";; *) took=7000000000; log="
            + others
            + ";; esac; "
            + ANSWERING
                .replace("7000000000", "$took")
                .replace("'", "\"")
                .replace("measure)", "measure) echo $$ >> $log;"));
    Outcome outcome =
        compare(
            "--peers openmpi --placement threads --ranks 2 --bytes 8 --rounds 4 --warmup 0.01 "
                + "--min-time 0.01 --format tsv");
    assertEquals(0, outcome.status(), outcome.err());
    assertEquals("7000000.000", outcome.out().get(1).split("\t")[8]);
    // A round during which the cores moved is measured again, by every variant that takes part.
    int measured = Files.readAllLines(slow).size();
    List<String> processes = Files.readAllLines(others);
    for (String process : Set.copyOf(processes)) {
      int all = Collections.frequency(processes, process);
      assertTrue(2 <= measured && measured <= all - 2, measured + " of " + all);
    }
  }

  /** Processes make one collective each; a peer that lacks one is named, and the others go on. */
  @Test
  void collectivesAreComparedOneAfterTheOther() throws Exception {
    program("mpicc", "exit 0");
    program(
        "mpirun",
        "for last; do :; done; case $last in broadcast) took=9000000000;; all-gather) took=8000000000;; "
            + "*) exit 3;; esac; "
            + ANSWERING.replace("7000000000", "$took").replace("'", "\""));
    Outcome outcome =
        compare(
            "--peers openmpi,spark --collective broadcast,all-gather --placement threads --ranks "
                + "3 --bytes 12K --rounds 1 --warmup 0.01 --min-time 0.01 --format tsv");
    assertEquals(0, outcome.status(), outcome.err());
    assertEquals(3, outcome.out().size(), outcome.out().toString());
    String[] broadcast = outcome.out().get(1).split("\t");
    assertEquals(
        List.of("9000000.000", "broadcast"), List.of(broadcast[8], broadcast[13]), outcome.err());
    String[] gather = outcome.out().get(2).split("\t");
    assertEquals(
        List.of("8000000.000", "all-gather"), List.of(gather[8], gather[13]), outcome.err());
    assertSays(
        "collectives compare: without spark (broadcast): what is measured of it is all-reduce",
        outcome);
    assertSays("collectives compare: without spark (all-gather): what is measured", outcome);
    assertNothingLeft();
  }

  @Test
  void peersThatHangCrashOrAreWrongAreReportedAndTheOthersGoOn() throws Exception {
    program("mpicc", "exit 0");
    program(
        "mpirun",
        "case \"$*\" in "
            + "*segmentsize\\ 1048576*) echo peer ready; exec /bin/sleep 600;; "
            + "*segmentsize\\ 262144*) echo 'it is broken' >&2; exit 7;; "
            + "*segmentsize\\ 0*) echo peer ready; while read verb x; do case $verb in measure) "
            + "echo 'peer 1 1 1 1 5 -';; *) echo peer ready;; esac; done;; "
            + "*) "
            + ANSWERING
            + ";; esac");
    Outcome outcome =
        compare(
            "--peers openmpi --placement threads --memory direct --bytes 8 --rounds 1 --warmup 0.01 --min-time 0.01 --limit 0.5");
    assertEquals(1, outcome.status(), outcome.err());
    assertSays(
        "collectives compare: without openmpi (all-reduce, ring-1M, 2 ranks): it gave no answer within 0.5 s",
        outcome);
    assertSays(
        "collectives compare: without openmpi (all-reduce, ring-256K, 2 ranks): it ended before its work was done; [0] it is broken",
        outcome);
    assertSays(
        "collectives compare: openmpi (all-reduce, rabenseifner, 2 ranks): 5 wrong elements",
        outcome);
    assertTrue(
        outcome.out().get(1).startsWith("openmpi  default   all-reduce"), outcome.out().toString());
    assertTrue(outcome.out().get(3).contains(", direct memory; ratio: "), outcome.out().toString());
    assertNothingLeft();
  }

  @Test
  void aTerminatedCommandLeavesNothing() throws Exception {
    program("mpicc", "exit 0");
    program("mpirun", "echo $$ > '" + directory + "/pid'; exec /bin/sleep 600");
    List<String> command =
        JavaCommand.of(
            Main.class,
            List.of("-Djava.io.tmpdir=" + directory),
            List.of(
                "compare",
                "--peers=openmpi",
                "--placement=threads",
                "--bytes=8",
                "--warmup=0.01",
                "--directory=" + directory.resolve("peers")));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectOutput(directory.resolve("out").toFile())
            .redirectError(directory.resolve("err").toFile());
    builder.environment().put("PATH", directory.resolve("bin").toString());
    Process process = builder.start();
    Path pid = directory.resolve("pid");
    Awaitility.await()
        .atMost(Duration.ofSeconds(50))
        .until(() -> Files.exists(pid) && Files.readString(pid).endsWith("\n"));
    process.destroy();
    process.waitFor();
    long peer = Long.parseLong(Files.readString(pid).strip());
    assertFalse(ProcessHandle.of(peer).map(ProcessHandle::isAlive).orElse(false));
    assertNothingLeft();
  }
}
