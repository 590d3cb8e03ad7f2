package io.collectives.bench.chaos;

import io.collectives.bench.network.Network;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.RankEnvironment;
import io.collectives.bench.process.Worker;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Processes that run {@link ChaosWorker} or {@link PriceWorker}, and what they say. When their time
 * is up, those that still live are killed and count as hung, so that whoever listens to one never
 * waits for ever. To be used by one thread.
 */
final class ChaosJob implements AutoCloseable {
  private final ProcessGroup group = new ProcessGroup(Duration.ofSeconds(1));
  private final ChaosSettings settings;
  private final @Nullable Network network;
  private final Map<String, String> variables;
  private final int port;
  private final @Nullable Worker[] workers;
  private final Set<Integer> hung = new TreeSet<>();
  private final Set<Integer> killed = new TreeSet<>();
  private final Thread watchdog;
  private volatile long deadlineNanos;

  /**
   * A job of which no process is started yet.
   *
   * @param limit from now, when those that still live are killed
   * @param network that connects the ranks; nothing for loopback
   * @param variables of the environment of each process, besides those that say its rank
   */
  ChaosJob(
      ChaosSettings settings,
      Duration limit,
      @Nullable Network network,
      Map<String, String> variables)
      throws IOException {
    this.settings = settings;
    this.network = network;
    this.variables = variables;
    workers = new Worker[settings.ranks()];
    port = FreePort.find();
    allow(limit);
    watchdog = new Thread(this::watch, "chaos-watchdog");
    watchdog.setDaemon(true);
    watchdog.start();
  }

  /** Starts all processes of a job on loopback. */
  static ChaosJob started(ChaosSettings settings, Duration limit) throws IOException {
    ChaosJob job = new ChaosJob(settings, limit, null, Map.of());
    try {
      for (int rank = 0; rank < settings.ranks(); rank++) {
        job.start(rank);
      }
      return job;
    } catch (IOException | RuntimeException e) {
      job.close();
      throw e;
    }
  }

  /** Puts off the end of time. */
  void allow(Duration fromNow) {
    deadlineNanos = System.nanoTime() + fromNow.toNanos();
  }

  /** Starts the process of a rank, also in the place of one that was killed. */
  void start(int rank) throws IOException {
    Map<String, String> environment =
        new HashMap<>(new RankEnvironment(rank, settings.ranks(), port).variables());
    environment.putAll(settings.site().variables(rank, settings.ranks()));
    environment.put("COLLECTIVES_SILENCE_LIMIT", settings.silenceLimit().toString());
    environment.put("COLLECTIVES_JOIN_TIMEOUT", settings.joinTimeout().toString());
    environment.putAll(variables);
    List<String> command = settings.command();
    if (network != null) {
      environment.putAll(network.variables(rank));
      command = network.on(rank, command);
    }
    synchronized (killed) {
      killed.remove(rank);
      workers[rank] = Worker.start(group, rank, command, environment, settings.err());
    }
  }

  /** The port of loopback at which the ranks meet, unless there is a network. */
  int port() {
    return port;
  }

  int ranks() {
    return workers.length;
  }

  Process process(int rank) {
    return worker(rank).process();
  }

  private Worker worker(int rank) {
    return Objects.requireNonNull(workers[rank], "not started yet");
  }

  /** Tells a rank something, unless it has ended, which {@link #hear} finds out. */
  void tell(int rank, String line) {
    try {
      worker(rank).send(line);
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
    List<String> words = hear(rank);
    if (!List.of(expected).contains(words.get(0))) {
      throw new UnexpectedLineException(
          rank, String.join(" ", words), String.join("' or '", expected));
    }
    return words;
  }

  /**
   * The words of the next line of a rank, whatever they are.
   *
   * @throws IOException if the process has ended
   */
  List<String> hear(int rank) throws IOException {
    return List.of(worker(rank).receive().split(" "));
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

  private void watch() {
    try {
      for (long left; (left = deadlineNanos - System.nanoTime()) > 0; ) {
        TimeUnit.NANOSECONDS.sleep(left);
      }
    } catch (InterruptedException e) {
      return;
    }
    synchronized (killed) {
      for (int rank = 0; rank < workers.length; rank++) {
        if (workers[rank] != null && !killed.contains(rank) && process(rank).isAlive()) {
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
    for (int rank = 0; rank < workers.length; rank++) {
      if (workers[rank] != null) {
        kill(rank);
      }
    }
    group.close();
    for (Worker worker : workers) {
      try {
        if (worker != null) {
          worker.close();
        }
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

    /** Returns whether it said that it has lost a rank. */
    boolean isLoss() {
      return line.startsWith("lost ");
    }

    /** Returns whether it said that a sum was wrong. */
    boolean isWrongSum() {
      return line.startsWith("wrong ");
    }
  }
}
