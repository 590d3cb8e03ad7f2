package io.collectives.ps.store;

/**
 * Thrown when a checkpoint could not be written or read. The message says which file, why, and what
 * to do. The job is not broken: training can go on.
 */
public final class CheckpointException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception with a message for people. */
  public CheckpointException(String message) {
    super(message);
  }

  /** Makes an exception with a message for people and a cause. */
  public CheckpointException(String message, Throwable cause) {
    super(message, cause);
  }
}
