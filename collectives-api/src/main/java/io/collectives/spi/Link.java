package io.collectives.spi;

/** One rank's view of the way to a peer. See {@link Transport} for which threads may use it. */
public interface Link {

  /** The rank at the other end, counted in the whole job. */
  int peer();

  /**
   * Accepts a frame, or refuses it because too much is queued; then polling makes room.
   *
   * <p>The header is copied. The body belongs to the transport until it, or whoever it hands the
   * body to, calls {@link FrameBody#release}, exactly once for each accepted frame.
   *
   * @return whether the frame was accepted. On a lost link frames are accepted and dropped
   */
  boolean trySend(FrameHeader header, FrameBody body);

  /**
   * Leaves a message in the {@link Mailbox} of the peer, without a frame. Only where {@link
   * Transport#hasMailboxes}.
   *
   * <p>The parameters are those of {@link Mailbox#post}; the body is read at once and not released.
   * Both ends count the messages of each direction, and take one of each turn before they leave one
   * of the next; so when a rank leaves that of a turn, its peer has taken that of two turns before.
   *
   * @return whether it was left; if not, the link is still being made, or lost
   */
  default boolean post(long turn, long number, long[] call, FrameBody body) {
    throw new UnsupportedOperationException("no mailboxes on " + this);
  }

  /**
   * Takes a message of the peer, if it is there; see {@link Mailbox#take}. Only where {@link
   * Transport#hasMailboxes}. What was left before the link was lost may still be taken.
   */
  default boolean take(long turn, long number, long[] call, FrameBytes body, int length) {
    throw new UnsupportedOperationException("no mailboxes on " + this);
  }

  /** How many bytes of bodies have been accepted for sending, other than messages. */
  long bytesSent();

  /** How many bytes of bodies have been given to the sink. */
  long bytesReceived();
}
