package io.collectives.spi;

import io.collectives.ProtocolException;
import java.util.Arrays;

/**
 * What a frame says about itself. Mutable, so that one object serves many frames; used by one
 * thread at a time.
 *
 * <p>{@link #round}, {@link #firstChunk} and {@link #chunkCount} are redundant: the receiver knows
 * from its own plan what comes next. They are sent so that it can check.
 */
public final class FrameHeader {

  /** What a frame is for. */
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

    /** Whether the body is for the engine, not for a call. */
    public boolean isNotice() {
      return this == FAILURE || this == AGREEMENT;
    }
  }

  /** What the frame is for. */
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
   * Whether the body comes as a {@link LentBody}; said by the transport that delivers it, and not
   * sent.
   */
  public boolean lent;

  /** What the sender's call is; see {@link CallFingerprint}. */
  public final long[] call = new long[CallFingerprint.WORDS];

  /** Sets all numbers to 0. */
  public void clear() {
    group = sequence = tag = 0;
    slab = lane = round = firstChunk = chunkCount = length = 0;
    lent = false;
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
    lent = other.lent;
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
