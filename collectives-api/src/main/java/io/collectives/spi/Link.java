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

  /** How many bytes of bodies have been accepted for sending. */
  long bytesSent();

  /** How many bytes of bodies have been given to the sink. */
  long bytesReceived();
}
