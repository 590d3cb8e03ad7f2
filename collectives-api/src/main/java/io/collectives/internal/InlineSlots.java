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
 * <p>The number is released after all else was written and acquired before all else is read.
 */
public final class InlineSlots {
  private static final int CALL_AT = Long.BYTES;
  private static final int BODY_AT = CALL_AT + FrameHeader.CALL_WORDS * Long.BYTES;

  /** Pairs of cache lines are fetched at once. */
  private static final int SLOT_LENGTH = BODY_AT + InlineExchange.CAPACITY + 127 & -128;

  /** No rank is so many messages ahead of another one, even if they make different calls. */
  public static final long FARTHEST = 1L << 32;

  /** The bytes of all slots. */
  public static final int LENGTH = InlineExchange.SLOTS * SLOT_LENGTH;

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
   * @param slot where, from 0 to {@link InlineExchange#SLOTS} - 1
   * @param number what the reader looks for: more than those of the messages that were there before
   * @param call the fingerprint of the call that it is of
   * @param body at most {@link InlineExchange#CAPACITY} bytes
   */
  public void post(int slot, long number, long[] call, FrameBody body) {
    int at = place(slot);
    for (int i = 0; i < FrameHeader.CALL_WORDS; i++) {
      memory.bytes().putLong(at + CALL_AT + i * Long.BYTES, call[i]);
    }
    body.store(memory, at + BODY_AT);
    WORD.setRelease(memory.bytes(), at, number);
  }

  /**
   * Copies a message if it is there.
   *
   * @param slot where, from 0 to {@link InlineExchange#SLOTS} - 1
   * @param number what it must have; another one is not taken
   * @param call becomes the fingerprint of its call
   * @param length how many bytes of the body are wanted
   * @throws ProtocolException if there is what no writer leaves, so that the message will not come
   */
  public boolean take(int slot, long number, long[] call, FrameBytes body, int length) {
    int at = place(slot);
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

  private int place(int slot) {
    return base + slot * SLOT_LENGTH;
  }
}
