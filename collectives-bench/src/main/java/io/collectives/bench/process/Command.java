package io.collectives.bench.process;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Short commands of the system. */
public final class Command {
  private Command() {}

  /**
   * Runs one and returns what it wrote to standard output and standard error.
   *
   * @throws IOException if there is no such command, or its status is not 0
   */
  public static String run(String... command) throws IOException {
    return run(List.of(command));
  }

  /** Runs a command; see {@link #run(String...)}. */
  public static String run(List<String> command) throws IOException {
    return run("", command);
  }

  /**
   * Runs a command as {@link #run(String...)} does.
   *
   * @param input what it reads from standard input, less than a pipe holds
   */
  public static String run(String input, List<String> command) throws IOException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      try (OutputStream to = process.getOutputStream()) {
        to.write(input.getBytes(StandardCharsets.UTF_8));
      } catch (IOException e) {
        // It has ended before it read all; its status says why.
      }
      String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      int status = process.waitFor();
      if (status != 0) {
        throw new IOException(
            String.join(" ", command) + ": status " + status + ", " + text.strip());
      }
      return text;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while " + command.get(0) + " ran");
    } finally {
      process.destroyForcibly();
    }
  }
}
