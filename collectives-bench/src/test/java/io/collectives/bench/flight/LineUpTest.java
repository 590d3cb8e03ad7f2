package io.collectives.bench.flight;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.flight.LineUp.State;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class LineUpTest {

  private static FlightRecord upTo(int rank, int last) {
    String[] lines = new String[last + 1];
    for (int i = 0; i <= last; i++) {
      lines[i] = Records.done(rank, i);
    }
    return Records.of(rank, lines.length, lines);
  }

  @Test
  void nothingIsSaidOfAJobInWhichAllIsWell() {
    LineUp lineUp = LineUp.of(List.of(upTo(3, 5), upTo(1, 5), upTo(0, 5), upTo(2, 5)));
    assertEquals(List.of(), lineUp.findings());
    assertEquals(List.of(0, 1, 2, 3), lineUp.ranks());
    assertEquals(
        List.of(0L, 1L, 2L, 3L, 4L, 5L), lineUp.rows().stream().map(LineUp.Row::sequence).toList());
    assertEquals(OptionalLong.of(5), lineUp.millis(lineUp.rows().get(3), 2));
  }

  @Test
  void whoHasNotMadeACallIsNamed() {
    LineUp lineUp = LineUp.of(List.of(upTo(0, 5), upTo(1, 5), upTo(2, 3), upTo(3, 4)));
    assertEquals(
        List.of(
            "Rank 2 has not made call 4 of group a1 (all-reduce of 1000 float32, sum, by ring), "
                + "which ranks 0, 1, 3 have, and none of the 1 known after it.",
            "Rank 3 has not made call 5 of group a1 (all-reduce of 1000 float32, sum, by ring), "
                + "which ranks 0, 1 have."),
        lineUp.findings());
    LineUp.Row last = lineUp.rows().get(5);
    assertEquals(State.MISSING, lineUp.state(last, 2));
    assertEquals(State.PRESENT, lineUp.state(last, 1));
    assertEquals(OptionalLong.empty(), lineUp.millis(last, 2));
  }

  @Test
  void whoMadeNoCallOfAGroupIsNamed() {
    FlightRecord none = Records.of(1, 0);
    LineUp lineUp = LineUp.of(List.of(upTo(0, 0), none, upTo(2, 0), upTo(3, 0)));
    assertEquals(
        List.of(
            "Rank 1 has not made call 0 of group a1 (all-reduce of 1000 float32, sum, by ring), "
                + "which ranks 0, 2, 3 have."),
        lineUp.findings());
  }

  @Test
  void aRankWithoutARecordIsNamed() {
    LineUp lineUp = LineUp.of(List.of(upTo(0, 1), upTo(1, 1), upTo(3, 1)));
    assertEquals(
        List.of(
            "There is no record of rank 2: killed or stopped, perhaps, or its file was not given."),
        lineUp.findings());
    assertEquals(State.NO_RECORD, lineUp.state(lineUp.rows().get(0), 2));
  }

  @Test
  void aRankThatIsKnownByTheSizeOnlyIsCounted() {
    LineUp lineUp = LineUp.of(List.of(Records.of(0, 0), Records.of(1, 0)));
    assertEquals(
        List.of("The job has 4 ranks; there are records of 2 of them."), lineUp.findings());
  }

  @Test
  void whatTheRanksDescribeDifferentlyIsShown() {
    String other = Records.line(2, "a1", "0,1,2,3", 1, 999, "failed", 90_001, "mismatch");
    LineUp lineUp =
        LineUp.of(
            List.of(
                upTo(0, 1), upTo(1, 1), Records.of(2, 2, Records.done(2, 0), other), upTo(3, 1)));
    assertEquals(
        List.of(
            "The ranks do not agree on call 1 of group a1. Ranks 0, 1, 3: all-reduce of 1000 "
                + "float32, sum, by ring; Rank 2: all-reduce of 999 float32, sum, by ring.",
            "Call 1 of group a1, failed on rank 2: mismatch"),
        lineUp.findings());
  }

  @Test
  void whatIsForgottenIsNotMissing() {
    // Rank 1 remembers its last two calls only, none of them of group b2.
    FlightRecord short1 = Records.of(1, 9, Records.done(1, 4), Records.done(1, 5));
    String[] lines = new String[7];
    for (int i = 0; i <= 5; i++) {
      lines[i] = Records.done(0, i);
    }
    lines[6] = Records.line(0, "b2", "0,1", 0, 8, "done", 80_000, "");
    LineUp lineUp = LineUp.of(List.of(Records.of(0, 7, lines), short1, upTo(2, 5), upTo(3, 5)));
    assertEquals(List.of(), lineUp.findings());
    LineUp.Row first = lineUp.rows().get(0);
    assertEquals("b2", first.group());
    assertEquals(State.FORGOTTEN, lineUp.state(first, 1));
    assertEquals(State.OUTSIDE, lineUp.state(first, 2));
    assertEquals(State.FORGOTTEN, lineUp.state(lineUp.rows().get(1), 1));
    assertEquals(State.PRESENT, lineUp.state(lineUp.rows().get(6), 1));
  }

  /** A call under way has lasted until its record was written, and tells for whom it waits. */
  @Test
  void callsUnderWayTellForWhomTheyWait() {
    String running = Records.line(0, "a1", "0,1,2,3", 1, 1000, "running", 99_000, "for rank 2");
    LineUp lineUp = LineUp.of(List.of(Records.of(0, 2, Records.done(0, 0), running), upTo(1, 0)));
    LineUp.Row last = lineUp.rows().get(1);
    assertEquals(OptionalLong.of(1000), lineUp.millis(last, 0));
    assertTrue(
        lineUp.findings().contains("Call 1 of group a1, running on rank 0: for rank 2"),
        lineUp.findings()::toString);
  }

  private static FlightRecord waiting(int rank, int awaited, String site) {
    FlightCall call =
        new FlightCall(
            "a1",
            List.of(0, 1, 2, 3),
            0,
            new FlightCall.Operation("all-reduce", "ring", "sum", "float32", 8),
            new FlightCall.Progress(
                "running",
                90_000,
                OptionalLong.empty(),
                "rank " + rank + " waited " + rank + " ms for rank " + awaited,
                OptionalInt.of(awaited)),
            site);
    return new FlightRecord(rank, OptionalInt.of(4), OptionalLong.of(100_000), true, List.of(call));
  }

  /** Rank 3 waits for rank 0, which waits for rank 2 itself. */
  @Test
  void whoHoldsUpTheOthersIsToBeExcluded() {
    FlightRecord idle =
        Records.of(2, 1, Records.line(2, "b2", "2,3", 0, 1, "done", 43_384_000, ""));
    LineUp lineUp =
        LineUp.of(
            List.of(waiting(0, 2, "Train.step:7"), waiting(1, 2, ""), idle, waiting(3, 0, "")));
    List<String> findings = lineUp.findings();
    assertEquals(
        "Exclude rank 2: ranks 0, 1, 3 wait for it, and it has made no call since 12:03:04 UTC.",
        findings.get(0));
    assertTrue(
        findings.contains(
            "Call 0 of group a1, made at Train.step:7, running on ranks 0, 1, which wait for rank 2;"
                + " rank 0 says: rank 0 waited 0 ms for rank 2"),
        findings::toString);
    assertTrue(
        findings.contains("Call 0 of group a1, running on rank 3: rank 3 waited 3 ms for rank 0"),
        findings::toString);
  }

  @Test
  void whatSeveralGroupsSayAlikeIsOneSentence() {
    String why = "rank 2 failed";
    FlightRecord both =
        Records.of(
            0,
            2,
            Records.line(0, "a1", "0,1,2,3", 0, 8, "failed", 90_000, why),
            Records.line(0, "b2", "0,1,2", 0, 8, "failed", 90_001, why));
    assertEquals(
        1, LineUp.of(List.of(both)).findings().stream().filter(one -> one.contains(why)).count());
  }

  /** Clocks differ, but the calls of a group are in the order of their numbers. */
  @Test
  void numbersComeBeforeClocks() {
    FlightRecord early =
        Records.of(
            0,
            2,
            Records.line(0, "a1", "0,1,2,3", 0, 1, "done", 500, ""),
            Records.line(0, "a1", "0,1,2,3", 1, 1, "done", 400, ""),
            Records.line(0, "b2", "0", 0, 1, "done", 450, ""));
    assertEquals(
        List.of("b20", "a10", "a11"),
        LineUp.of(List.of(early)).rows().stream()
            .map(row -> row.group() + row.sequence())
            .toList());
  }

  @Test
  void recordsThatDoNotBelongTogetherAreRefused() {
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class, () -> LineUp.of(List.of(upTo(1, 0), upTo(1, 1))));
    assertEquals(
        "two records are of rank 1: give those of one failure of one job only", e.getMessage());
    FlightRecord other = Records.of(0, 1, Records.line(0, "a1", "0,1", 0, 1, "done", 90_000, ""));
    e = assertThrows(IllegalArgumentException.class, () -> LineUp.of(List.of(other, upTo(1, 0))));
    assertTrue(
        e.getMessage().startsWith("group a1 has members [0, 1, 2, 3] in the record of rank 1"));
  }
}
