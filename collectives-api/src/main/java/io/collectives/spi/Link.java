package io.collectives.spi;

/** A rank's view of the way to a peer. See {@link Transport} for which threads may use it. */
public interface Link {

  /** The rank at the other end, counted in the whole job. */
  int peer();

  /**
   * Accepts a frame, or refuses it because too much is queued; then polling makes room. A link
   * accepts any frame whose body is at most as long as {@link
   * io.collectives.CallSettings#frameLimit} says, or 4,096 bytes if that is less.
   *
   * <p>The header is copied. The body belongs to the transport until it, or whoever it hands the
   * body to, calls {@link FrameBody#release}, exactly once for each accepted frame. A refused body
   * still belongs to the caller. May be called from within a sink.
   *
   * @return whether the frame was accepted. On a lost link, or that of a transport that is closed,
   *     frames are accepted and dropped
   * @throws IllegalArgumentException if the header tells another length than the body has
   */
  boolean trySend(FrameHeader header, FrameBody body);
}
