package io.collectives.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProgressTest {
  private static final long SECOND = 1_000_000_000L;

  private final StringWriter said = new StringWriter();
  private long now = 17;

  private Progress progress(boolean terminal) {
    return new Progress(new PrintWriter(said), terminal, () -> now, Optional.empty());
  }

  /** Seconds go by, and the timer looks at each. */
  private void pass(Progress progress, int seconds) {
    for (int i = 0; i < seconds; i++) {
      now += SECOND;
      progress.tick();
    }
  }

  /** Some line within each ten seconds, however many steps there are. */
  @Test
  void elsewhereThanOnATerminalLinesAreFew() {
    try (Progress progress = progress(false)) {
      progress.expect(100);
      for (int i = 0; i < 100; i++) {
        progress.step("case " + i);
        progress.clear();
        progress.step("case " + i);
        pass(progress, 1);
        progress.done(1);
      }
    }
    List<String> lines = said.toString().lines().toList();
    assertEquals(10, lines.size(), said.toString());
    assertEquals(" 9 %, about 90 s left: case 9", lines.get(0));
    assertEquals("99 %, some seconds left: case 99", lines.get(9));
  }

  @Test
  void workThatTakesSecondsSaysNothingThere() {
    try (Progress progress = progress(false)) {
      progress.step("first");
      pass(progress, 9);
      progress.say("stays");
    }
    assertEquals(List.of("stays"), said.toString().lines().toList());
  }

  @Test
  void aTerminalHasOneLineThatIsWrittenOver() {
    try (Progress progress = progress(true)) {
      progress.expect(4);
      progress.step("one");
      assertTrue(said.toString().endsWith("one\033[?7h"), said.toString());
      pass(progress, 20);
      progress.done(1);
      progress.step("two");
      assertTrue(said.toString().endsWith("25 %, about 60 s left: two\033[?7h"), said.toString());
      progress.say("stays");
      pass(progress, 1);
    }
    String text = said.toString();
    assertTrue(text.contains("\r\033[Kstays\n"), text);
    assertTrue(text.endsWith("\r\033[K"), text);
    assertEquals(1, text.chars().filter(c -> c == '\n').count(), text);
  }

  /** Lines that others write between two steps are not written over. */
  @Test
  void nothingIsShownWhileItIsCleared() {
    try (Progress progress = progress(true)) {
      progress.step("one");
      progress.clear();
      int length = said.toString().length();
      pass(progress, 30);
      assertEquals(length, said.toString().length());
    }
  }

  /** A part that takes longer than those before says so. */
  @Test
  void aGuessThatWasWrongIsTakenBack() {
    try (Progress progress = progress(false)) {
      progress.expect(2);
      progress.step("first");
      pass(progress, 10);
      progress.done(1);
      progress.step("second");
      pass(progress, 20);
    }
    assertEquals(
        List.of("first", "50 %, some seconds left: second", "50 %, longer than expected: second"),
        said.toString().lines().toList());
  }

  @ParameterizedTest
  @CsvSource({
    "4, some seconds left",
    "44, about 40 s left",
    "94, about 90 s left",
    "100, about 2 min left",
    "3000, about 50 min left",
    "7000, about 2 h left",
  })
  void whatIsLeftIsNoMoreExactThanItCanBe(long seconds, String text) {
    assertEquals(text, Progress.left((double) seconds * SECOND));
  }
}
