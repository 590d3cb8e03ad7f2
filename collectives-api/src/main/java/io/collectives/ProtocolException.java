package io.collectives;

/**
 * Thrown when bytes arrived that no rank of this job could have sent, because they were damaged on
 * the way or because of a bug.
 */
public final class ProtocolException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception with a message for people. */
  public ProtocolException(String message) {
    super(message);
  }

  /** Makes an exception with a message for people and a cause. */
  public ProtocolException(String message, Throwable cause) {
    super(message, cause);
  }
}
