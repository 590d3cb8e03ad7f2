package io.collectives.engine;

import io.collectives.Payload;
import io.collectives.PersistentCall;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Calls that are prepared once and made many times. */
final class PreparedCalls extends HandledCalls<PersistentCall> {
  private final Seat seat;
  private final long timeoutNanos;

  PreparedCalls(Seat seat, Submitter submitter) {
    super(seat, submitter);
    this.seat = seat;
    this.timeoutNanos = submitter.options().timeoutNanos();
  }

  @Override
  PersistentCall submit(Seat by, Consumer<Handle> submission, @Nullable Payload... payloads) {
    for (Payload payload : payloads) {
      if (payload instanceof Payload.OfTensors several) {
        throw new IllegalArgumentException(
            "a persistent call of a payload of "
                + several.types()
                + " elements: it takes one type; prepare a call for each of byType()");
      }
    }
    PreparedCall prepared = new PreparedCall(seat.driver, by.group, timeoutNanos, payloads);
    submission.accept(prepared);
    return prepared;
  }
}
