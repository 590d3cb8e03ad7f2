package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.process.JavaCommand;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

@DisabledOnOs(OS.WINDOWS)
class LaunchTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  private int launch(String... arguments) {
    Launch launch = new Launch(new PrintStream(out, true), new PrintStream(err, true));
    return new CommandLine(launch).setStopAtPositional(true).execute(arguments);
  }

  private static List<String> sorted(ByteArrayOutputStream lines) {
    return lines.toString(StandardCharsets.UTF_8).lines().sorted().toList();
  }

  @Test
  void everyRankFindsItsNumberInTheEnvironment() {
    assertEquals(
        0, launch("-n", "3", "--", "sh", "-c", "echo $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR"));
    assertEquals(
        List.of("[0] 0 0 3 127.0.0.1", "[1] 1 1 3 127.0.0.1", "[2] 2 2 3 127.0.0.1"), sorted(out));
    assertEquals("", err.toString(StandardCharsets.UTF_8));
  }

  @Test
  void ranksAreToldByWhichTransportToTalk() {
    assertEquals(
        0, launch("-n", "2", "--transport", "shm", "sh", "-c", "echo $COLLECTIVES_TRANSPORT"));
    assertEquals(List.of("[0] shm", "[1] shm"), sorted(out));
  }

  @Test
  void ranksAreToldHowManyServe() {
    assertEquals(0, launch("-n", "2", "--servers", "1", "sh", "-c", "echo $COLLECTIVES_SERVERS"));
    assertEquals(List.of("[0] 1", "[1] 1"), sorted(out));
    out.reset();
    String said = "echo $COLLECTIVES_SERVERS $COLLECTIVES_PROXIES";
    assertEquals(0, launch("-n", "3", "--servers", "1", "--proxies", "2", "sh", "-c", said));
    assertEquals(List.of("[0] 1 2", "[1] 1 2", "[2] 1 2"), sorted(out));
  }

  @Test
  void eachRankHasItsShareOfTheProcessors() {
    int processors = Runtime.getRuntime().availableProcessors();
    for (int ranks : new int[] {1, 2, processors + 1}) {
      out.reset();
      assertEquals(0, launch("-n", "" + ranks, "sh", "-c", "echo $OMP_NUM_THREADS"));
      String share = "" + Math.max(1, processors / ranks);
      String wanted = System.getenv().getOrDefault("OMP_NUM_THREADS", share);
      assertEquals(
          List.of(wanted),
          sorted(out).stream().map(line -> line.replaceFirst(".* ", "")).distinct().toList());
    }
  }

  @Test
  void theUsersShareOfTheProcessorsCounts() throws Exception {
    List<String> launch = List.of("launch", "-n", "2", "sh", "-c", "echo $OMP_NUM_THREADS");
    ProcessBuilder builder = new ProcessBuilder(JavaCommand.of(List.of(), launch));
    builder.environment().put("OMP_NUM_THREADS", "3");
    Process process = builder.redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), said);
    assertEquals(List.of("[0] 3", "[1] 3"), said.lines().sorted().toList());
  }

  @Test
  void allMeetAtOnePort() {
    assertEquals(0, launch("-n", "2", "sh", "-c", "echo $MASTER_PORT"));
    List<String> ports = sorted(out).stream().map(line -> line.substring(4)).distinct().toList();
    assertEquals(1, ports.size());
    assertTrue(Integer.parseInt(ports.get(0)) > 0);
  }

  @Test
  void outputAndErrorsStayApartAndWhole() {
    assertEquals(0, launch("-n", "1", "sh", "-c", "printf a; printf 'b\\nno end'; echo bad >&2"));
    assertEquals(List.of("[0] ab", "[0] no end"), sorted(out));
    assertEquals(List.of("[0] bad"), sorted(err));
  }

  @Test
  void optionsOfTheCommandAreItsOwn() {
    assertEquals(0, launch("-n", "1", "echo", "-n", "--help"));
    assertEquals(List.of("[0] --help"), sorted(out));
  }

  @Test
  void standardInputIsEmpty() {
    assertEquals(0, launch("-n", "1", "cat"));
  }

  @Test
  void theFirstFailureEndsTheOthersWithTheirDescendants(@TempDir Path directory) {
    // Rank 0 fails only once rank 1 has said which process it waits for.
    Path said = directory.resolve("said");
    String script =
        "if [ $RANK = 0 ]; then while [ ! -e '"
            + said
            + "' ]; do sleep 0.01; done; exit 7; else sleep 1000 & echo $!; : >'"
            + said
            + "'; wait; fi";
    assertEquals(7, launch("-n", "2", "sh", "-c", script));
    assertEquals(
        "collectives launch: rank 0 ended with status 7; ending the others", sorted(err).get(0));
    Matcher started = Pattern.compile("\\[1] (\\d+)").matcher(out.toString(StandardCharsets.UTF_8));
    assertTrue(started.find(), out::toString);
    Optional<ProcessHandle> sleeper = ProcessHandle.of(Long.parseLong(started.group(1)));
    // A zombie, which its new parent has not asked for yet, has no command.
    assertFalse(
        sleeper
            .filter(ProcessHandle::isAlive)
            .flatMap(handle -> handle.info().command())
            .isPresent());
  }

  /** The others end only when the one that failed has: they read what it leaves. */
  @Test
  void theOthersGoOnIfTheyAreTo(@TempDir Path directory) {
    Path said = directory.resolve("said");
    String script =
        "if [ $RANK = 1 ]; then : >'"
            + said
            + "'; kill -9 $$; elif [ $RANK = 2 ]; then exit 3; fi; while [ ! -e '"
            + said
            + "' ]; do sleep 0.01; done; echo on";
    int status = launch("-n", "4", "--keep-going", "sh", "-c", script);
    assertTrue(status == 3 || status == 137, "" + status);
    assertEquals(List.of("[0] on", "[3] on"), sorted(out));
    List<String> lines = err.toString(StandardCharsets.UTF_8).lines().toList();
    assertEquals(2 + 1 + 2 + 1, lines.size(), lines::toString);
    assertTrue(
        lines.get(0).startsWith("collectives launch: rank " + (status == 3 ? 2 : 1) + " ended"),
        lines::toString);
    assertEquals("rank  status", lines.get(2));
    List<String> table =
        lines.subList(3, 5).stream().map(line -> line.replaceAll(" after.*", "")).sorted().toList();
    assertEquals(List.of("   1     137 ", "   2       3 "), table);
    assertEquals("collectives launch: 2 of 4 ranks failed", lines.get(5));
  }

  @Test
  void goingOnSaysNothingIfNobodyFails() {
    assertEquals(0, launch("-n", "2", "--keep-going", "true"));
    assertEquals("", err.toString(StandardCharsets.UTF_8));
  }

  @Test
  void aSignalIsToldAsShellsDo() {
    assertEquals(128 + 9, launch("-n", "1", "sh", "-c", "kill -9 $$"));
  }

  @Test
  void aMissingCommandIsOneLineAnd127() {
    assertEquals(127, launch("-n", "2", "no-such-command-here"));
    assertEquals(List.of("collectives launch: no-such-command-here: no such command"), sorted(err));
  }

  @Test
  void whatCannotBeRunIs126() {
    assertEquals(126, launch("-n", "1", "/"));
    assertEquals(1, sorted(err).size());
  }
}
