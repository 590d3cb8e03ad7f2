package io.collectives;

/** Bytes arrived that no rank of this job could have sent: damage on the way, or a bug. */
public final class ProtocolException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** An error with a message for people. */
  public ProtocolException(String message) {
    super(message);
  }

  /** An error with a message for people and what led to it. */
  public ProtocolException(String message, Throwable cause) {
    super(message, cause);
  }
}
