package io.collectives;

/**
 * The type to which the elements of a reduction are converted for sending; see {@link
 * CallSettings#wireType}. It matters to reductions of {@link ElementType#FLOAT32} only: all-reduce,
 * reduce and reduce-scatter. All other payloads are sent as they are in memory.
 *
 * <p>With a narrow wire type each number that leaves a rank is rounded to the nearest number of the
 * type, of two equally near ones to the even one, and becomes {@code float32} again where it
 * arrives; sums are computed and kept in {@code float32}. NaN stays NaN, infinities stay infinite,
 * and numbers beyond the greatest of the type become infinite. A plan that passes a sum from rank
 * to rank, as a ring does, rounds it at each rank; {@link Algorithm#direct} rounds each
 * contribution once and the sum once, {@link Algorithm#exchange} rounds each contribution once,
 * including that of the rank itself. The rank that completes the sum of an all-reduce rounds its
 * own copy, too, so that all ranks end with the same bits; where only one rank gets the result, the
 * result is rounded only if another rank has completed it.
 *
 * <p>The bits of a result depend on the plan, the type, the wire type and the number of ranks, and
 * on nothing else. So ranks that share memory round as well, although they send nothing over a
 * link; a narrow wire type does not make them faster, but gives them the same bits as over TCP.
 */
public enum WireType {
  /** Elements are sent as they are in memory. */
  AS_IN_MEMORY("as-in-memory"),
  /**
   * Elements take half the bytes, with the range of {@code float32} and 8 significant bits; see
   * {@link Bfloat16}.
   */
  BFLOAT16("bfloat16"),
  /**
   * Elements take half the bytes, with 11 significant bits and magnitudes up to 65,504; see {@link
   * Float16}.
   */
  FLOAT16("float16"),
  /**
   * Elements take a quarter of the bytes with {@link ReduceOp#SUM} and {@link ReduceOp#AVERAGE};
   * with other operations they are sent as they are. Each group of up to 256 elements shares a
   * power of two, the least with which the greatest magnitude fits: its elements become multiples
   * of it, from -127 to 127 times. So an element 100 times smaller than the greatest keeps one
   * digit, and one 300 times smaller keeps none. Use it with a residual ({@link
   * Communicator#allReduce(Payload, Payload, ReduceOp, Payload)}) and, because a ring would round a
   * sum again and again, with {@link Algorithm#direct}.
   *
   * <p>A group of elements that contains NaN, an infinity, or a magnitude above 127 times
   * 2<sup>121</sup>, arrives as NaN, all of it. The frame length decides which elements share a
   * power of two, so the bits depend on it.
   */
  INT8("int8");

  private final String label;

  WireType(String label) {
    this.label = label;
  }

  /** Returns the name in tables, on the command line and in errors, such as {@code bfloat16}. */
  @Override
  public String toString() {
    return label;
  }
}
