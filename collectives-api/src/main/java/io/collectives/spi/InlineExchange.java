package io.collectives.spi;

/**
 * A {@link Transport#capability capability}: ranks that share memory can leave each other messages
 * of few bytes without frames. What a frame costs beside its bytes is most of the time of a short
 * call.
 *
 * <p>Each direction of a pair has {@link #SLOTS} slots, of a message each. A message may be written
 * over another one which the reader has taken, or will not look for any more; that is for the users
 * of the slots to know.
 *
 * <p><b>Threads.</b> Those of a {@link Transport}.
 */
public interface InlineExchange {
  /** The most bytes of a message. */
  int CAPACITY = 2048;

  /** The slots of each direction of a pair. */
  int SLOTS = 8;

  /**
   * Returns whether this rank can exchange messages with a peer. Peers that it can exchange them
   * with can do so with each other. The answer is the same each time. Any thread may call this.
   *
   * @param peer any other rank, counted in the whole job
   * @since 0.2.0
   */
  default boolean exchangesWith(int peer) {
    return true;
  }

  /**
   * Leaves a message for a peer; opens the link if it is not yet.
   *
   * @param slot where, from 0 to {@link #SLOTS} - 1
   * @param number what the reader looks for: more than those of the messages that were there before
   * @param call {@link FrameHeader#CALL_WORDS} words that go with it
   * @param body at most {@link #CAPACITY} bytes, read at once and not released
   * @return whether it was left; if not, the link is still being made, or lost
   */
  boolean post(int peer, int slot, long number, long[] call, FrameBody body);

  /**
   * Copies the message of a peer if it is there, and leaves it there; opens the link if it is not
   * yet. What was left before the link was lost may still be taken, until the sink has been told of
   * the loss.
   *
   * @param slot where, from 0 to {@link #SLOTS} - 1
   * @param number what it must have; another one is not taken
   * @param call becomes the words that came with it
   * @param body gets the bytes, from index 0 on
   * @param length how many bytes are wanted
   */
  boolean take(int peer, int slot, long number, long[] call, FrameBytes body, int length);
}
