package io.collectives.bench.chaos;

import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.RankEnvironment;
import io.collectives.bench.process.Worker;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Processes that run {@link ChaosWorker}, and what they say. When their time is up, those that
 * still live are killed and count as hung, so that whoever listens to one never waits for ever. To
 * be used by one thread.
 */
final class ChaosJob implements AutoCloseable {
  private final ProcessGroup group = new ProcessGroup(Duration.ofSeconds(1));
  private final List<Worker> workers = new ArrayList<>();
  private final Set<Integer> hung = new TreeSet<>();
  private final Set<Integer> killed = new TreeSet<>();
  private final Thread watchdog;

  /**
   * Starts a job.
   *
   * @param command runs a worker in a JVM of its own
   * @param silenceLimit that of the workers
   * @param limit when those that still live are killed
   * @param err gets what they write to standard error
   */
  ChaosJob(int ranks, List<String> command, Duration silenceLimit, Duration limit, PrintStream err)
      throws IOException {
    watchdog = new Thread(() -> watch(limit), "chaos-watchdog");
    watchdog.setDaemon(true);
    try {
      int port = FreePort.find();
      for (int rank = 0; rank < ranks; rank++) {
        Map<String, String> environment =
            new HashMap<>(new RankEnvironment(rank, ranks, port).variables());
        environment.put("COLLECTIVES_SILENCE_LIMIT", silenceLimit.toString());
        workers.add(Worker.start(group, rank, command, environment, err));
      }
    } catch (IOException | RuntimeException e) {
      group.close();
      throw e;
    }
    watchdog.start();
  }

  int ranks() {
    return workers.size();
  }

  Process process(int rank) {
    return workers.get(rank).process();
  }

  /** Tells a rank something, unless it has ended, which {@link #hear} finds out. */
  void tell(int rank, String line) {
    try {
      workers.get(rank).send(line);
    } catch (IOException e) {
      // It has ended.
    }
  }

  /**
   * The words of the next line of a rank.
   *
   * @param expected what the first of them may be
   * @throws UnexpectedLineException if it is another
   * @throws IOException if the process has ended
   */
  List<String> hear(int rank, String... expected) throws IOException {
    String line = workers.get(rank).receive();
    List<String> words = List.of(line.split(" "));
    if (!List.of(expected).contains(words.get(0))) {
      throw new UnexpectedLineException(rank, line, String.join("' or '", expected));
    }
    return words;
  }

  /** Kills a process, stopped or not. */
  void kill(int rank) {
    synchronized (killed) {
      killed.add(rank);
    }
    end(rank);
  }

  /** By its handle, which leaves the streams open: what it said last can still be heard. */
  private void end(int rank) {
    process(rank).toHandle().destroyForcibly();
  }

  /** The ranks that had not ended when time was up. */
  Set<Integer> hung() {
    synchronized (killed) {
      return Set.copyOf(hung);
    }
  }

  private void watch(Duration limit) {
    try {
      Thread.sleep(limit.toMillis());
    } catch (InterruptedException e) {
      return;
    }
    synchronized (killed) {
      for (int rank = 0; rank < workers.size(); rank++) {
        if (!killed.contains(rank) && process(rank).isAlive()) {
          hung.add(rank);
          end(rank);
        }
      }
    }
  }

  /** Lets those that were told to end do so until time is up, and kills the others. */
  void awaitEnd(Set<Integer> ranks) {
    try {
      for (int rank : ranks) {
        process(rank).waitFor();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    watchdog.interrupt();
    for (int rank = 0; rank < workers.size(); rank++) {
      kill(rank);
    }
    group.close();
    for (Worker worker : workers) {
      try {
        worker.close();
      } catch (IOException e) {
        // It has ended.
      }
    }
  }

  /** A worker said something else. */
  static final class UnexpectedLineException extends IOException {
    private static final long serialVersionUID = 1L;

    private final String line;

    UnexpectedLineException(int rank, String line, String expected) {
      super("rank " + rank + " said '" + line + "' instead of '" + expected + "'");
      this.line = line;
    }

    /** Whether it said that it has lost a rank. */
    boolean isLoss() {
      return line.startsWith("lost ");
    }
  }
}
