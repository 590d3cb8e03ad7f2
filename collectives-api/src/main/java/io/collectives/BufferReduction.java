package io.collectives;

/**
 * What a {@link GradientReducer} gives its fusion buffers to: takes a buffer of every rank, and
 * tells when the sum is there. {@link #allReduce} is one; the parameter servers of the module
 * collectives-ps are another.
 *
 * <p><b>Order.</b> A reduction says how many <em>lanes</em> it has. Buffer i is in lane {@code i %
 * lanes()}. The buffers of one lane are given to it in the same order on all ranks, each after the
 * one before it has ended on this rank. Between lanes there is no order: one rank may begin with
 * lane 1 while another begins with lane 0, and a rank may have no more to give to a lane until
 * others have made progress in another, so lanes must not wait for each other. With {@link
 * Integer#MAX_VALUE} lanes every buffer has its own, and is given as soon as it is complete.
 *
 * <p><b>Threads.</b> Any thread may call any method, at most one at a time for a lane.
 */
public interface BufferReduction extends AutoCloseable {

  /**
   * Each buffer is an all-reduce in place by the group's own algorithm.
   *
   * <p>Each lane is a group of its own, with the group's ranks and settings, so that its calls have
   * an order of their own. It needs as much memory as a call of each lane that is under way does;
   * see {@link Communicator}.
   *
   * <p>If the group's wire type is {@link WireType#INT8}, what rounding takes from a buffer of
   * float32 elements in one step is added in the next ({@linkplain Communicator#allReduce(Payload,
   * Payload, ReduceOp, Payload) error feedback}), unless the group insists on {@link
   * Algorithm#exchange} or on sums in rank order or exact ({@link Repeatability}). That takes 4
   * bytes of memory for each element, zeros at first and again when the op or the length of the
   * buffer changes.
   *
   * @param group called by all of its ranks, at the same place among the groups that they make; if
   *     it is {@linkplain Communicator#checkingFinite() checking}, so are the reductions
   * @param lanes the same on all ranks, from 1 to 8: how many calls are under way at once
   */
  static BufferReduction allReduce(Communicator group, int lanes) {
    return new AllReduceLanes(group, lanes);
  }

  /** How many buffers may be under way at once, at least 1. */
  int lanes();

  /**
   * Starts to reduce a buffer in place and returns at once.
   *
   * @param index of the buffer, from 0, the same in every step; its lane is {@code index % lanes()}
   * @param buffer of one type; the same description in every step, unless memory has been replaced
   * @param op {@link ReduceOp#SUM} or {@link ReduceOp#AVERAGE}, the same on all ranks
   * @return ends normally when this rank has the result, with a {@link CollectiveException}
   *     otherwise, by its deadline. A {@link NonFiniteException} says that the result is there, but
   *     is not finite: all ranks get the same, and the next buffer of the lane may follow
   */
  CollectiveHandle reduce(int index, Payload buffer, ReduceOp op);

  /**
   * Breaks all lanes on all ranks: what is under way and whatever is begun later ends with an
   * {@link AbortedException} that contains the reason. A lane that is broken already stays as it
   * is.
   */
  void abort(String reason);

  /**
   * How long the buffers are to be that all ranks have {@linkplain FusionSettings#balanced() cut
   * alike}, unless the settings say it: a function of the model alone, the same on all ranks.
   *
   * @param modelLength the bytes of all tensors
   */
  default BufferLength balancedLength(long modelLength) {
    return new BufferLength(25 << 20, "as long as buffers are that are not balanced");
  }

  /**
   * How long fusion buffers are.
   *
   * @param bytes at least 1
   * @param reason for people
   */
  record BufferLength(int bytes, String reason) {
    /** Checks the length. */
    public BufferLength {
      if (bytes < 1) {
        throw new IllegalArgumentException(
            "fusion buffers of " + bytes + " bytes: must be at least 1");
      }
    }
  }

  /** Frees what this holds. Closing again does nothing. */
  @Override
  void close();
}
