package io.collectives;

/**
 * What the bits of a reduction may depend on; see {@link CallSettings#repeatability}. It matters to
 * all-reduce, reduce and reduce-scatter of floating-point numbers by {@link ReduceOp#SUM}, {@link
 * ReduceOp#AVERAGE} or {@link ReduceOp#PRODUCT}, whose result depends on the order of the
 * operations; integers, {@link ReduceOp#MIN} and {@link ReduceOp#MAX} are the same in every order,
 * and run as they always do (by {@link #ARRIVAL_ORDER} as contributions come, too).
 *
 * <p>{@link #RANK_ORDER} and {@link #EXACT} need all contributions to an element at one rank at
 * once. {@link Algorithm#exchange}, {@link Algorithm#direct} and {@link Algorithm#parameterServer}
 * bring them together, {@link Algorithm#auto} chooses among the first two, or all three if it was
 * tuned; an algorithm that passes partial sums on is an {@link IllegalArgumentException}. {@link
 * WireType#INT8} is one, too, because there the frame length decides which elements share an
 * exponent.
 *
 * <p>Over another narrow {@link WireType} every contribution is rounded to that type before it is
 * taken, that of the rank which takes it included; so {@link #EXACT} is exact for the rounded
 * contributions. The result of an all-reduce or reduce is rounded once more on its way back, that
 * of a reduce-scatter is not.
 */
public enum Repeatability {
  /**
   * In the order in which contributions arrive, where a plan brings several to one rank at once: at
   * the servers of {@link Algorithm#parameterServer}, at the owners of {@link Algorithm#direct}.
   * The bits may differ from run to run; in one call all ranks get the same, as one rank takes each
   * sum. Nobody's contribution waits for that of a slower rank, nor does a server hold it: each is
   * added as soon as all of its frame is here. Ranks that share memory take them one by one, too,
   * not in one pass.
   *
   * <p>An {@link Algorithm#exchange}, where every rank takes the sum, and a {@link UserOp} that is
   * not commutative stay in the order of ranks.
   */
  ARRIVAL_ORDER("arrival-order"),
  /**
   * What the fastest algorithm gives: the bits depend on the inputs, the algorithm and the number
   * of ranks, not on the transport, nor on the run.
   */
  FASTEST("fastest"),
  /**
   * {@code ((x0 + x1) + x2) + …}, one operation after the other in the order of ranks in the
   * arithmetic of the element type: the bits depend on the inputs and their order only, whatever
   * the algorithm, transport, layout of buffers and frame length.
   */
  RANK_ORDER("rank-order"),
  /**
   * The sum of all contributions, for AVERAGE divided by the number of ranks, rounded once, to the
   * nearest, of two equally near ones to the even: the bits depend on the inputs only, not even on
   * which rank has which. A product of floating-point numbers, and a {@link UserOp}, are an {@link
   * IllegalArgumentException}.
   *
   * <p>The result is infinite if it rounds beyond the greatest number, however great the partial
   * sums would have been, and zero only if it is zero: +0, or −0 if all contributions are −0. NaN,
   * or infinities of both signs, make it the one NaN of {@link Float#NaN}, {@link Double#NaN} or
   * the nearest 16-bit number to it.
   */
  EXACT("exact");

  private final String label;

  Repeatability(String label) {
    this.label = label;
  }

  /** Whether all contributions to an element must be at one rank at once. */
  public boolean needsAllAtOnce() {
    return this == RANK_ORDER || this == EXACT;
  }

  /** The name in tables, on the command line and in errors, as {@code rank-order}. */
  @Override
  public String toString() {
    return label;
  }
}
