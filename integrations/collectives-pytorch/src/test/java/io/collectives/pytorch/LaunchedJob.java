package io.collectives.pytorch;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.process.JavaCommand;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** A job of processes under {@code collectives launch}. */
record LaunchedJob(int status, String output) {
  private static final long SECONDS = 800;

  static LaunchedJob run(
      int ranks, List<String> launchOptions, Class<?> program, String... arguments)
      throws IOException, InterruptedException {
    List<String> launch = new ArrayList<>(List.of("launch", "-n", "" + ranks));
    launch.addAll(launchOptions);
    launch.add("--");
    launch.addAll(JavaCommand.of(program, List.of("-Xmx512m"), List.of(arguments)));
    Path said = Files.createTempFile("job", ".txt");
    ProcessBuilder builder =
        new ProcessBuilder(JavaCommand.of(List.of(), launch))
            .redirectErrorStream(true)
            .redirectOutput(said.toFile());
    // A rank's threads would spin for each other while other builds have the processors.
    builder.environment().put("OMP_NUM_THREADS", "1");
    Process process = builder.start();
    try {
      boolean hasEnded = process.waitFor(SECONDS, TimeUnit.SECONDS);
      String output = Files.readString(said, StandardCharsets.UTF_8);
      assertTrue(hasEnded, "still running after " + SECONDS + " s:\n" + output);
      return new LaunchedJob(process.exitValue(), output);
    } finally {
      process.destroy(); // The launcher ends its ranks.
      process.waitFor(20, TimeUnit.SECONDS);
      Files.delete(said);
    }
  }

  /**
   * Returns the numbers that ranks printed as "[rank] name words number", by "name words"; each has
   * one number for each rank.
   */
  Map<String, List<Double>> numbers() {
    return output
        .lines()
        .filter(line -> line.matches("\\[\\d+] [A-Z_]+ \\w+ \\S+"))
        .map(line -> line.substring(line.indexOf(' ') + 1))
        .collect(
            Collectors.groupingBy(
                line -> line.substring(0, line.lastIndexOf(' ')),
                TreeMap::new,
                Collectors.mapping(
                    line -> Double.valueOf(line.substring(line.lastIndexOf(' ') + 1)),
                    Collectors.toList())));
  }
}
