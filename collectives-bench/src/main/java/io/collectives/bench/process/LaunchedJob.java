package io.collectives.bench.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A job of processes that {@code collectives launch} has run to its end, as the tests of adapters
 * want it.
 *
 * @param status the exit status of {@code launch}
 * @param output standard output of all ranks; each line begins with its rank, as {@code [2] }
 * @param errors standard error, likewise
 */
public record LaunchedJob(int status, String output, String errors) {
  /**
   * The program of the ranks.
   *
   * @param jvm options of its JVM, beside those of this one
   */
  public record Program(Class<?> main, List<String> jvm, List<String> arguments) {}

  /**
   * Runs a job.
   *
   * @param options options of {@code launch}
   * @throws IOException if it has not ended after the limit; it is ended then
   */
  public static LaunchedJob run(int ranks, List<String> options, Program program, Duration limit)
      throws IOException, InterruptedException {
    List<String> launch = new ArrayList<>(List.of("launch", "-n", "" + ranks));
    launch.addAll(options);
    launch.add("--");
    launch.addAll(JavaCommand.of(program.main(), program.jvm(), program.arguments()));
    Path output = Files.createTempFile("job", ".out");
    Path errors = Files.createTempFile("job", ".err");
    ProcessBuilder builder =
        new ProcessBuilder(JavaCommand.of(List.of(), launch))
            .redirectOutput(output.toFile())
            .redirectError(errors.toFile());
    // A rank's native threads would spin for each other while other programs have the processors.
    builder.environment().put("OMP_NUM_THREADS", "1");
    Process process = builder.start();
    try {
      boolean hasEnded = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
      LaunchedJob job =
          new LaunchedJob(hasEnded ? process.exitValue() : -1, read(output), read(errors));
      if (!hasEnded) {
        throw new IOException("the job still runs after " + limit.toSeconds() + " s: " + job);
      }
      return job;
    } finally {
      process.destroy(); // The launcher ends its ranks.
      process.waitFor(20, TimeUnit.SECONDS);
      Files.delete(output);
      Files.delete(errors);
    }
  }

  private static String read(Path file) throws IOException {
    return Files.readString(file, StandardCharsets.UTF_8);
  }

  /** The lines that ranks printed, without the ranks. */
  public List<String> lines() {
    return output
        .lines()
        .filter(line -> line.matches("\\[\\d+] .*"))
        .map(line -> line.substring(line.indexOf(' ') + 1))
        .toList();
  }

  /**
   * The numbers that ranks printed as {@code NAME name number}, by the two names: one number for
   * each rank.
   */
  public Map<String, List<Double>> numbers() {
    return lines().stream()
        .filter(line -> line.matches("[A-Z_]+ \\w+ \\S+"))
        .collect(
            Collectors.groupingBy(
                line -> line.substring(0, line.lastIndexOf(' ')),
                TreeMap::new,
                Collectors.mapping(
                    line -> Double.valueOf(line.substring(line.lastIndexOf(' ') + 1)),
                    Collectors.toList())));
  }
}
