package io.collectives;

/**
 * Thrown when a group of ranks has failed. The subclass tells how the program can go on; the
 * message says which rank failed, in which call, and when.
 *
 * <p><b>All ranks of a group get the same error</b>, with the same culprit, also if several ranks
 * fail at once: the members agree on one failure before their calls end. Each call of a broken
 * group, under way or made later, throws it. A call may have ended well on some ranks before the
 * group broke, since a rank returns as soon as it needs no other rank; {@link Survivors#resumeAt}
 * is the first call that did not end well on all of them.
 *
 * <p>The agreement takes a few messages. A rank that does not answer within a second, because its
 * process was stopped, is not waited for, and learns the decision when it goes on. Ranks may end
 * with different errors, each of them true, where two or more connections between ranks that live
 * have ended, as on two sides of a network that has split.
 */
public class CollectiveException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Makes an exception with a message for people. */
  public CollectiveException(String message) {
    super(message);
  }

  /** Makes an exception with a message for people and a cause. */
  public CollectiveException(String message, Throwable cause) {
    super(message, cause);
  }
}
