package io.collectives;

/**
 * As what the elements of a reduction cross the links; see {@link CallSettings#wireType}. It
 * matters to reductions of {@link ElementType#FLOAT32} only: all-reduce, reduce and reduce-scatter.
 * All other payloads cross as they are in memory.
 *
 * <p>With a narrow wire type each number that leaves a rank is rounded to the nearest that the type
 * has, of two equally near ones to the even, and becomes {@code float32} again where it arrives;
 * sums are taken and kept in {@code float32}. NaN stays NaN and infinities stay infinite, and what
 * is beyond the greatest number of the type becomes infinite. A plan that passes a sum on from rank
 * to rank, as a ring does, rounds it at each; {@link Algorithm#direct} rounds each contribution
 * once and the sum once, {@link Algorithm#exchange} each contribution once, that of the rank itself
 * included. The rank that completes an all-reduced sum rounds its own copy, too, so that all ranks
 * end with the same bits; where only one rank gets the result it is rounded only if another one has
 * completed it.
 *
 * <p>The bits of a result depend on the plan, the type, the wire type and the number of ranks, and
 * on nothing else. So ranks that share memory round as well, although there is no link to spare;
 * they gain nothing by a narrow wire type, but get what they would get over TCP.
 */
public enum WireType {
  /** As they are in memory. */
  AS_IN_MEMORY("as-in-memory"),
  /** Half the bytes: the range of {@code float32} with 8 significant bits; see {@link Bfloat16}. */
  BFLOAT16("bfloat16"),
  /** Half the bytes: 11 significant bits, up to 65,504; see {@link Float16}. */
  FLOAT16("float16"),
  /**
   * A quarter of the bytes, for {@link ReduceOp#SUM} and {@link ReduceOp#AVERAGE}; other operations
   * cross as they are. Of each 256 elements or fewer, all are multiples of one power of two from
   * -127 to 127, which is the least that fits the greatest of them: so what is 100 times smaller
   * than that has one digit left, and what is 300 times smaller none. To be used with a residual
   * ({@link Communicator#allReduce(Payload, Payload, ReduceOp, Payload)}) and, because a ring would
   * round a sum again and again, with {@link Algorithm#direct}.
   *
   * <p>A group of elements with NaN or an infinity among them arrives as NaN, all of it, and so do
   * magnitudes above 127 times 2<sup>121</sup>. Which elements share a power of two depends on the
   * frame length, so bits do, too.
   */
  INT8("int8");

  private final String label;

  WireType(String label) {
    this.label = label;
  }

  /** The name in tables, on the command line and in errors, as {@code bfloat16}. */
  @Override
  public String toString() {
    return label;
  }
}
