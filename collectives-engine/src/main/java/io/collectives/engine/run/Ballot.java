package io.collectives.engine.run;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * What ranks say to each other in an {@link Agreement}. As bytes, little-endian, with sets as one
 * bit for each member:
 *
 * <pre>
 *     0  kind     4  members     8  number     16  completed     24  resume at, -1 if there is no outcome
 *    32  failed, dead, lost: three sets, each padded to 8 bytes
 * </pre>
 *
 * @param kind what is said
 * @param number of the proposal that this is, accepts, or has accepted; 0 if there is none
 * @param completed the number of the sender's first call that it has not completed
 * @param failed the members that the sender has given up
 * @param dead those of them that are known to be dead
 * @param outcome what is proposed, was accepted or is decided
 */
record Ballot(
    Kind kind,
    int members,
    long number,
    long completed,
    BitSet failed,
    BitSet dead,
    @Nullable Outcome outcome) {
  private static final int FIXED_LENGTH = 32;

  enum Kind {
    /** I lead: report to me. */
    LEAD,
    /** I am here and lead; your report has come. */
    HERE,
    REPORT,
    PROPOSE,
    ACCEPT,
    DECIDE
  }

  /**
   * What is agreed on.
   *
   * @param lost the members that are left out
   * @param resumeAt the number of the first call that not all others completed
   */
  record Outcome(BitSet lost, long resumeAt) {}

  /** The length in bytes for a group of some members. */
  static int length(int members) {
    return FIXED_LENGTH + 3 * setLength(members);
  }

  private static int setLength(int members) {
    return (members + 63) / 64 * 8;
  }

  /** As the body of a frame; it may be kept, as nothing of it changes. */
  FrameBody body() {
    byte[] bytes = new byte[length(members)];
    ByteBuffer b = ByteBuffer.wrap(bytes).order(java.nio.ByteOrder.LITTLE_ENDIAN);
    b.putInt(kind.ordinal()).putInt(members).putLong(number).putLong(completed);
    b.putLong(outcome == null ? -1 : outcome.resumeAt);
    put(b, failed, 0);
    put(b, dead, 1);
    if (outcome != null) {
      put(b, outcome.lost, 2);
    }
    return new FrameBody() {
      @Override
      public int length() {
        return bytes.length;
      }

      @Override
      public void store(FrameBytes target, int at) {
        target.bytes().put(at, bytes);
      }

      @Override
      public void release() {}
    };
  }

  private void put(ByteBuffer b, BitSet set, int index) {
    b.put(FIXED_LENGTH + index * setLength(members), set.toByteArray());
  }

  /** Reads a ballot, all of which comes from elsewhere. */
  static Ballot read(FrameBytes source, int length, int members) {
    ByteBuffer b = source.bytes();
    Kind[] kinds = Kind.values();
    if (length != length(members)
        || b.getInt(0) < 0
        || b.getInt(0) >= kinds.length
        || b.getInt(4) != members) {
      throw new ProtocolException(
          "a ballot of " + length + " bytes that makes no sense for " + members + " members");
    }
    long resumeAt = b.getLong(24);
    if (b.getLong(8) < 0 || b.getLong(16) < 0 || resumeAt < -1) {
      throw new ProtocolException(
          "a ballot with a negative number: proposal "
              + b.getLong(8)
              + ", completed "
              + b.getLong(16)
              + ", resume at "
              + resumeAt);
    }
    Outcome outcome = resumeAt < 0 ? null : new Outcome(set(b, members, 2), resumeAt);
    Kind kind = kinds[b.getInt(0)];
    if (outcome == null && (kind == Kind.PROPOSE || kind == Kind.ACCEPT || kind == Kind.DECIDE)) {
      throw new ProtocolException("a ballot to " + kind + " nothing");
    }
    return new Ballot(
        kind,
        members,
        b.getLong(8),
        b.getLong(16),
        set(b, members, 0),
        set(b, members, 1),
        outcome);
  }

  private static BitSet set(ByteBuffer b, int members, int index) {
    byte[] bytes = new byte[setLength(members)];
    b.get(FIXED_LENGTH + index * bytes.length, bytes);
    BitSet set = BitSet.valueOf(bytes);
    if (set.length() > members) {
      throw new ProtocolException(
          "a ballot names member " + (set.length() - 1) + " of a group of " + members);
    }
    return set;
  }
}
