package io.collectives.spi;

/**
 * A {@link Transport#capability capability}: each pair of ranks can leave each other messages of
 * few bytes without frames. What a frame costs beside its bytes is most of the time of a short
 * call.
 *
 * <p>Both ends of a pair count the messages of each direction, its <em>turns</em>, and take one of
 * each turn before they leave one of the next; so when a rank leaves that of a turn, its peer has
 * taken that of two turns before, and two slots for each direction suffice.
 *
 * <p><b>Threads.</b> Those of a {@link Transport}.
 */
public interface InlineExchange {
  /** The most bytes of a message. */
  int CAPACITY = 2048;

  /**
   * Leaves a message for a peer; opens the link if it is not yet.
   *
   * @param turn counts the messages of this direction, from 0
   * @param number what the reader looks for, not 0, and not that of the message before last
   * @param call {@link FrameHeader#CALL_WORDS} words that go with it
   * @param body at most {@link #CAPACITY} bytes, read at once and not released
   * @return whether it was left; if not, the link is still being made, or lost
   */
  boolean post(int peer, long turn, long number, long[] call, FrameBody body);

  /**
   * Copies the message of a peer if it is there; opens the link if it is not yet. What was left
   * before the link was lost may still be taken, until the sink has been told of the loss.
   *
   * @param turn counts the messages of this direction, from 0
   * @param number what it must have; another one is not taken
   * @param call becomes the words that came with it
   * @param body gets the bytes, from index 0 on
   * @param length how many bytes are wanted
   */
  boolean take(int peer, long turn, long number, long[] call, FrameBytes body, int length);
}
