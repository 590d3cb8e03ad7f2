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

/** The examples of the README compile, and do as four processes what they say. */
@Tag("process")
@Tag("once")
class ReadmeTest {
  @TempDir private Path directory;

  @Test
  void theFirstExampleSums() throws Exception {
    String output = output("Sum.java", 20);
    for (int rank = 0; rank < 4; rank++) {
      assertPrints("[" + rank + "] rank " + rank + " of 4: 1.50", output);
    }
  }

  @Test
  void theTrainingExampleAverages() throws Exception {
    String output = output("Train.java", 32);
    for (int rank = 0; rank < 4; rank++) {
      assertPrints("[" + rank + "] rank " + rank + " of 4: 4.50", output);
    }
  }

  @Test
  void theExampleWithServersTrains() throws Exception {
    String output = output("Serve.java", 35);
    for (int rank = 0; rank < 2; rank++) {
      assertPrints("[" + rank + "] rank " + rank + " of 4: -5.00", output);
    }
  }

  /** Here nobody dies; what happens then is the matter of tests that know when. */
  @Test
  void theExampleThatSurvivesComesToItsEnd() throws Exception {
    String output = output("Survive.java", 32);
    for (int rank = 0; rank < 4; rank++) {
      assertPrints("[" + rank + "] rank " + rank + " of 4 is done", output);
    }
  }

  private static void assertPrints(String line, String output) {
    assertTrue(Stream.of(output.split("\n")).anyMatch(line::equals), output);
  }

  /** What an example prints as four processes. */
  private String output(String name, int mostLines) throws Exception {
    List<String> readme = Files.readAllLines(Path.of("..", "README.md"));
    int marker = readme.indexOf("<!-- example: " + name + " -->");
    assertTrue(marker >= 0, "the README marks no example " + name);
    assertEquals("```java", readme.get(marker + 1));
    List<String> source =
        readme.stream().skip(marker + 2).takeWhile(line -> !line.equals("```")).toList();
    assertTrue(source.size() <= mostLines, name + " has " + source.size() + " lines");
    Path file = Files.write(directory.resolve(name), source);

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
    return output;
  }

  private static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }
}
