package io.collectives.bench;

/** The exit statuses of the program other than 0. */
final class ExitStatus {
  /** A check or a job failed. */
  static final int FAILED = 1;

  static final int WRONG_USAGE = 2;

  private ExitStatus() {}
}
