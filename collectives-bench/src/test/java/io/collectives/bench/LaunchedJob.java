package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;

/** Jobs of processes that {@code collectives launch} starts in the JVM of the test. */
public final class LaunchedJob {
  private LaunchedJob() {}

  /**
   * Runs a job that must end with 0.
   *
   * @param options of the launcher, as {@code -n 4}
   * @param variable that all ranks get, as {@code NAME=value}
   * @param command of each rank
   * @return all that the ranks wrote
   */
  public static String run(List<String> options, String variable, List<String> command) {
    List<String> arguments = new ArrayList<>(options);
    arguments.addAll(List.of("--", "env", variable));
    arguments.addAll(command);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream said = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    int status =
        new CommandLine(new Launch(said, said))
            .setStopAtPositional(true)
            .execute(arguments.toArray(String[]::new));
    String text = bytes.toString(StandardCharsets.UTF_8);
    assertEquals(0, status, text);
    return text;
  }
}
