package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the tests of jcstress in a JVM of their own, briefly; with {@code
 * -Dcollectives.stress=default} as long as that mode of jcstress says.
 */
@Tag("once")
@Tag("long")
class StressTest {
  private static final String MODE = System.getProperty("collectives.stress", "");
  private static final int TESTS = 10;

  @TempDir Path directory;

  @Test
  @Timeout(value = 3, unit = TimeUnit.HOURS)
  void whatThreadsSeeOfEachOtherIsAllowed() throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    Collections.addAll(command, "-Xmx512m", "-XX:-UsePerfData", "-cp");
    command.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    Collections.addAll(command, "org.openjdk.jcstress.Main", "-t", "io.collectives");
    Collections.addAll(command, "-r", directory.toString(), "-strideSize", "32");
    Collections.addAll(command, "-strideCount", "8");
    if (MODE.isEmpty()) {
      // A JVM for each test, not pinned to processors that others use as well.
      Collections.addAll(command, "-f", "1", "-fsm", "0", "-iters", "1", "-time", "300");
      Collections.addAll(command, "-sc", "false", "-af", "NONE");
      Collections.addAll(command, "-jvmArgs", "-Xmx256m -XX:-UsePerfData");
    } else {
      Collections.addAll(command, "-m", MODE);
    }
    Path output = directory.resolve("output.txt");
    Process stress =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertTrue(stress.waitFor(MODE.isEmpty() ? 5 : 170, TimeUnit.MINUTES), "it hangs");
    } finally {
      stress.descendants().forEach(ProcessHandle::destroyForcibly);
      stress.destroyForcibly();
    }
    String said = Files.readString(output);
    assertEquals(0, stress.exitValue(), said);
    assertTrue(said.contains("Failed tests: No matches."), said);
    assertTrue(said.contains("Error tests: No matches."), said);
    assertTrue(said.contains("All remaining tests: " + TESTS + " matching"), said);
  }
}
