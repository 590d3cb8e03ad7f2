package io.collectives.engine;

import io.collectives.engine.run.Engine;
import io.collectives.engine.run.TraceLog;
import io.collectives.internal.Log;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The tracing of a rank: it is on or off, and has a directory to write to. All but {@link #write}
 * is to be called by whoever drives the engine.
 */
final class Tracing {
  private static final Log LOG = Log.of(Tracing.class);

  private final Engine engine;
  private final int rank;
  private @Nullable Path directory;
  private @Nullable GcPauses pauses;

  Tracing(Engine engine, int rank) {
    this.engine = engine;
    this.rank = rank;
  }

  /**
   * A trace to be written.
   *
   * @param directory where to
   */
  record Traced(Path directory, TraceLog.Record record) {}

  /**
   * Begins.
   *
   * @throws IllegalStateException if this rank is traced already
   */
  void begin(Path into) {
    if (directory != null) {
      throw new IllegalStateException(
          "rank "
              + rank
              + " is traced already, into "
              + directory
              + "; end that trace before another one begins");
    }
    directory = into;
    engine.beginTrace();
    pauses = new GcPauses(engine.trace());
  }

  /** Returns what has been traced so far, nothing if this rank is not traced. */
  @Nullable Traced soFar() {
    return directory == null ? null : new Traced(directory, engine.traced());
  }

  /** Ends. Returns what has been traced, nothing if this rank is not. */
  @Nullable Traced end() {
    Traced traced = soFar();
    if (traced != null) {
      directory = null;
      Objects.requireNonNull(pauses).close();
      pauses = null;
      engine.endTrace();
    }
    return traced;
  }

  /** Writes what has been traced; whoever drives the engine goes on meanwhile. */
  synchronized Path write(Traced traced) throws IOException {
    Path file = RecordFiles.write(traced.directory, "trace-rank-" + rank, traced.record::writeTo);
    LOG.info("rank {}: the trace is in {}", rank, file);
    return file;
  }

  /** Does the same; an error is logged, because something else is to be told or done. */
  void tryToWrite(Traced traced) {
    try {
      write(traced);
    } catch (IOException e) {
      LOG.warn("rank {}: the trace cannot be written to {}", rank, traced.directory, e);
    }
  }
}
