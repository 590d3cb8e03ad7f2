package io.collectives.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.Memory;
import io.collectives.bench.perf.PerfCase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Peers that are shell scripts. */
@DisabledOnOs(OS.WINDOWS)
class PeerRanksTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration SHORT = Duration.ofMillis(300);
  private static final PeerJob JOB = new PeerJob(Collective.ALL_REDUCE, "only", Medium.TCP, 2);
  private static final PerfCase WORK =
      new PerfCase(
          Collective.ALL_REDUCE,
          2,
          new AlgorithmChoice("auto"),
          new PerfCase.Operand(ElementType.FLOAT32, ReduceOp.SUM, 1000, 1, Optional.empty()),
          new PerfCase.Buffers(Memory.ARRAY, false),
          false,
          new PerfCase.Method(0, 5_000_000, true, false));

  @TempDir private Path directory;

  /** A peer with a process for each rank, which leaves its id and a file in its directory. */
  private final class Script implements PeerKit {
    private final String text;

    Script(String text) {
      this.text = text;
    }

    @Override
    public boolean compilesAhead() {
      return true;
    }

    @Override
    public List<String> variants(Collective collective, Medium medium) {
      return List.of("only");
    }

    @Override
    public void prepare(PeerBuild build) {}

    @Override
    public List<Start> starts(PeerBuild build, PeerJob job, Path scratch) {
      String script = "echo $$ > '" + directory + "'/pid$RANK; : > \"$SCRATCH\"/mine$RANK; " + text;
      return Collections.nCopies(
          job.ranks(),
          new Start(List.of("sh", "-c", script), Map.of("SCRATCH", scratch.toString())));
    }
  }

  private PeerRanks start(String script, Duration limit) throws IOException {
    PeerBuild build = new PeerBuild(directory, "", false, text -> {});
    return PeerRanks.start(new Script(script), build, JOB, limit);
  }

  /** Asserts that nothing of the peer is left. */
  private void assertGone() throws IOException {
    for (int rank = 0; rank < 2; rank++) {
      Path file = directory.resolve("pid" + rank);
      if (Files.exists(file)) { // Else it was ended before it had begun.
        String pid = Files.readString(file).strip();
        assertFalse(
            !pid.isEmpty()
                && ProcessHandle.of(Long.parseLong(pid)).map(ProcessHandle::isAlive).orElse(false));
      }
    }
    Path scratch = Path.of(Files.readString(directory.resolve("scratch")).strip());
    assertTrue(scratch.toString().contains("collectives-compare-"), scratch.toString());
    assertFalse(Files.exists(scratch), scratch.toString());
  }

  private String rememberScratch() {
    return "[ $RANK = 1 ] || echo $SCRATCH > '" + directory + "'/scratch; ";
  }

  @Test
  void theFirstRanksAnswerCountsAndOtherLinesDoNot() throws IOException {
    String answering =
        rememberScratch()
            + "echo hello; echo peer ready; while read verb count nanos; do case $verb in measure)"
            + " echo noise; echo \"peer $count $nanos 2 3 $RANK -\";; *) echo peer ready;; esac;"
            + " done";
    try (PeerRanks peer = start(answering, LONG)) {
      peer.warmUp(WORK, 7);
      assertEquals(
          new CaseResult(new CaseResult.Times(1000, 5_000_000, 2, 3), 0, 0, Optional.empty(), "-"),
          peer.measure(WORK));
    }
    assertGone();
  }

  @Test
  void aPeerThatAnswersWronglyIsReported() throws IOException {
    String wrong = rememberScratch() + "echo peer ready; read line; echo peer quick";
    try (PeerRanks peer = start(wrong, LONG)) {
      IOException failure = assertThrows(IOException.class, () -> peer.measure(WORK));
      assertEquals("it answered 'quick', which is no result", failure.getMessage());
    }
    assertGone();
  }

  @Test
  void aPeerThatCrashesIsReportedWithWhatItSaid() throws IOException {
    String crashing =
        rememberScratch()
            + "echo peer ready; read line; [ $RANK = 1 ] || echo 'no such device' >&2; exit 3";
    try (PeerRanks peer = start(crashing, LONG)) {
      IOException failure = assertThrows(IOException.class, () -> peer.measure(WORK));
      assertTrue(
          failure.getMessage().startsWith("it ended before its work was done; "),
          failure.getMessage());
      assertTrue(failure.getMessage().contains("[0] no such device"), failure.getMessage());
    }
    assertGone();
  }

  @Test
  void aPeerThatNeverComesUpIsReported() throws IOException {
    IOException failure =
        assertThrows(
            IOException.class,
            () -> start(rememberScratch() + "[ $RANK = 0 ] || sleep 600; exit 1", LONG));
    assertTrue(failure.getMessage().startsWith("it ended before"), failure.getMessage());
    assertGone();
  }

  @Test
  void aPeerThatHangsIsEnded() throws IOException {
    String hanging = rememberScratch() + "echo peer ready; read line; sleep 600";
    try (PeerRanks peer = start(hanging, SHORT)) {
      IOException failure = assertThrows(IOException.class, () -> peer.measure(WORK));
      assertTrue(
          failure.getMessage().startsWith("it gave no answer within 0.3 s and was ended"),
          failure.getMessage());
    }
    assertGone();
  }

  @Test
  void aProgramThatIsNotThereIsReported() {
    PeerKit nothing =
        new PeerKit() {
          @Override
          public boolean compilesAhead() {
            return true;
          }

          @Override
          public List<String> variants(Collective collective, Medium medium) {
            return List.of();
          }

          @Override
          public void prepare(PeerBuild build) {}

          @Override
          public List<Start> starts(PeerBuild build, PeerJob job, Path scratch) {
            return List.of(new Start(List.of(directory.resolve("none").toString()), Map.of()));
          }
        };
    PeerBuild build = new PeerBuild(directory, "", false, text -> {});
    assertThrows(IOException.class, () -> PeerRanks.start(nothing, build, JOB, LONG));
  }
}
