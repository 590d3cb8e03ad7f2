package io.collectives.engine.report;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Communicator;
import io.collectives.Explanation;
import io.collectives.Statistics;
import io.collectives.StepReport;
import io.collectives.internal.Log;
import io.collectives.internal.StepListener;
import java.io.IOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Writes the report of a run, for {@code bin/collectives report}: the steps of gradient reducers,
 * the counters of calls, garbage collections, failures, transports, and the choices of {@code
 * auto}. A daemon thread writes the file {@code report-rank-N.tsv} a second after the begin, then
 * every ten seconds, and the end of the job does so a last time. A file is replaced as a whole.
 *
 * <p>A line has a word that says what it is, and cells with tabs between; times are microseconds
 * unless their name says otherwise. The last line is {@code end}. The reader in collectives-bench
 * knows the columns.
 */
public final class RunReporter implements StepListener, AutoCloseable {
  private static final Log LOG = Log.of(RunReporter.class);
  private static final long INTERVAL_SECONDS = 10;
  private static final Comparator<Statistics.Kind> ORDER =
      Comparator.comparing(Statistics.Kind::group)
          .thenComparing(Statistics.Kind::collective)
          .thenComparing(Statistics.Kind::algorithm)
          .thenComparing(Statistics.Kind::mostBytes);

  private final Path directory;
  private final int rank;
  private final long begunMillis = System.currentTimeMillis();
  private final long begunNanos = System.nanoTime();
  private final long gcAtBegin = GarbageCollection.millis();
  private final long collectionsAtBegin = GarbageCollection.collections();
  private final List<StepHistory> reducers = new ArrayList<>();
  private final ScheduledExecutorService writer;
  private Communicator world;
  private final String host;
  private Supplier<List<String>> failures;

  /** The counters of worlds that this one has grown from, and their failures. */
  private final Map<Statistics.Kind, Statistics.Totals> earlierCalls = new TreeMap<>(ORDER);

  private final List<String> earlierFailures = new ArrayList<>();
  private long gcAtLastStep = gcAtBegin;

  /**
   * Begins a report.
   *
   * @param failures returns the failures of the world so far, in words
   */
  public RunReporter(
      Path directory, Communicator world, String host, Supplier<List<String>> failures) {
    this.directory = directory;
    this.rank = world.rank();
    this.world = world;
    this.host = host;
    this.failures = failures;
    this.writer =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "collectives-rank" + world.rank() + "-report");
              thread.setDaemon(true);
              return thread;
            });
    writer.scheduleWithFixedDelay(() -> write(false), 1, INTERVAL_SECONDS, TimeUnit.SECONDS);
  }

  /** The job goes on in another world, which it has grown to. */
  public synchronized void follow(Communicator next, Supplier<List<String>> failuresOfNext) {
    for (Statistics.Row row : world.statistics().rows()) {
      earlierCalls.merge(row.kind(), row.totals(), Statistics.Totals::plus);
    }
    earlierFailures.addAll(failures.get());
    world = next;
    failures = failuresOfNext;
  }

  @Override
  public synchronized int reducerMade() {
    reducers.add(new StepHistory(reducers.size()));
    return reducers.size() - 1;
  }

  @Override
  public synchronized void stepEnded(int reducer, StepReport step) {
    long gc = GarbageCollection.millis();
    reducers.get(reducer).add(step, System.nanoTime() - begunNanos, gc - gcAtLastStep);
    gcAtLastStep = gc;
  }

  private void write(boolean isClosed) {
    String text;
    try {
      text = text(isClosed);
    } catch (RuntimeException e) {
      LOG.warn("rank {}: the report of the run cannot be made", rank, e);
      return;
    }
    Path file = directory.resolve("report-rank-" + rank + ".tsv");
    try {
      Files.createDirectories(directory);
      Path draft = Files.createTempFile(directory, "report-rank-" + rank, ".draft");
      Files.writeString(draft, text);
      try {
        Files.move(
            draft, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      } catch (AtomicMoveNotSupportedException e) {
        Files.move(draft, file, StandardCopyOption.REPLACE_EXISTING);
      }
    } catch (IOException e) {
      LOG.warn("rank {}: the report of the run cannot be written to {}", rank, file, e);
    }
  }

  private synchronized String text(boolean isClosed) {
    ReportText text = new ReportText();
    text.line("collectives-report", 1);
    text.line(
        "job",
        rank,
        world.size(),
        host,
        begunMillis,
        begunMillis + (System.nanoTime() - begunNanos) / 1_000_000,
        isClosed);
    Statistics statistics = world.statistics();
    text.line("transports", String.join(",", world.explain(0).transports()));
    text.line("memory", statistics.libraryBytes(), Runtime.getRuntime().maxMemory());
    text.line(
        "gc",
        GarbageCollection.millis() - gcAtBegin,
        GarbageCollection.collections() - collectionsAtBegin,
        (System.nanoTime() - begunNanos) / 1_000_000);
    earlierFailures.forEach(failure -> text.line("failure", failure));
    failures.get().forEach(failure -> text.line("failure", failure));
    Map<Statistics.Kind, Statistics.Totals> calls = new TreeMap<>(ORDER);
    calls.putAll(earlierCalls);
    for (Statistics.Row row : statistics.rows()) {
      calls.merge(row.kind(), row.totals(), Statistics.Totals::plus);
    }
    calls.forEach(
        (kind, totals) ->
            text.line(
                "calls",
                kind.group(),
                kind.collective(),
                kind.algorithm(),
                kind.mostBytes(),
                totals.calls(),
                totals.failedCalls(),
                totals.bytes(),
                totals.nanos(),
                totals.longestNanos()));
    if (world.settings().algorithm() instanceof Algorithm.Auto) {
      // A size has a range of lengths, for which auto may choose differently: the mean is typical.
      calls.entrySet().stream()
          .filter(row -> row.getKey().collective().equals(Collective.ALL_REDUCE.toString()))
          .mapToLong(row -> row.getValue().bytes() / row.getValue().calls())
          .distinct()
          .sorted()
          .forEach(bytes -> choice(text, world.explain(bytes)));
    }
    reducers.forEach(reducer -> reducer.appendTo(text));
    text.line("end");
    return text.toString();
  }

  private static void choice(ReportText text, Explanation choice) {
    text.line(
        "auto",
        choice.bytes(),
        choice.chosen().name(),
        choice.reason().row(),
        choice.reason().source());
  }

  /** Writes the report a last time. Closing again does nothing. */
  @Override
  public void close() {
    if (!writer.isShutdown()) {
      writer.shutdown();
      boolean interrupted = false;
      try {
        writer.awaitTermination(INTERVAL_SECONDS, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        interrupted = true;
      }
      write(true);
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
