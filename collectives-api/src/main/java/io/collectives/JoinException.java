package io.collectives;

/**
 * Thrown when not all ranks of the job joined, or this one was refused. The message says what to
 * change.
 */
public final class JoinException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception with a message for people. */
  public JoinException(String message) {
    super(message);
  }

  /** Makes an exception with a message for people and a cause. */
  public JoinException(String message, Throwable cause) {
    super(message, cause);
  }
}
