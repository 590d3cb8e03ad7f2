package io.collectives.jlama;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Programs that {@code collectives launch} starts. */
final class Launched {
  private static final int LIMIT_SECONDS = 150;

  private Launched() {}

  /** Runs a program on ranks, and returns what they print, without the number of the rank. */
  static List<String> run(int ranks, String main, String... arguments) throws Exception {
    List<String> command = new ArrayList<>(java("io.collectives.bench.Main"));
    command.addAll(List.of("launch", "-n", "" + ranks, "--"));
    command.addAll(java(main));
    command.addAll(List.of(arguments));
    Process launch =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    // Whoever reads from a process cannot be interrupted.
    CompletableFuture.delayedExecutor(LIMIT_SECONDS, TimeUnit.SECONDS).execute(launch::destroy);
    try {
      launch.getOutputStream().close();
      String out = new String(launch.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(0, launch.waitFor(), out);
      return out.lines()
          .filter(line -> line.startsWith("["))
          .map(line -> line.substring(line.indexOf(']') + 2))
          .toList();
    } finally {
      launch.descendants().forEach(ProcessHandle::destroy);
      launch.destroy();
    }
  }

  private static List<String> java(String main) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC",
        "--add-modules",
        "jdk.incubator.vector",
        "-cp",
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
        main);
  }
}
