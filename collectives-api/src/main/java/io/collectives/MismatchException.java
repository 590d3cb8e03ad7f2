package io.collectives;

/**
 * Ranks made different calls. The message names two ranks and both values. No byte of one call was
 * reduced into another; with more than two ranks, those that agreed may have reduced each other's
 * into their outputs by then.
 */
public final class MismatchException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** An error with a message for people. */
  public MismatchException(String message) {
    super(message);
  }

  /** An error with a message for people and what led to it. */
  public MismatchException(String message, Throwable cause) {
    super(message, cause);
  }
}
