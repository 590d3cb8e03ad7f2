package io.collectives;

/**
 * The ranks of the job did not all meet, or this one was refused. The message says what to change.
 */
public final class JoinException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** An error with a message for people. */
  public JoinException(String message) {
    super(message);
  }

  /** An error with a message for people and what led to it. */
  public JoinException(String message, Throwable cause) {
    super(message, cause);
  }
}
