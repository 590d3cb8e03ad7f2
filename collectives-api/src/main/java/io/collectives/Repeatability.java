package io.collectives;

/**
 * The facts on which the bits of a reduction may depend; see {@link CallSettings#repeatability}.
 * The choice matters to all-reduce, reduce and reduce-scatter of floating-point numbers by {@link
 * ReduceOp#SUM}, {@link ReduceOp#AVERAGE} or {@link ReduceOp#PRODUCT}, whose result depends on the
 * order of the operations; integers, {@link ReduceOp#MIN} and {@link ReduceOp#MAX} give the same
 * result in every order, and run in the usual way (with {@link #ARRIVAL_ORDER} they, too, are
 * combined in the order of arrival).
 *
 * <p>{@link #RANK_ORDER} and {@link #EXACT} need all contributions to an element at one rank at
 * once. {@link Algorithm#exchange}, {@link Algorithm#direct} and {@link Algorithm#parameterServer}
 * bring them together, {@link Algorithm#auto} chooses among the first two, or all three if it was
 * tuned; an algorithm that passes on partial sums is an {@link IllegalArgumentException}. {@link
 * WireType#INT8} is an {@code IllegalArgumentException}, too, because its frame length decides
 * which elements share an exponent.
 *
 * <p>Over another narrow {@link WireType} every contribution is rounded to that type before it is
 * added, including that of the rank which adds it; so {@link #EXACT} is exact for the rounded
 * contributions. The result of an all-reduce or reduce is rounded once more when it is sent back;
 * the result of a reduce-scatter is not.
 */
public enum Repeatability {
  /**
   * Contributions are combined in the order in which they arrive, where a plan brings several to
   * one rank at once: at the servers of {@link Algorithm#parameterServer}, at the owners of {@link
   * Algorithm#direct}. The bits may differ from run to run; in one call all ranks get the same
   * bits, as one rank computes each sum. No contribution waits for that of a slower rank, and no
   * server keeps it: each is added as soon as its frame is complete. Ranks that share memory add
   * them one by one, too, and not in one pass.
   *
   * <p>{@link Algorithm#exchange}, where every rank computes the sum, and a {@link UserOp} that is
   * not commutative keep the order of ranks.
   */
  ARRIVAL_ORDER("arrival-order"),
  /**
   * The fastest algorithm is used: the bits depend on the inputs, the algorithm and the number of
   * ranks, not on the transport, nor on the run.
   */
  FASTEST("fastest"),
  /**
   * The result is {@code ((x0 + x1) + x2) + …}, one operation after the other in the order of ranks
   * in the arithmetic of the element type: the bits depend on the inputs and their order only,
   * whatever the algorithm, transport, layout of buffers and frame length.
   */
  RANK_ORDER("rank-order"),
  /**
   * The result is the exact sum of all contributions, for AVERAGE divided by the number of ranks,
   * rounded once, to the nearest number, of two equally near ones to the even one. The bits depend
   * on the inputs only, and not on which rank has which input. A product of floating-point numbers,
   * and a {@link UserOp}, are an {@link IllegalArgumentException}.
   *
   * <p>The result is infinite if it rounds beyond the greatest number, however great the partial
   * sums would have been, and zero only if it is zero: +0, or −0 if all contributions are −0. If an
   * input is NaN, or there are infinities of both signs, the result is {@link Float#NaN}, {@link
   * Double#NaN} or the nearest 16-bit number to it.
   */
  EXACT("exact");

  private final String label;

  Repeatability(String label) {
    this.label = label;
  }

  /** Returns whether all contributions to an element must be at one rank at once. */
  public boolean needsAllAtOnce() {
    return this == RANK_ORDER || this == EXACT;
  }

  /** Returns the name in tables, on the command line and in errors, such as {@code rank-order}. */
  @Override
  public String toString() {
    return label;
  }
}
