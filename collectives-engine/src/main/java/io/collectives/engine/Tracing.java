package io.collectives.engine;

import io.collectives.engine.run.Engine;
import io.collectives.engine.run.TraceLog;
import io.collectives.internal.Log;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The tracing of a rank: it is on or off, and may have a directory to write to. All but {@link
 * #write} is to be called by whoever drives the engine.
 */
final class Tracing {
  private static final Log LOG = Log.of(Tracing.class);

  private final Engine engine;
  private final int rank;
  private boolean isOn;
  private @Nullable Path directory;
  private @Nullable GcPauses pauses;

  Tracing(Engine engine, int rank) {
    this.engine = engine;
    this.rank = rank;
  }

  /**
   * A trace to be written.
   *
   * @param directory where to; nowhere if another process has asked for it
   */
  record Traced(@Nullable Path directory, TraceLog.Record record) {}

  /**
   * Begins.
   *
   * @param into where the trace is written to; nothing if another process has asked for it
   * @throws IllegalStateException if this rank is traced already
   */
  void begin(@Nullable Path into) {
    if (isOn) {
      throw new IllegalStateException(
          "rank "
              + rank
              + " is traced already, "
              + (directory == null ? "for bin/collectives status" : "into " + directory)
              + "; end that trace before another one begins");
    }
    isOn = true;
    directory = into;
    engine.beginTrace();
    pauses = new GcPauses(engine.trace());
  }

  /** Returns what has been traced so far, nothing if this rank is not traced. */
  @Nullable Traced soFar() {
    return isOn ? new Traced(directory, engine.traced()) : null;
  }

  /** Ends. Returns what has been traced, nothing if this rank is not. */
  @Nullable Traced end() {
    Traced traced = soFar();
    if (traced != null) {
      isOn = false;
      directory = null;
      Objects.requireNonNull(pauses).close();
      pauses = null;
      engine.endTrace();
    }
    return traced;
  }

  /**
   * Writes what has been traced, if that is to be written; whoever drives the engine goes on
   * meanwhile.
   */
  synchronized void write(Traced traced) throws IOException {
    if (traced.directory != null) {
      Path file = RecordFiles.write(traced.directory, "trace-rank-" + rank, traced.record::writeTo);
      LOG.info("rank {}: the trace is in {}", rank, file);
    }
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
