package io.collectives.engine;

import io.collectives.engine.run.Engine;
import io.collectives.internal.Log;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Writes a rank's flight record into a directory when a group has failed: before any caller gets
 * the exception, as that may be the last that this process does. One file for each rank, of the
 * last failure.
 */
final class FlightLog {
  private static final Log LOG = Log.of(FlightLog.class);

  private final Engine engine;
  private final int rank;
  private final @Nullable Path directory;
  private int written;

  /**
   * The log of a rank.
   *
   * @param directory where to write to; nothing is written if there is none
   */
  FlightLog(Engine engine, int rank, @Nullable Path directory) {
    this.engine = engine;
    this.rank = rank;
    this.directory = directory;
  }

  /** Returns whether a group has failed since {@link #news} was asked for last. */
  boolean hasNews() {
    return engine.failures() != written;
  }

  /**
   * Returns the text to be written, or null if no group has failed since this was asked last. To be
   * asked by the driver.
   */
  @Nullable String news() {
    boolean isNew = hasNews();
    written = engine.failures();
    return isNew && directory != null ? engine.flightRecord() : null;
  }

  /** Writes it. An error is logged: the failure that is written about must not be hidden by it. */
  synchronized void write(String text) {
    if (directory == null) {
      return;
    }
    try {
      Path file = RecordFiles.write(directory, "flight-rank-" + rank, out -> out.append(text));
      LOG.info("rank {}: the flight record is in {}", rank, file);
    } catch (IOException e) {
      LOG.warn("rank {}: the flight record cannot be written to {}", rank, directory, e);
    }
  }
}
