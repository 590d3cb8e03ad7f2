package io.collectives;

/**
 * The operation by which a {@link GradientReducer} reduces its fusion buffers: it takes one buffer
 * of every rank, and tells when the sum has arrived. {@link #allReduce} makes one; the parameter
 * servers of the module collectives-ps are another.
 *
 * <p><b>Order.</b> A reduction says how many <em>lanes</em> it has. Buffer i is in lane {@code i %
 * lanes()}. The buffers of one lane are given to it in the same order on all ranks, each after the
 * one before it has ended on this rank. Between lanes there is no order: one rank may begin with
 * lane 1 while another begins with lane 0, and a rank may have no more to give to a lane until
 * others have made progress in another, so lanes must not wait for each other. With {@link
 * Integer#MAX_VALUE} lanes every buffer has a lane of its own, and its reduction starts as soon as
 * the buffer is complete.
 *
 * <p><b>Threads.</b> Any thread may call any method, at most one at a time for a lane.
 */
public interface BufferReduction extends AutoCloseable {

  /**
   * The most lanes that the reductions of this library have; each is a group of its own.
   *
   * @since 0.2.0
   */
  int MOST_LANES = 64;

  /**
   * Makes a reduction that all-reduces each buffer in place by the group's algorithm.
   *
   * <p>Each lane is a group of its own, with the group's ranks and settings, so that its calls have
   * an order of their own. It needs the memory of one call under way for each lane; see {@link
   * Communicator}.
   *
   * <p>If the group's wire type is {@link WireType#INT8}, the rounding error of a buffer of float32
   * elements in one step is added in the next ({@linkplain Communicator#allReduce(Payload, Payload,
   * ReduceOp, Payload) error feedback}), unless the group insists on {@link Algorithm#exchange} or
   * on sums in rank order or exact ({@link Repeatability}). That takes 4 bytes of memory for each
   * element, zeros at first and again when the op or the length of the buffer changes.
   *
   * @param group the ranks; all of them call this method, in the same order as they make other
   *     groups; if the group {@linkplain Communicator#checkingFinite() checks} its numbers, so do
   *     the reductions
   * @param lanes the number of calls that may be under way at once, from 1 to {@value #MOST_LANES},
   *     the same on all ranks
   */
  static BufferReduction allReduce(Communicator group, int lanes) {
    return new AllReduceLanes(group, lanes);
  }

  /**
   * Makes a reduction that does nothing: every rank keeps its own gradients, and no byte moves. A
   * step with it takes as long as one whose sums are hidden completely, which is the most that
   * overlap can bring; the ranks' models drift apart, so it is for measuring only ({@code
   * noop_hook} in PyTorch).
   *
   * @since 0.2.0
   */
  static BufferReduction noop() {
    return new NoopReduction();
  }

  /**
   * Makes a reduction that measures another one.
   *
   * @param reduction the operation to measure; it is closed with the one that is returned
   * @since 0.2.0
   */
  static TimedReduction timed(BufferReduction reduction) {
    return new TimedReduction(reduction);
  }

  /** Returns the number of buffers that may be under way at once, at least 1. */
  int lanes();

  /**
   * Starts to reduce a buffer in place and returns at once.
   *
   * @param index the index of the buffer, from 0, the same in every step; its lane is {@code index
   *     % lanes()}
   * @param buffer elements of one type; the same object in every step, unless memory has been
   *     replaced
   * @param op {@link ReduceOp#SUM} or {@link ReduceOp#AVERAGE}, the same on all ranks
   * @return a handle that ends normally when this rank has the result, or with a {@link
   *     CollectiveException}, by the deadline at the latest. A {@link NonFiniteException} says that
   *     the result is there, but is not finite: all ranks get the same, and the next buffer of the
   *     lane may follow
   */
  CollectiveHandle reduce(int index, Payload buffer, ReduceOp op);

  /**
   * Breaks all lanes on all ranks: every reduction that is under way or is started later ends with
   * an {@link AbortedException} that contains the reason. A lane that is broken already stays as it
   * is.
   */
  void abort(String reason);

  /**
   * Returns the length of {@linkplain FusionSettings#balanced() balanced} buffers when the settings
   * do not set one. It depends on the model alone, so it is the same on all ranks.
   *
   * @param modelLength the bytes of all tensors
   */
  default BufferLength balancedLength(long modelLength) {
    return new BufferLength(
        FusionSettings.defaults().bufferLength(), "as long as buffers are that are not balanced");
  }

  /**
   * The length of fusion buffers.
   *
   * @param bytes the number of bytes, at least 1
   * @param reason the reason for this length, for people
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

  /** Frees all resources. Closing again does nothing. */
  @Override
  void close();
}
