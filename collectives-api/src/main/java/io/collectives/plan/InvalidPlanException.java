package io.collectives.plan;

/**
 * Thrown when a plan breaks a rule of {@link PlanVerifier}. The message says which rule, and at
 * which lane, round, ranks and chunk.
 */
public final class InvalidPlanException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception with a message for people. */
  public InvalidPlanException(String message) {
    super(message);
  }

  /**
   * Makes an exception about one transfer of one chunk; {@code fault} continues the sentence after
   * the receiver's name.
   */
  static InvalidPlanException of(int lane, int round, int from, int to, int chunk, String fault) {
    return of(lane, round, "rank " + from + " sends chunk " + chunk + " to rank " + to + fault);
  }

  static InvalidPlanException of(int lane, int round, String fault) {
    return new InvalidPlanException("lane " + lane + ", round " + round + ": " + fault);
  }
}
