package io.collectives;

/**
 * What went wrong in a group of ranks. Its subclasses tell what to do about it; the message tells
 * who, what and when.
 *
 * <p><b>All ranks of a group get the same error</b>, with the same culprit, also if several ranks
 * fail at once: the members agree on one failure before their calls end. Each call of a broken
 * group, under way or made later, throws it. A call may have ended well on some ranks before the
 * group broke, since a rank returns as soon as it needs nobody; {@link Survivors#resumeAt} tells
 * the first call for which that is not so on all of them.
 *
 * <p>The agreement takes a few messages. A rank that does not answer within a second, because its
 * process was stopped, is not waited for, and learns the decision when it goes on. Ranks may end
 * with different errors, each of them true, where two or more connections between ranks that live
 * have ended, as on two sides of a network that has split.
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
