package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.internal.Log;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Warnings are seen, with a provider of SLF4J and without. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class WarningsTest {
  private static final String PROVIDER = "slf4j-simple";

  @TempDir Path directory;

  /** Has something to say. */
  static final class Program {
    public static void main(String[] args) {
      Log log = Log.of(Program.class);
      log.debug("debug {}", 1);
      log.info("info {}", 1);
      log.warn("rank {} sees\n{}", 3, "a stranger", new IllegalStateException("because"));
      log.error("rank {} is lost", 4);
      // A file stands where flight records are to be written.
      CallSettings calls = CallSettings.defaults().withFlightDirectory(Path.of(args[0], "record"));
      List<Communicator> worlds = Collectives.inProcess(2, calls);
      worlds.get(1).abort("for the test");
      try {
        worlds.get(0).barrier();
      } catch (AbortedException e) {
        worlds.forEach(Communicator::close);
      }
    }
  }

  private List<String> said(boolean hasProvider) throws Exception {
    Path output = directory.resolve("output " + hasProvider);
    Files.write(directory.resolve("record"), new byte[1]);
    ProcessBuilder builder = JavaProcess.of(output, Program.class, directory.toString());
    int classPath = builder.command().indexOf("-cp") + 1;
    String all = builder.command().get(classPath);
    assertTrue(all.contains(PROVIDER), all);
    if (!hasProvider) {
      builder
          .command()
          .set(
              classPath,
              Arrays.stream(all.split(File.pathSeparator))
                  .filter(entry -> !entry.contains(PROVIDER))
                  .collect(Collectors.joining(File.pathSeparator)));
    }
    Process process = builder.start();
    try {
      assertTrue(process.waitFor(50, TimeUnit.SECONDS));
    } finally {
      process.destroyForcibly();
    }
    List<String> lines = Files.readAllLines(output);
    assertEquals(0, process.exitValue(), () -> lines + "");
    return lines;
  }

  @Test
  void withoutAProviderTheyAreLinesOnStandardError() throws Exception {
    List<String> lines = said(false);
    String head = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:[\\d.]+Z ";
    String thread = " collectives \\[.+\\]: ";
    List<String> expected =
        List.of(
            head
                + "WARN"
                + thread
                + "rank 3 sees a stranger: java.lang.IllegalStateException: because",
            head + "ERROR" + thread + "rank 4 is lost",
            head + "WARN" + thread + "rank \\d: the flight record cannot be written to .*");
    assertTrue(lines.size() >= expected.size(), () -> lines + "");
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      assertTrue(line.matches(expected.get(Math.min(i, 2))), () -> line + " of " + lines);
    }
  }

  @Test
  void withAProviderTheyGoThereOnly() throws Exception {
    List<String> lines = said(true);
    assertTrue(lines.stream().noneMatch(line -> line.contains(" collectives [")), () -> lines + "");
    String program = "ERROR " + Program.class.getName() + " - rank 4 is lost";
    assertTrue(lines.stream().anyMatch(line -> line.endsWith(program)), () -> lines + "");
    assertTrue(
        lines.stream().anyMatch(line -> line.contains("the flight record cannot be written")),
        () -> lines + "");
  }
}
