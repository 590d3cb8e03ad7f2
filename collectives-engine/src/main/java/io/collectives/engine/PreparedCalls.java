package io.collectives.engine;

import io.collectives.Payload;
import io.collectives.PersistentCall;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Calls that are prepared once and made many times. */
final class PreparedCalls extends HandledCalls<PersistentCall> {
  private final GroupContext context;
  private final long timeoutNanos;

  PreparedCalls(GroupContext context, Submitter submitter) {
    super(context, submitter);
    this.context = context;
    this.timeoutNanos = submitter.options().timeoutNanos();
  }

  @Override
  PersistentCall submit(
      GroupContext by, Consumer<Handle> submission, @Nullable Payload... payloads) {
    for (Payload payload : payloads) {
      if (payload instanceof Payload.OfTensors several) {
        throw new IllegalArgumentException(
            "a persistent call of a payload of "
                + several.types()
                + " elements: it takes one type; prepare a call for each of byType()");
      }
    }
    PreparedCall prepared = new PreparedCall(context.driver, by.group, timeoutNanos, payloads);
    submission.accept(prepared);
    return prepared;
  }
}
