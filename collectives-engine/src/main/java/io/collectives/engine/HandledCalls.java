package io.collectives.engine;

import io.collectives.Calls;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Calls that are submitted with a handle, which is what they give. Any thread may call.
 *
 * @param <R> what the user gets
 */
abstract class HandledCalls<R> implements Calls<R> {
  private final GroupContext context;
  private final Submitter submitter;

  HandledCalls(GroupContext context, Submitter submitter) {
    this.context = context;
    this.submitter = submitter;
  }

  /**
   * Submits a call.
   *
   * @param by the group of the call, or a pair of its ranks
   * @param submission to be called once, with the handle
   * @param payloads of the call, and nothing; the first that is there has the types of the call
   */
  abstract R submit(GroupContext by, Consumer<Handle> submission, @Nullable Payload... payloads);

  @Override
  public R allReduce(Payload input, Payload output, ReduceOp op) {
    return submit(
        context, handle -> submitter.allReduce(input, output, op, null, 0, handle), input, output);
  }

  @Override
  public R allReduce(Payload input, Payload output, ReduceOp op, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    return submit(
        context,
        handle -> submitter.allReduce(input, output, op, residual, 0, handle),
        input,
        output,
        residual);
  }

  @Override
  public R broadcast(Payload buffer, int root) {
    return submit(context, handle -> submitter.broadcast(buffer, root, handle), buffer);
  }

  @Override
  public R reduce(Payload input, @Nullable Payload output, ReduceOp op, int root) {
    return submit(
        context, handle -> submitter.reduce(input, output, op, root, null, handle), input, output);
  }

  @Override
  public R reduce(
      Payload input, @Nullable Payload output, ReduceOp op, int root, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    return submit(
        context,
        handle -> submitter.reduce(input, output, op, root, residual, handle),
        input,
        output,
        residual);
  }

  @Override
  public R reduceScatter(Payload input, Payload output, ReduceOp op) {
    return submit(
        context,
        handle -> submitter.reduceScatter(input, output, null, op, null, handle),
        input,
        output);
  }

  @Override
  public R reduceScatter(Payload input, Payload output, ReduceOp op, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    return submit(
        context,
        handle -> submitter.reduceScatter(input, output, null, op, residual, handle),
        input,
        output,
        residual);
  }

  @Override
  public R reduceScatter(Payload input, Payload output, long[] counts, ReduceOp op) {
    Objects.requireNonNull(counts, "counts");
    return submit(
        context,
        handle -> submitter.reduceScatter(input, output, counts, op, null, handle),
        input,
        output);
  }

  @Override
  public R allGather(Payload part, Payload all) {
    return submit(context, handle -> submitter.allGather(part, all, null, handle), part, all);
  }

  @Override
  public R allGather(Payload part, Payload all, long[] counts) {
    Objects.requireNonNull(counts, "counts");
    return submit(context, handle -> submitter.allGather(part, all, counts, handle), part, all);
  }

  @Override
  public R gather(Payload part, @Nullable Payload all, int root) {
    return submit(context, handle -> submitter.gather(part, all, null, root, handle), part, all);
  }

  @Override
  public R gather(Payload part, @Nullable Payload all, long[] counts, int root) {
    Objects.requireNonNull(counts, "counts");
    return submit(context, handle -> submitter.gather(part, all, counts, root, handle), part, all);
  }

  @Override
  public R scatter(@Nullable Payload all, Payload part, int root) {
    return submit(context, handle -> submitter.scatter(all, part, null, root, handle), part, all);
  }

  @Override
  public R scatter(@Nullable Payload all, Payload part, long[] counts, int root) {
    Objects.requireNonNull(counts, "counts");
    return submit(context, handle -> submitter.scatter(all, part, counts, root, handle), part, all);
  }

  @Override
  public R allToAll(Payload input, Payload output) {
    return submit(context, handle -> submitter.allToAll(input, output, handle), input, output);
  }

  @Override
  public R allToAll(Payload input, long[] sendCounts, Payload output, long[] receiveCounts) {
    return submit(
        context,
        handle -> submitter.allToAll(input, sendCounts, output, receiveCounts, handle),
        input,
        output);
  }

  @Override
  public R send(Payload payload, int to) {
    GroupContext pair = context.pair(context.group.rank(), to);
    return submit(pair, handle -> submitter.pass(payload, pair, false, handle), payload);
  }

  @Override
  public R receive(Payload payload, int from) {
    GroupContext pair = context.pair(from, context.group.rank());
    return submit(pair, handle -> submitter.pass(payload, pair, true, handle), payload);
  }

  @Override
  public R barrier() {
    return submit(context, submitter::barrier);
  }
}
