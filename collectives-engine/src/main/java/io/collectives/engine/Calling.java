package io.collectives.engine;

import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.NonFiniteException;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.run.Call;
import io.collectives.engine.run.Program;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** How calls of a group get to its engine, and how they are waited for. Any thread may call. */
final class Calling {
  private final Seat seat;
  private final CallSettings settings;
  private final Programs programs;
  private final long timeoutNanos;

  Calling(Seat seat, CallSettings settings, Programs programs) {
    this.seat = seat;
    this.settings = settings;
    this.programs = programs;
    this.timeoutNanos = settings.timeout().toNanos();
  }

  /** Waits for a call. */
  void finish(Call call) {
    seat.driver.finish(call);
  }

  /** Waits for all calls of a batch, whatever becomes of any: till then memory is the library's. */
  void finish(Batch batch) {
    RuntimeException error = null;
    for (int i = 0; i < batch.size; i++) {
      try {
        finish(Objects.requireNonNull(batch.calls[i]));
      } catch (CollectiveException | NonFiniteException e) {
        error = Batch.graver(error, e);
      }
    }
    seat.giveBack(batch);
    if (error != null) {
      throw error;
    }
  }

  /** Makes a call of a group asynchronous. */
  CollectiveHandle start(Seat group, Consumer<Handle> submission) {
    AsyncHandle handle = new AsyncHandle(seat.driver, group.group, 1);
    submission.accept(handle);
    return handle;
  }

  /** Makes the calls for the types of a payload asynchronous. */
  CollectiveHandle start(Payload.OfTensors payload, Consumer<Handle> submission) {
    AsyncHandle handle = new AsyncHandle(seat.driver, seat.group, payload.byType().size());
    submission.accept(handle);
    return handle;
  }

  /** Makes a call of a group persistent. */
  PersistentCall prepare(Seat group, Consumer<Handle> submission, @Nullable Payload... payloads) {
    for (Payload payload : payloads) {
      if (payload instanceof Payload.OfTensors several) {
        throw new IllegalArgumentException(
            "a persistent call of a payload of "
                + several.types()
                + " elements: it takes one type; prepare a call for each of byType()");
      }
    }
    PreparedCall prepared = new PreparedCall(seat.driver, group.group, timeoutNanos, payloads);
    submission.accept(prepared);
    return prepared;
  }

  /** Submits a call of the group itself. */
  Call submit(Program program, Memory input, Memory output, ReduceOp op, @Nullable Handle handle) {
    return submit(seat, program, input, output, null, null, op, null, handle);
  }

  /** Submits a call of a group, or of a pair of its ranks. */
  Call submit(
      Seat by,
      Program program,
      Memory input,
      Memory output,
      long @Nullable [] counts,
      long @Nullable [] receiveCounts,
      ReduceOp op,
      @Nullable Memory residual,
      @Nullable Handle handle) {
    return submit(by, program, input, output, counts, receiveCounts, 0, 0, op, residual, handle);
  }

  /** Submits calls that have consecutive numbers, whatever other threads submit. */
  Batch submit(Seat by, Batch batch, ReduceOp op, @Nullable Handle handle) {
    Driver driver = seat.driver;
    driver.lock();
    try {
      for (int i = 0; i < batch.size; i++) {
        batch.calls[i] =
            submit(
                by,
                Objects.requireNonNull(batch.programs[i]),
                Objects.requireNonNull(batch.inputs[i]),
                Objects.requireNonNull(batch.outputs[i]),
                null,
                null,
                batch.size - 1 - i,
                0,
                op,
                batch.residuals[i],
                handle);
      }
    } finally {
      driver.unlock();
    }
    if (handle != null) {
      seat.giveBack(batch);
    }
    return batch;
  }

  /**
   * Submits a call. It is prepared only if the handle is that of a persistent call; else it is
   * started, and asynchronous if there is a handle.
   *
   * @param typesToCome how many calls for other types of the same payload follow
   * @param number of the buffer whose sums a server keeps residuals for; 0 if it has none
   */
  Call submit(
      Seat by,
      Program program,
      Memory input,
      Memory output,
      long @Nullable [] counts,
      long @Nullable [] receiveCounts,
      int typesToCome,
      int number,
      ReduceOp op,
      @Nullable Memory residual,
      @Nullable Handle handle) {
    Objects.requireNonNull(op, "op");
    Driver driver = seat.driver;
    driver.lock();
    try {
      Call call =
          driver
              .engine()
              .prepare(
                  handle instanceof PreparedCall,
                  by.group,
                  program,
                  input,
                  output,
                  counts,
                  receiveCounts,
                  typesToCome,
                  op,
                  settings.wireType(),
                  settings.repeatability(),
                  residual,
                  settings.finiteCheck(),
                  programs.frameLength(program, output.count() * output.type().bytes()),
                  settings.slabsInFlight());
      if (number > 0) {
        call.numbered(number);
      }
      if (handle instanceof PreparedCall prepared) {
        prepared.describedBy(call);
        return call;
      }
      driver.engine().start(call, timeoutNanos, handle);
      if (handle != null) {
        driver.submittedAsynchronous();
      }
      return call;
    } finally {
      driver.unlock();
    }
  }
}
