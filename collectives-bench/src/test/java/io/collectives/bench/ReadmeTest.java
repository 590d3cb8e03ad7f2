package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The examples of the README, the guide and the page on training compile, and do as four processes
 * what they say.
 */
@Tag("process")
@Tag("once")
@Timeout(150) // Several share the processors.
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

  @Test
  void theExampleWithShardedUpdatesTrains() throws Exception {
    String output = output("Shard.java", 35);
    for (int rank = 0; rank < 4; rank++) {
      assertPrints("[" + rank + "] rank " + rank + " of 4: -0.51", output);
    }
  }

  @Test
  void theExampleThatSurvivesComesToItsEndWithoutTheRankThatDies() throws Exception {
    String output = output("Survive.java", 35, 137, "--keep-going");
    for (int rank = 0; rank < 3; rank++) {
      assertPrints("[" + (rank < 2 ? rank : 3) + "] rank " + rank + " of 3 is done", output);
    }
    assertPrints("collectives launch: 1 of 4 ranks failed", output);
  }

  private static void assertPrints(String line, String output) {
    assertTrue(Stream.of(output.split("\n")).anyMatch(line::equals), output);
  }

  /** What an example prints as four processes. */
  private String output(String name, int mostLines) throws Exception {
    return output(name, mostLines, 0);
  }

  private String output(String name, int mostLines, int status, String... options)
      throws Exception {
    List<String> pages = new ArrayList<>(Files.readAllLines(Path.of("..", "README.md")));
    pages.addAll(Files.readAllLines(Path.of("..", "docs", "GUIDE.md")));
    pages.addAll(Files.readAllLines(Path.of("..", "docs", "TRAINING.md")));
    int marker = pages.indexOf("<!-- example: " + name + " -->");
    assertTrue(marker >= 0, "no page marks an example " + name);
    assertEquals("```java", pages.get(marker + 1));
    List<String> source =
        pages.stream().skip(marker + 2).takeWhile(line -> !line.equals("```")).toList();
    assertTrue(source.size() <= mostLines, name + " has " + source.size() + " lines");
    Path file = Files.write(directory.resolve(name), source);

    // Not within this JVM: what the ranks print goes where the launcher's own output goes.
    List<String> command = new ArrayList<>(List.of(java(), "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.addAll(List.of("io.collectives.bench.Main", "launch", "-n", "4"));
    command.addAll(List.of(options));
    command.addAll(List.of("--", java(), "-cp", System.getProperty("java.class.path")));
    command.add(file.toString());
    Process launch = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(launch.getInputStream().readAllBytes());
    assertEquals(status, launch.waitFor(), output);
    return output;
  }

  private static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }
}
