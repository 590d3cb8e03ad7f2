package io.collectives;

import java.util.Objects;

/**
 * A reduction that measures another one: how many buffers it reduced, of how many bytes, and how
 * long that took. {@link BufferReduction#timed} makes it. {@link GradientReducer#report()} tells
 * the times of one step; this tells the totals of many.
 *
 * @since 0.2.0
 */
public final class TimedReduction implements BufferReduction {
  private final BufferReduction reduction;
  private Statistics.Totals totals = Statistics.Totals.NONE;

  TimedReduction(BufferReduction reduction) {
    this.reduction = Objects.requireNonNull(reduction, "reduction");
  }

  /**
   * Returns the totals of the reductions that have ended, from their begin to their end on this
   * rank; those under way at once count each by itself. The thread that ends a reduction counts it,
   * which may be a moment after another thread sees that it has ended.
   */
  public synchronized Statistics.Totals totals() {
    return totals;
  }

  private synchronized void ended(long bytes, boolean isFailed, long nanos) {
    totals = totals.plus(new Statistics.Totals(1, isFailed ? 1 : 0, bytes, nanos, nanos));
  }

  @Override
  public int lanes() {
    return reduction.lanes();
  }

  @Override
  public CollectiveHandle reduce(int index, Payload buffer, ReduceOp op) {
    long start = System.nanoTime();
    CollectiveHandle handle = reduction.reduce(index, buffer, op);
    long bytes = buffer.length();
    handle.whenComplete(
        (nothing, error) ->
            ended(bytes, error instanceof CollectiveException, System.nanoTime() - start));
    return handle;
  }

  @Override
  public void abort(String reason) {
    reduction.abort(reason);
  }

  @Override
  public BufferLength balancedLength(long modelLength) {
    return reduction.balancedLength(modelLength);
  }

  @Override
  public void close() {
    reduction.close();
  }

  @Override
  public String toString() {
    return reduction + ", timed";
  }
}
