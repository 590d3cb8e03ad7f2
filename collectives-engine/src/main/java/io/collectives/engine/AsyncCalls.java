package io.collectives.engine;

import io.collectives.CollectiveHandle;
import io.collectives.NumberedReduction;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Calls that return at once. */
final class AsyncCalls extends HandledCalls<CollectiveHandle> implements NumberedReduction {
  private final GroupContext context;
  private final Submitter submitter;

  AsyncCalls(GroupContext context, Submitter submitter) {
    super(context, submitter);
    this.context = context;
    this.submitter = submitter;
  }

  @Override
  CollectiveHandle submit(
      GroupContext by, Consumer<Handle> submission, @Nullable Payload... payloads) {
    boolean hasTypes = payloads.length > 0 && payloads[0] instanceof Payload.OfTensors;
    int calls = hasTypes ? ((Payload.OfTensors) payloads[0]).byType().size() : 1;
    AsyncHandle handle = new AsyncHandle(context.driver, by.group, calls);
    submission.accept(handle);
    return handle;
  }

  @Override
  public CollectiveHandle allReduce(
      Payload input, Payload output, ReduceOp op, Payload residual, int number) {
    Objects.requireNonNull(residual, "residual");
    Shapes.oneType(input);
    if (number < 1) {
      throw new IllegalArgumentException("buffer number " + number + ": must be at least 1");
    }
    return submit(
        context, handle -> submitter.allReduce(input, output, op, residual, number, handle), input);
  }
}
