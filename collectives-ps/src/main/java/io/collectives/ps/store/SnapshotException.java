package io.collectives.ps.store;

/**
 * A snapshot could not be written or read. The message says which file, why, and what to do. The
 * job is whole: training can go on.
 */
public final class SnapshotException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An error with a message for people. */
  public SnapshotException(String message) {
    super(message);
  }

  /** An error with a message for people and what led to it. */
  public SnapshotException(String message, Throwable cause) {
    super(message, cause);
  }
}
