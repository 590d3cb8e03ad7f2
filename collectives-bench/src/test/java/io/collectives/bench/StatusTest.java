package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.flight.FlightRecord;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.JavaCommand;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.timeline.JobTrace;
import io.collectives.bench.timeline.Summary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Real jobs of real processes are asked by another process. */
@EnabledOnOs(OS.LINUX)
@Tag("once")
@Timeout(600) // A dozen JVMs start; on a busy machine that takes a minute and more.
class StatusTest {
  private static final List<String> QUICK =
      List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto");

  @TempDir private Path directory;

  /** A process for each environment. */
  private final Map<Map<String, String>, StatusCommands> commands = new HashMap<>();

  private record Run(int status, String out) {
    void assertSays(int expected, String... words) {
      assertEquals(expected, status, out);
      for (String word : words) {
        assertTrue(out.replaceAll("\\s+", " ").contains(word), () -> word + " is not in\n" + out);
      }
    }
  }

  private Run status(Map<String, String> variables, String... arguments) throws Exception {
    Invocation run =
        commands
            .computeIfAbsent(
                variables,
                more -> {
                  Map<String, String> all = new TreeMap<>();
                  all.put("XDG_RUNTIME_DIR", directory.toString());
                  all.putAll(more);
                  return new StatusCommands(
                      new ProcessBuilder(JavaCommand.of(StatusCommands.class, QUICK, List.of())),
                      all);
                })
            .run(arguments);
    return new Run(run.status(), run.out() + run.err());
  }

  private static Run statusHere(String place) {
    Invocation run = Invocation.of("status", place);
    return new Run(run.status(), run.out() + run.err());
  }

  @AfterEach
  void stopCommands() {
    commands.values().forEach(StatusCommands::close);
  }

  /** Asks again until ranks have come as far as to say something. */
  private Run statusThatSays(List<String> words, Map<String, String> variables, String... arguments)
      throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
    while (true) {
      Run run = status(variables, arguments);
      String said = run.out.replaceAll("\\s+", " ");
      if (words.stream().allMatch(said::contains)) {
        return run;
      }
      assertTrue(System.nanoTime() - end < 0, () -> words + " are never all in\n" + run.out);
    }
  }

  /** Starts ranks, and waits until they have joined. */
  private List<Process> start(ProcessGroup group, int ranks, Map<String, String> variables)
      throws IOException {
    List<Process> processes = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      ProcessBuilder command =
          new ProcessBuilder(JavaCommand.of(StatusProgram.class, QUICK, List.of()));
      Map<String, String> environment = command.environment();
      environment.put("RANK", "" + rank);
      environment.put("WORLD_SIZE", "" + ranks);
      environment.put("COLLECTIVES_SILENCE_LIMIT", "300");
      environment.put("COLLECTIVES_CALL_TIMEOUT", "300");
      environment.put("XDG_RUNTIME_DIR", directory.toString());
      environment.putAll(variables);
      if (environment.containsKey("COLLECTIVES_LISTEN")) {
        int first = Integer.parseInt(environment.get("COLLECTIVES_LISTEN"));
        environment.put("COLLECTIVES_LISTEN", "127.0.0.1:" + (first + rank));
      }
      command.redirectError(ProcessBuilder.Redirect.DISCARD);
      processes.add(group.start(rank, command));
    }
    for (Process process : processes) {
      assertEquals(StatusProgram.JOINED, process.inputReader().readLine());
    }
    return processes;
  }

  private static void signal(String signal, Process process) throws Exception {
    Process kill = new ProcessBuilder("kill", "-" + signal, "" + process.pid()).start();
    assertEquals(0, kill.waitFor());
  }

  @Test
  void theLateRankIsNamedWithItsStackAndTheStoppedOneToo() throws Exception {
    Path sockets = directory.resolve("collectives");
    Path meet = Files.createDirectory(directory.resolve("meet"));
    Path meetAlone = Files.createDirectory(directory.resolve("alone"));
    List<Process> three;
    try (ProcessGroup group = new ProcessGroup(Duration.ofMillis(50))) {
      three = start(group, 3, Map.of("COLLECTIVES_RENDEZVOUS", meet.toUri().toString()));
      List<String> waiting =
          List.of(
              "Rank 2 keeps the others waiting: ",
              "ranks 0 and 1 wait in all-reduce #3 of 3.91 KiB",
              "and rank 2 is in no call; its last one, all-reduce #2, ended");
      Run run = statusThatSays(waiting, Map.of(), sockets.toString());
      run.assertSays(
          0,
          "What rank 2 (pid " + three.get(2).pid() + ") did",
          "at io.collectives.bench.StatusProgram.loadBatch(StatusProgram.java:",
          "over shm");
      List<Process> alone =
          start(group, 1, Map.of("COLLECTIVES_RENDEZVOUS", meetAlone.toUri().toString()));
      statusThatSays(List.of("rank 0: pid " + alone.get(0).pid()), Map.of())
          .assertSays(0, "rank 2: pid " + three.get(2).pid(), "Several jobs run");
      status(Map.of(), meet.toString(), "--format", "json")
          .assertSays(0, "\"findings\": [\"Rank 2 keeps", "\"late\": [ {\"rank\": 2,");
      status(Map.of(), "" + ProcessHandle.current().pid())
          .assertSays(1, "is no rank that answers", "rank 2: pid " + three.get(2).pid());
      status(Map.of(), directory.toString()).assertSays(1, "no status socket lies in this");
      status(Map.of(), "nobody").assertSays(1, "'nobody' is neither the number of a process");

      String records = directory.resolve("records").toString();
      status(Map.of(), meet.toString(), "--trace", "0.2", "--flight", "-o", records)
          .assertSays(0, "Records of 3 ranks are in " + records + ": collectives timeline");
      JobTrace traced = JobTrace.read(Path.of(records));
      assertEquals(3, traced.size());
      String said = String.join("\n", new Summary(traced).findings());
      assertTrue(said.contains("for rank 2"), said);
      assertEquals(2, FlightRecord.read(Path.of(records, "flight-rank-2.tsv")).rank());
      status(Map.of(), meet.toString(), "--trace", "60")
          .assertSays(2, "must be from 0.001 to 59 seconds");

      signal("STOP", three.get(1));
      status(Map.of(), "" + three.get(0).pid())
          .assertSays(
              0,
              "Rank 1 (pid " + three.get(1).pid() + ") does not answer: its process is stopped",
              "Rank 2 keeps the others waiting: rank 0 waits");
      for (Process process : three) {
        process.destroyForcibly().waitFor(); // Others may have ended when they miss the first.
      }
      Run after = status(Map.of(), "" + three.get(0).pid());
      after.assertSays(1, "does not run", "rank 0: pid " + alone.get(0).pid());

      // Others could have put sockets there.
      Files.setPosixFilePermissions(sockets, PosixFilePermissions.fromString("rwxrwxrwx"));
      status(Map.of(), "" + alone.get(0).pid()).assertSays(1, "run chmod 700 " + sockets);
    }
  }

  @Test
  @Tag("long")
  void aRankOnAnotherHostIsAskedAtItsPortWithTheSecretOnly() throws Exception {
    Path secret = Files.writeString(directory.resolve("secret"), "what the ranks of the job know");
    Path wrong = Files.writeString(directory.resolve("wrong"), "what somebody else has guessed");
    for (Path file : List.of(secret, wrong)) {
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }
    Path meet = Files.createDirectory(directory.resolve("meet"));
    int port = FreePort.find();
    Map<String, String> variables = new TreeMap<>();
    variables.put("COLLECTIVES_RENDEZVOUS", meet.toUri().toString());
    variables.put("COLLECTIVES_SECRET_FILE", secret.toString());
    variables.put("COLLECTIVES_TRANSPORT", "tcp");
    variables.put("COLLECTIVES_LISTEN", "" + port);
    String place = "127.0.0.1:" + port;
    // No socket is found there, as on another host, nor by this process.
    String elsewhere = Files.createDirectory(directory.resolve("x")).toString();
    try (ProcessGroup group = new ProcessGroup(Duration.ofMillis(50))) {
      start(group, 2, variables);
      Map<String, String> knows =
          Map.of("XDG_RUNTIME_DIR", elsewhere, "COLLECTIVES_SECRET_FILE", secret.toString());
      List<String> waiting =
          List.of(
              "Rank 0 keeps the others waiting: ",
              "rank 1 waits in all-reduce #3",
              "and rank 0 is in no call");
      statusThatSays(waiting, knows, place).assertSays(0, "StatusProgram.loadBatch", "tcp");
      Map<String, String> guesses =
          Map.of("XDG_RUNTIME_DIR", elsewhere, "COLLECTIVES_SECRET_FILE", wrong.toString());
      status(guesses, place).assertSays(1, "the job secret here is not that of its job");
      statusHere(place)
          .assertSays(1, "it has a job secret; set COLLECTIVES_SECRET_FILE as for its ranks");
      statusHere("127.0.0.1:" + FreePort.find()).assertSays(1, "nobody listens there");
    }
  }
}
