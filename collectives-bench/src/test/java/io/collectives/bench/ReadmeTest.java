package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of the README compiles, and does as four processes what it says. */
@Tag("process")
class ReadmeTest {

  @Test
  void theExampleSums(@TempDir Path directory) throws Exception {
    List<String> readme = Files.readAllLines(Path.of("..", "README.md"));
    int marker = readme.indexOf("<!-- example: Sum.java -->");
    assertTrue(marker >= 0, "the README marks no example");
    assertEquals("```java", readme.get(marker + 1));
    List<String> source =
        readme.stream().skip(marker + 2).takeWhile(line -> !line.equals("```")).toList();
    assertTrue(source.size() <= 20, "the example has " + source.size() + " lines");
    Path file = Files.write(directory.resolve("Sum.java"), source);

    // Not within this JVM: what the ranks print goes where the launcher's own output goes.
    Process launch =
        new ProcessBuilder(
                java(),
                "-cp",
                System.getProperty("java.class.path"),
                "io.collectives.bench.Main",
                "launch",
                "-n",
                "4",
                "--",
                java(),
                "-cp",
                System.getProperty("java.class.path"),
                file.toString())
            .redirectErrorStream(true)
            .start();
    String output = new String(launch.getInputStream().readAllBytes());
    assertEquals(0, launch.waitFor(), output);
    for (int rank = 0; rank < 4; rank++) {
      String line = "[" + rank + "] rank " + rank + " of 4: 1.50";
      assertTrue(Stream.of(output.split("\n")).anyMatch(line::equals), output);
    }
  }

  private static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }
}
