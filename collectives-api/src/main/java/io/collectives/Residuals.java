package io.collectives;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The rounding errors of a narrow {@link WireType} in buffers, for a {@link BufferReduction} that
 * adds them in the next step. They are kept as one residual for each buffer, as {@link
 * Communicator#allReduce(Payload, Payload, ReduceOp, Payload)} needs it; it is made at the first
 * request.
 *
 * <p>A residual takes 4 bytes of memory for each element. Any thread may call the methods.
 */
public final class Residuals {
  /** The largest number of elements of an array. */
  private static final int LONGEST = 1 << 28;

  private final Map<Integer, Residual> byIndex = new HashMap<>();

  /** Makes an empty collection of residuals. */
  public Residuals() {}

  /** The residual of a buffer, in the unit of an op. */
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
   * Returns the residual of a buffer: the one of the last call, or zeros if there is none or if the
   * buffer is now reduced by another op or has another length.
   *
   * @param index the index of the buffer
   * @param count its number of elements
   * @param op the op by which it is reduced
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
