package io.collectives.engine;

import io.collectives.Trace;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.atomic.AtomicBoolean;

/** The user's end of a trace, which writes it when it is closed. */
final class RunningTrace implements Trace {
  private final Driver driver;
  private final Tracing tracing;
  private final AtomicBoolean ended = new AtomicBoolean();

  RunningTrace(Driver driver, Tracing tracing) {
    this.driver = driver;
    this.tracing = tracing;
  }

  @Override
  public void close() {
    if (ended.getAndSet(true)) {
      return;
    }
    Tracing.Traced traced = driver.endTrace();
    if (traced != null) {
      try {
        tracing.write(traced);
      } catch (IOException e) {
        throw new UncheckedIOException(
            "rank " + driver.rank() + ": the trace cannot be written to " + traced.directory(), e);
      }
    }
  }
}
