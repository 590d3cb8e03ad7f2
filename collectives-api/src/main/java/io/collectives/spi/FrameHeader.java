package io.collectives.spi;

import io.collectives.ProtocolException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The header of a frame. It is mutable, so that one object serves many frames, and is used by one
 * thread at a time.
 *
 * <p>A transport carries all of it and needs to know {@link #length} alone: one that carries bytes
 * lets the header {@link #write} itself as {@link #BYTES} bytes, whose meaning is the business of
 * the two ends, and {@link #read} itself there.
 *
 * <p>{@link #round}, {@link #firstChunk} and {@link #chunkCount} are redundant: the receiver knows
 * from its own plan what comes next. They are sent so that it can check.
 */
public final class FrameHeader {

  /** The number of bytes that {@link #write} writes. */
  public static final int BYTES = 100;

  /** The number of words that describe a call. */
  public static final int CALL_WORDS = 6;

  private static final Kind[] KINDS = Kind.values();

  /** The purpose of a frame. */
  public enum Kind {
    /** A transfer of a plan. */
    DATA,
    /** The sender's call failed; group and sequence tell which, the body why. */
    FAILURE,
    /** The sender is alive and has nothing else to say; no body. */
    HEARTBEAT,
    /** Survivors of a group agree on how to go on; group tells which, the body what. */
    AGREEMENT,
    /**
     * A receiver has done its part of a slab; group, sequence, slab and call tell of which. No
     * body.
     */
    ECHO,
    /**
     * The sender waits in a call for long; group, sequence and call tell in which, so that the
     * receiver sees whether it is in the same; round tells how many frames of the call it has sent
     * to the receiver, tag how many calls it has ended. If it has ended this one it waits no more,
     * and answers a receiver that does. No body.
     */
    WAITING;

    /** Returns whether the body is for the engine, not for a call. */
    public boolean isNotice() {
      return this == FAILURE || this == AGREEMENT;
    }
  }

  /** The purpose of the frame. */
  public Kind kind = Kind.DATA;

  /** The group in which the call is made. */
  public long group;

  /** The number of the call in its group, from 0. */
  public long sequence;

  /** The part of the payload that is under way, from 0. */
  public int slab;

  /** The lane of the plan. */
  public int lane;

  /** The round of the lane. */
  public int round;

  /** The first chunk of the transfer. */
  public int firstChunk;

  /** The number of chunks. */
  public int chunkCount;

  /** The length of the body in bytes. */
  public int length;

  /**
   * A word of the engine that goes with a frame; transports carry it and know nothing of it. It may
   * be another one when a frame that was refused is offered again.
   */
  public long tag;

  /**
   * The words that distinguish the sender's call from others. Transports carry them and know
   * nothing of them.
   */
  public final long[] call = new long[CALL_WORDS];

  /** Sets all numbers to 0. */
  public void clear() {
    group = sequence = tag = 0;
    slab = lane = round = firstChunk = chunkCount = length = 0;
    Arrays.fill(call, 0);
  }

  /**
   * Finds what no header can say, whatever the calls of the receiver: transports ask it of each
   * header that arrives, so that no sink sees such a one. No number is negative, and what a kind of
   * frame does not use is 0.
   *
   * @param sender the rank, counted in the whole job, whose frame this is
   * @param receiver the rank that it has come to
   * @throws ProtocolException naming both ranks and what is wrong
   */
  public void check(int sender, int receiver) {
    if (sequence < 0) {
      throw cannotBe(sender, receiver, "numbers of calls are not negative");
    }
    if ((slab | lane | round | firstChunk | chunkCount | length) < 0) {
      throw cannotBe(
          sender, receiver, "slab, lane, round, chunks and length of a frame are not negative");
    }
    boolean isElsewhere = (lane | firstChunk | chunkCount) != 0;
    switch (kind) {
      case DATA -> {}
      case ECHO -> {
        if (isElsewhere || round != 0 || length != 0 || tag != 0) {
          throw cannotBe(sender, receiver, "it must say of which slab it is, and no more");
        }
      }
      case WAITING -> {
        if (isElsewhere || slab != 0 || length != 0 || tag < 0) {
          throw cannotBe(
              sender, receiver, "it must say of which call it is, what was sent, and no more");
        }
      }
      case FAILURE, AGREEMENT -> {
        if (isElsewhere || saysMoreThanItsGroup()) {
          throw cannotBe(sender, receiver, "it must say of which group it is, and no more");
        }
        if (length == 0) {
          throw cannotBe(sender, receiver, "it must have a body");
        }
      }
      case HEARTBEAT -> {
        if (isElsewhere || saysMoreThanItsGroup() || group != 0 || length != 0) {
          throw cannotBe(sender, receiver, "it must say nothing");
        }
      }
    }
  }

  private boolean saysMoreThanItsGroup() {
    long words = sequence | slab | round | tag;
    for (long word : call) {
      words |= word;
    }
    return words != 0;
  }

  private ProtocolException cannotBe(int sender, int receiver, String why) {
    return new ProtocolException(
        "rank "
            + sender
            + " sent to rank "
            + receiver
            + " a frame that cannot be: "
            + this
            + "; "
            + why);
  }

  /**
   * Writes all that is sent of it, {@link #BYTES} bytes from index {@code at} on, which may be any.
   */
  public void write(FrameBytes target, int at) {
    ByteBuffer bytes = target.bytes();
    bytes.putInt(at, kind.ordinal());
    bytes.putLong(at + 4, group);
    bytes.putLong(at + 12, sequence);
    bytes.putInt(at + 20, slab);
    bytes.putInt(at + 24, lane);
    bytes.putInt(at + 28, round);
    bytes.putInt(at + 32, firstChunk);
    bytes.putInt(at + 36, chunkCount);
    bytes.putInt(at + 40, length);
    for (int i = 0; i < CALL_WORDS; i++) {
      bytes.putLong(at + 44 + Long.BYTES * i, call[i]);
    }
    bytes.putLong(at + 92, tag);
  }

  /**
   * Reads what {@link #write} has written, and {@linkplain #check checks} it.
   *
   * @param sender the rank, counted in the whole job, whose frame this is
   * @param receiver the rank that it has come to
   * @throws ProtocolException naming both ranks and what is wrong
   */
  public void read(FrameBytes source, int at, int sender, int receiver) {
    ByteBuffer bytes = source.bytes();
    int code = bytes.getInt(at);
    if (code < 0 || code >= KINDS.length) {
      throw new ProtocolException(
          "a frame from rank "
              + sender
              + " to rank "
              + receiver
              + ": kind of frame is "
              + code
              + ", expected at most "
              + (KINDS.length - 1));
    }
    kind = KINDS[code];
    group = bytes.getLong(at + 4);
    sequence = bytes.getLong(at + 12);
    slab = bytes.getInt(at + 20);
    lane = bytes.getInt(at + 24);
    round = bytes.getInt(at + 28);
    firstChunk = bytes.getInt(at + 32);
    chunkCount = bytes.getInt(at + 36);
    length = bytes.getInt(at + 40);
    for (int i = 0; i < CALL_WORDS; i++) {
      call[i] = bytes.getLong(at + 44 + Long.BYTES * i);
    }
    tag = bytes.getLong(at + 92);
    check(sender, receiver);
  }

  /** Takes over all values of another header. */
  public void copyFrom(FrameHeader other) {
    kind = other.kind;
    group = other.group;
    sequence = other.sequence;
    slab = other.slab;
    lane = other.lane;
    round = other.round;
    firstChunk = other.firstChunk;
    chunkCount = other.chunkCount;
    length = other.length;
    tag = other.tag;
    System.arraycopy(other.call, 0, call, 0, call.length);
  }

  @Override
  public String toString() {
    return kind
        + " group="
        + Long.toHexString(group)
        + " sequence="
        + sequence
        + " slab="
        + slab
        + " lane="
        + lane
        + " round="
        + round
        + " chunks="
        + firstChunk
        + "+"
        + chunkCount
        + " length="
        + length;
  }
}
