package io.collectives;

/** Ranks made different calls. The message names two ranks and both values; nothing was reduced. */
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
