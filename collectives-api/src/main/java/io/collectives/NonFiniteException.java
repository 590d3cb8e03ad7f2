package io.collectives;

/**
 * A reduction that {@linkplain Communicator#checkingFinite() checks its numbers} has met one that
 * is infinite or not a number. The call has ended well all the same: the output holds the
 * reduction, by the rules of floating point, and the group is as whole as before; hence this is no
 * {@link CollectiveException}.
 *
 * <p>Of several numbers it names the one of the lowest rank, and of that the lowest index. If all
 * contributions are finite but a result is not, it names no rank and the lowest index of such a
 * result: the sum has overflowed, or a number did that crossed a link in a narrower {@link
 * WireType}.
 *
 * <p>Of a {@linkplain Payload.OfTensors payload of several types} it names the lowest rank, of that
 * the first {@linkplain #type type} in the order of {@link ElementType}, and the index counts the
 * elements of that type.
 */
public final class NonFiniteException extends ArithmeticException {
  private static final long serialVersionUID = 1L;

  private final int worldRank;
  private final ElementType type;
  private final long index;
  private final double value;

  /**
   * An error about one number.
   *
   * @param worldRank the rank, counted in the whole job, whose contribution it is; -1 if it is a
   *     result
   * @param type its type
   * @param index its position among the elements of that type in the payload
   * @param value infinite or not a number
   */
  public NonFiniteException(
      String message, int worldRank, ElementType type, long index, double value) {
    super(message);
    this.worldRank = worldRank;
    this.type = type;
    this.index = index;
    this.value = value;
  }

  /**
   * The rank, counted in the whole job, that contributed the number; -1 if all contributions are
   * finite and a result is not.
   */
  public int worldRank() {
    return worldRank;
  }

  /** The type of the number in memory. */
  public ElementType type() {
    return type;
  }

  /** The position of the number in the payload, among the elements of its type. */
  public long index() {
    return index;
  }

  /** The number: an infinity or {@link Double#NaN}. */
  public double value() {
    return value;
  }
}
