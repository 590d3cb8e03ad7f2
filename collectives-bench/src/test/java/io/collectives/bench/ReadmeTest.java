package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.process.JavaCommand;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeAll;
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
@Tag("long")
class ReadmeTest {
  /** The examples, and how many lines each may have. */
  private static final Map<String, Integer> MOST_LINES =
      Map.of("Sum", 20, "Train", 32, "Serve", 35, "Shard", 35, "Survive", 35);

  @TempDir private static Path directory;

  /** All at once, as one compiler for each rank takes longer than all else. */
  @BeforeAll
  static void compile() throws IOException {
    List<String> arguments = new ArrayList<>(List.of("-proc:none", "-d", directory.toString()));
    arguments.addAll(List.of("-cp", System.getProperty("java.class.path")));
    for (Map.Entry<String, Integer> example : MOST_LINES.entrySet()) {
      Path file = directory.resolve(example.getKey() + ".java");
      arguments.add(Files.write(file, source(example.getKey(), example.getValue())).toString());
    }
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    assertEquals(
        0, compiler.run(null, said, said, arguments.toArray(String[]::new)), said::toString);
  }

  private static List<String> source(String name, int mostLines) throws IOException {
    List<String> pages = new ArrayList<>(Files.readAllLines(Path.of("..", "README.md")));
    pages.addAll(Files.readAllLines(Path.of("..", "docs", "GUIDE.md")));
    pages.addAll(Files.readAllLines(Path.of("..", "docs", "TRAINING.md")));
    int marker = pages.indexOf("<!-- example: " + name + ".java -->");
    assertTrue(marker >= 0, "no page marks an example " + name);
    assertEquals("```java", pages.get(marker + 1));
    List<String> source =
        pages.stream().skip(marker + 2).takeWhile(line -> !line.equals("```")).toList();
    assertTrue(source.size() <= mostLines, name + " has " + source.size() + " lines");
    return source;
  }

  @Test
  void theFirstExampleSums() throws Exception {
    String output = output("Sum");
    for (int rank = 0; rank < 4; rank++) {
      assertPrints("[" + rank + "] rank " + rank + " of 4: 1.50", output);
    }
  }

  @Test
  void theTrainingExampleAverages() throws Exception {
    String output = output("Train");
    for (int rank = 0; rank < 4; rank++) {
      assertPrints("[" + rank + "] rank " + rank + " of 4: 4.50", output);
    }
  }

  @Test
  void theExampleWithServersTrains() throws Exception {
    String output = output("Serve");
    for (int rank = 0; rank < 2; rank++) {
      assertPrints("[" + rank + "] rank " + rank + " of 4: -5.00", output);
    }
  }

  @Test
  void theExampleWithShardedUpdatesTrains() throws Exception {
    String output = output("Shard");
    for (int rank = 0; rank < 4; rank++) {
      assertPrints("[" + rank + "] rank " + rank + " of 4: -0.51", output);
    }
  }

  @Test
  void theExampleThatSurvivesComesToItsEndWithoutTheRankThatDies() throws Exception {
    String output = output("Survive", 137, "--keep-going");
    for (int rank = 0; rank < 3; rank++) {
      assertPrints("[" + (rank < 2 ? rank : 3) + "] rank " + rank + " of 3 is done", output);
    }
    assertPrints("collectives launch: 1 of 4 ranks failed", output);
  }

  private static void assertPrints(String line, String output) {
    assertTrue(Stream.of(output.split("\n")).anyMatch(line::equals), output);
  }

  /** Returns what an example prints as four processes. */
  private static String output(String name) throws Exception {
    return output(name, 0);
  }

  private static String output(String name, int status, String... options) throws Exception {
    // Not within this JVM: what the ranks print goes where the launcher's own output goes.
    List<String> command = JavaCommand.of(Main.class, List.of(), List.of("launch", "-n", "4"));
    command.addAll(List.of(options));
    command.add("--");
    List<String> rank = JavaCommand.of(Main.class, List.of(), List.of());
    rank.remove(Main.class.getName());
    String classPath = rank.remove(rank.size() - 1);
    rank.addAll(List.of(directory + File.pathSeparator + classPath, name));
    command.addAll(rank);
    Process launch = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(launch.getInputStream().readAllBytes());
    assertEquals(status, launch.waitFor(), output);
    return output;
  }
}
