package io.collectives;

/** Thrown when this rank closed the group, before or during the call. */
public final class CommunicatorClosedException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception with a message for people. */
  public CommunicatorClosedException(String message) {
    super(message);
  }

  /** Makes an exception with a message for people and a cause. */
  public CommunicatorClosedException(String message, Throwable cause) {
    super(message, cause);
  }
}
