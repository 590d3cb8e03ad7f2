package io.collectives.spi;

import java.io.IOException;

/**
 * A connection broke between two ranks that both live: the peer was reached again, but what was
 * under way is lost. One of the two has to give way, and it must be the same for all: the higher
 * one, which gets this as the cause; to the lower one the other is simply lost.
 */
public final class BrokenLinkException extends IOException {
  private static final long serialVersionUID = 1L;

  /** An error with a message for people. */
  public BrokenLinkException(String message) {
    super(message);
  }
}
