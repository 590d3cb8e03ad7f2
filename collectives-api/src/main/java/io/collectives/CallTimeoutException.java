package io.collectives;

/**
 * A call did not end by its deadline. The message names the rank that was waited for, and for what.
 */
public final class CallTimeoutException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** An error with a message for people. */
  public CallTimeoutException(String message) {
    super(message);
  }

  /** An error with a message for people and what led to it. */
  public CallTimeoutException(String message, Throwable cause) {
    super(message, cause);
  }
}
