package io.collectives;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What rounding to a narrow {@link WireType} has taken from buffers, for a {@link BufferReduction}
 * that adds it in their next step: a residual for each buffer, as {@link
 * Communicator#allReduce(Payload, Payload, ReduceOp, Payload)} wants it, made when it is first
 * asked for.
 *
 * <p>Memory: 4 bytes for each element. Any thread may call it.
 */
public final class Residuals {
  /** The most elements of an array. */
  private static final int LONGEST = 1 << 28;

  private final Map<Integer, Residual> byIndex = new HashMap<>();

  /** None yet. */
  public Residuals() {}

  /** What a buffer has lost, in the unit of an op. */
  private record Residual(Payload payload, ReduceOp op) {
    static Residual ofZeros(long count, ReduceOp op) {
      List<Payload> parts = new ArrayList<>();
      for (long left = count; left > 0; left -= LONGEST) {
        parts.add(Payload.of(new float[(int) Math.min(left, LONGEST)]));
      }
      return new Residual(parts.isEmpty() ? Payload.of(new float[0]) : Payload.of(parts), op);
    }
  }

  /**
   * The residual of a buffer: the same as last time, or zeros if there is none or if the buffer is
   * reduced by another op or has another length now.
   *
   * @param index of the buffer
   * @param count how many elements it has
   * @param op by which it is reduced
   */
  public synchronized Payload of(int index, long count, ReduceOp op) {
    Residual kept = byIndex.get(index);
    if (kept == null || kept.payload.count() != count || kept.op != op) {
      kept = Residual.ofZeros(count, op);
      byIndex.put(index, kept);
    }
    return kept.payload;
  }
}
