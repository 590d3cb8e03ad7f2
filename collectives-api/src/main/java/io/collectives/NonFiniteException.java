package io.collectives;

/**
 * Thrown by a reduction that {@linkplain Communicator#checkingFinite() checks its numbers} when one
 * of them is infinite or not a number. The call has a result nevertheless: the output holds the
 * reduction, by the rules of floating point, and the group is not broken; hence this is no {@link
 * CollectiveException}.
 *
 * <p>Of several such numbers it names that with the lowest rank, and of that rank the lowest index.
 * If all contributions are finite but a result is not, it names no rank and the lowest index of
 * such a result: the sum has overflowed, or a number has overflowed in its conversion to a narrower
 * {@link WireType}.
 *
 * <p>In a {@linkplain Payload.OfTensors payload of several types} it names the lowest rank, of that
 * rank the first {@linkplain #type type} in the order of {@link ElementType}, and the index counts
 * the elements of that type.
 */
public final class NonFiniteException extends ArithmeticException {
  private static final long serialVersionUID = 1L;

  private final int worldRank;
  private final ElementType type;
  private final long index;
  private final double value;

  /**
   * Makes an exception about one number.
   *
   * @param worldRank the rank, counted in the whole job, that contributed the number; -1 if it is a
   *     result
   * @param type the type of the number
   * @param index the position among the elements of that type in the payload
   * @param value the number, which is infinite or not a number
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
   * Returns the rank, counted in the whole job, that contributed the number; -1 if all
   * contributions are finite and a result is not.
   */
  public int worldRank() {
    return worldRank;
  }

  /** Returns the type of the number in memory. */
  public ElementType type() {
    return type;
  }

  /** Returns the position of the number in the payload, among the elements of its type. */
  public long index() {
    return index;
  }

  /** Returns the number: an infinity or {@link Double#NaN}. */
  public double value() {
    return value;
  }
}
