package io.collectives;

/**
 * A module, a transport or an algorithm that was asked for is not on the class path. The message
 * names the dependency to add.
 */
public final class UnavailableException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** An error with a message for people. */
  public UnavailableException(String message) {
    super(message);
  }

  /** An error with a message for people and what led to it. */
  public UnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
