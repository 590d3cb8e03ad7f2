package io.collectives;

/** The group was closed by this rank, before or during the call. */
public final class CommunicatorClosedException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** An error with a message for people. */
  public CommunicatorClosedException(String message) {
    super(message);
  }

  /** An error with a message for people and what led to it. */
  public CommunicatorClosedException(String message, Throwable cause) {
    super(message, cause);
  }
}
