package io.collectives;

/**
 * Thrown when ranks made different calls. The message names two ranks and both values. No byte of
 * one call was reduced into another; with more than two ranks, those whose calls agree may have
 * reduced each other's data into their outputs by then.
 */
public final class MismatchException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception with a message for people. */
  public MismatchException(String message) {
    super(message);
  }

  /** Makes an exception with a message for people and a cause. */
  public MismatchException(String message, Throwable cause) {
    super(message, cause);
  }
}
