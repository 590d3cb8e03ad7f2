package io.collectives.bench.compare;

import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.perf.Ranks;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.RankEnvironment;
import io.collectives.bench.process.Worker;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The ranks of a peer, in processes of its own, which read from standard input what to do and
 * answer on standard output, on lines that begin with {@code peer}. Whatever happens the processes
 * end and their directory is deleted; a peer that does not answer in time is ended.
 */
public final class PeerRanks implements Ranks {
  private static final String ANSWER = "peer ";

  private final ProcessGroup group;
  private final List<Worker> workers = new ArrayList<>();
  private final FirstWords said = new FirstWords();
  private final Thread hook = new Thread(this::end, "end-peer");
  private final ScheduledExecutorService watch =
      Executors.newSingleThreadScheduledExecutor(
          body -> {
            Thread thread = new Thread(body, "watch-peer");
            thread.setDaemon(true);
            return thread;
          });
  private final Duration limit;
  private Optional<Path> scratch = Optional.empty();
  private boolean ended;
  private volatile boolean late;
  private boolean failed;

  private PeerRanks(Duration limit) throws IOException {
    this.limit = limit;
    try {
      group = new ProcessGroup();
      Runtime.getRuntime().addShutdownHook(hook);
    } catch (IllegalStateException e) {
      throw new IOException("this program is being ended", e);
    }
  }

  /**
   * Starts a peer that has been prepared, and waits until its ranks have met.
   *
   * @param limit how long it may take for an answer
   * @throws IOException if it does not come up; the message has what it said
   */
  public static PeerRanks start(Peer peer, PeerBuild build, PeerJob job, Duration limit)
      throws IOException {
    return start(peer.kit(), build, job, limit);
  }

  static PeerRanks start(PeerKit kit, PeerBuild build, PeerJob job, Duration limit)
      throws IOException {
    PeerRanks started = new PeerRanks(limit);
    try {
      List<PeerKit.Start> starts = kit.starts(build, job, started.scratch());
      int port = FreePort.find();
      for (int rank = 0; rank < starts.size(); rank++) {
        Map<String, String> environment =
            new HashMap<>(new RankEnvironment(rank, job.ranks(), port).variables());
        environment.putAll(starts.get(rank).environment());
        started.workers.add(
            Worker.start(
                started.group,
                rank,
                starts.get(rank).command(),
                environment,
                started.said.stream()));
      }
      started.answers();
      return started;
    } catch (IOException | RuntimeException e) {
      started.close();
      throw e;
    }
  }

  /** A peer does not say. */
  @Override
  public List<String> transports() {
    return List.of();
  }

  @Override
  public void warmUp(PerfCase work, long nanos) throws IOException {
    tell("warm-up", work, nanos);
    answers();
  }

  /**
   * Measures a case of the collective that the processes were started for, of which a peer takes
   * the number of elements: they are float32 and reduced by sum, and lie where it wants them.
   */
  @Override
  public CaseResult measure(PerfCase work) throws IOException {
    tell("measure", work, work.method().minNanos());
    String answer = answers().get(0);
    try {
      return CaseResult.parse(answer);
    } catch (IllegalArgumentException | ArrayIndexOutOfBoundsException e) {
      throw new IOException("it answered '" + answer + "', which is no result", e);
    }
  }

  @Override
  public void close() {
    for (Worker worker : workers) {
      try {
        worker.close();
      } catch (IOException e) {
        // It has ended.
      }
    }
    if (!failed) {
      group.awaitEnd();
    }
    end();
    watch.shutdown();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // The JVM is shutting down and the hook has run or is running.
    }
  }

  /** Not after the end, when nobody would delete it. */
  private synchronized Path scratch() throws IOException {
    if (ended) {
      throw new IOException("this program is being ended");
    }
    Path directory = Files.createTempDirectory("collectives-compare-");
    scratch = Optional.of(directory);
    return directory;
  }

  private void end() {
    group.close();
    synchronized (this) {
      ended = true;
      scratch.ifPresent(PeerRanks::deleteAll);
    }
  }

  private void tell(String verb, PerfCase work, long nanos) throws IOException {
    try {
      for (Worker worker : workers) {
        worker.send(verb + " " + work.operand().count() + " " + nanos);
      }
    } catch (IOException e) {
      throw failure(e);
    }
  }

  /**
   * Returns what each process answers, which is what comes after the word by which answers are
   * known.
   */
  private List<String> answers() throws IOException {
    ScheduledFuture<?> alarm =
        watch.schedule(this::giveUp, limit.toMillis(), TimeUnit.MILLISECONDS);
    try {
      List<String> answers = new ArrayList<>();
      for (Worker worker : workers) {
        String line;
        do {
          line = worker.receive();
        } while (!line.startsWith(ANSWER));
        answers.add(line.substring(ANSWER.length()));
      }
      return answers;
    } catch (IOException e) {
      throw failure(e);
    } finally {
      alarm.cancel(false);
    }
  }

  private void giveUp() {
    late = true;
    group.end();
  }

  private IOException failure(IOException cause) {
    failed = true;
    return new IOException(
        (late
                ? "it gave no answer within " + limit.toMillis() / 1e3 + " s and was ended"
                : "it ended before its work was done")
            + said,
        cause);
  }

  private static void deleteAll(Path directory) {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException | UncheckedIOException e) {
      // Somebody else has deleted it.
    }
  }

  /** The beginning of what processes wrote to standard error. */
  private static final class FirstWords {
    private static final int LENGTH = 64 << 10;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    PrintStream stream() {
      return new PrintStream(
          new OutputStream() {
            @Override
            public void write(int b) {
              write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] from, int offset, int length) {
              keep(from, offset, length);
            }
          },
          true,
          StandardCharsets.UTF_8);
    }

    private synchronized void keep(byte[] from, int offset, int length) {
      bytes.write(from, offset, Math.min(length, LENGTH - bytes.size()));
    }

    @Override
    public synchronized String toString() {
      return "; " + PeerBuild.reason(bytes.toString(StandardCharsets.UTF_8));
    }
  }
}
