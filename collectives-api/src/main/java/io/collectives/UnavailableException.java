package io.collectives;

/**
 * Thrown when a module, a transport or an algorithm is not on the class path. The message names the
 * dependency to add.
 */
public final class UnavailableException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception with a message for people. */
  public UnavailableException(String message) {
    super(message);
  }

  /** Makes an exception with a message for people and a cause. */
  public UnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
