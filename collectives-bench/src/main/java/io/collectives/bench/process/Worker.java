package io.collectives.bench.process;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * A process of this program, seen from the one that started it: lines go in and come out, what it
 * writes to standard error appears here with its rank. To be used by one thread.
 */
public final class Worker implements AutoCloseable {
  private final int rank;
  private final Process process;
  private final BufferedWriter toWorker;
  private final BufferedReader fromWorker;
  private final LinePump errors;

  private Worker(int rank, Process process, PrintStream err) {
    this.rank = rank;
    this.process = process;
    this.toWorker =
        new BufferedWriter(
            new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
    this.fromWorker =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    this.errors =
        LinePump.start("rank" + rank + "-stderr", process.getErrorStream(), "[" + rank + "] ", err);
  }

  /** Starts one as a member of {@code group}. */
  public static Worker start(
      ProcessGroup group,
      int rank,
      List<String> command,
      Map<String, String> environment,
      PrintStream err)
      throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(environment);
    return new Worker(rank, group.start(rank, builder), err);
  }

  /** The process itself, to be signalled; its streams are this object's. */
  public Process process() {
    return process;
  }

  /** Sends a line. */
  public void send(String line) throws IOException {
    toWorker.write(line);
    toWorker.newLine();
    toWorker.flush();
  }

  /**
   * Waits for the next line.
   *
   * @throws IOException if the worker has ended
   */
  public String receive() throws IOException {
    String line = fromWorker.readLine();
    if (line == null) {
      try {
        errors.await(ProcessGroup.GRACE);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      throw new IOException(
          "rank " + rank + " ended before its work was done; what it said is above");
    }
    return line;
  }

  /** Tells the worker that there is no more work, upon which it ends. */
  @Override
  public void close() throws IOException {
    toWorker.close();
  }
}
