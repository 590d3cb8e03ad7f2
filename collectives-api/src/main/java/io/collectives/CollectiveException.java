package io.collectives;

/**
 * What went wrong in a group of ranks. Its subclasses tell what to do about it; the message tells
 * who, what and when.
 */
public class CollectiveException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An error with a message for people. */
  public CollectiveException(String message) {
    super(message);
  }

  /** An error with a message for people and what led to it. */
  public CollectiveException(String message, Throwable cause) {
    super(message, cause);
  }
}
