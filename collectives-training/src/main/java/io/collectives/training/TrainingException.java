package io.collectives.training;

/**
 * Thrown when one rank got data that cannot be used: state of another model, weights that are not
 * numbers, a file that cannot be read. All ranks of the group get it with the same message, which
 * names the rank and says what to do. The group is not broken: the call may be made again.
 */
public final class TrainingException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception with a message for people. */
  public TrainingException(String message) {
    super(message);
  }
}
