package io.collectives.internal;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.InlineExchange;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Memory in which one rank leaves short messages for another that can read it: what an {@link
 * InlineExchange} of two ranks that share memory has for each direction. A message is as much as
 * one rank has for another in a call of few bytes; together with what it says of its call, eight
 * bytes of it take one line of a cache, so a message costs as little as the hardware asks for
 * anything that passes from one core to another.
 *
 * <pre>
 *   a slot:  number (8 bytes) │ fingerprint of the call (48) │ body (up to 2,048) │ nothing
 * </pre>
 *
 * <p>There are two slots, which the writer uses in turn. It may write to one again when the reader
 * has taken what was there; that is for the two to know. The number is released after all else was
 * written and acquired before all else is read.
 */
public final class InlineSlots {
  private static final int CALL_AT = Long.BYTES;
  private static final int BODY_AT = CALL_AT + FrameHeader.CALL_WORDS * Long.BYTES;

  /** Pairs of cache lines are fetched at once. */
  private static final int SLOT_LENGTH = BODY_AT + InlineExchange.CAPACITY + 127 & -128;

  private static final int SLOTS = 2;

  /** No rank is so many calls ahead of another one, even if they make different ones. */
  private static final long FARTHEST = 1L << 32;

  /** The bytes of both slots. */
  public static final int LENGTH = SLOTS * SLOT_LENGTH;

  private static final VarHandle WORD =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final FrameBytes memory;
  private final int base;

  /**
   * The slots in {@link #LENGTH} bytes of memory, which are zeros at first.
   *
   * @param base the index of the first byte, a multiple of 8, better of 128
   */
  public InlineSlots(FrameBytes memory, int base) {
    this.memory = memory;
    this.base = base;
  }

  /**
   * Leaves a message.
   *
   * @param turn counts the messages of this pair of slots
   * @param number what the reader looks for, not 0, and not that of the message before last
   * @param call the fingerprint of the call that it is of
   * @param body at most {@link InlineExchange#CAPACITY} bytes
   */
  public void post(long turn, long number, long[] call, FrameBody body) {
    int at = slot(turn);
    for (int i = 0; i < FrameHeader.CALL_WORDS; i++) {
      memory.bytes().putLong(at + CALL_AT + i * Long.BYTES, call[i]);
    }
    body.store(memory, at + BODY_AT);
    WORD.setRelease(memory.bytes(), at, number);
  }

  /**
   * Copies a message if it is there.
   *
   * @param turn counts the messages of this pair of slots
   * @param call becomes the fingerprint of its call
   * @param length how many bytes of the body are wanted
   * @throws ProtocolException if there is what no writer leaves, so that the message will not come
   */
  public boolean take(long turn, long number, long[] call, FrameBytes body, int length) {
    int at = slot(turn);
    long seen = (long) WORD.getAcquire(memory.bytes(), at);
    if (seen != number) {
      if (seen < 0 || seen - number > FARTHEST) {
        throw new ProtocolException(
            "the number of a message is " + seen + ", expected " + number + " or the one before");
      }
      return false;
    }
    for (int i = 0; i < FrameHeader.CALL_WORDS; i++) {
      call[i] = memory.bytes().getLong(at + CALL_AT + i * Long.BYTES);
    }
    body.bytes().put(0, memory.bytes(), at + BODY_AT, length);
    return true;
  }

  private int slot(long turn) {
    return base + (int) (turn % SLOTS) * SLOT_LENGTH;
  }
}
