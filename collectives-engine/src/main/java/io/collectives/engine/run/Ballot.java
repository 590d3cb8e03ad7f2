package io.collectives.engine.run;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * A message of a {@link Consensus} from one rank to another. As bytes it is little-endian, with
 * sets as one bit for each member:
 *
 * <pre>
 *     0  kind (8 bits), topic (24)     4  members     8  number     16  completed
 *    24  resume at, -1 if there is no outcome
 *    32  failed, dead, lost: three sets, each padded to 8 bytes
 *        then why, as a notice of a failure, if that is the topic
 * </pre>
 *
 * @param topic what is to be agreed on
 * @param kind what is said
 * @param number of the proposal that this is, accepts, or has accepted; 0 if there is none
 * @param group as the sender sees it
 * @param outcome what is proposed, was accepted or is decided
 * @param why of a verdict: that of the outcome, or else what the sender knows
 */
record Ballot(
    Topic topic,
    Kind kind,
    long number,
    GroupState group,
    @Nullable Outcome outcome,
    @Nullable Failure why) {
  private static final int FIXED_LENGTH = 32;

  enum Topic {
    /** The agreement on who is left of a group, and where they go on. */
    SURVIVORS,
    /** Why a group is broken. */
    VERDICT
  }

  enum Kind {
    /** I lead: report to me. */
    LEAD,
    /** I am here and lead; your report has come. */
    HERE,
    REPORT,
    PROPOSE,
    ACCEPT,
    DECIDE,
    /** I have not made this group, and take no part. */
    ABSENT
  }

  /**
   * The state of a group as one of its members sees it.
   *
   * @param members how many it has
   * @param completed the number of the first call that this member has not completed
   * @param failed the members that it has given up
   * @param dead those of them that are known to be dead
   */
  record GroupState(int members, long completed, BitSet failed, BitSet dead) {}

  /**
   * An outcome that members agree on.
   *
   * @param lost the members that are left out
   * @param resumeAt the number of the first call that not all others completed
   * @param why of a verdict: what broke the group
   */
  record Outcome(BitSet lost, long resumeAt, @Nullable Failure why) {}

  /** Returns the answer of a rank that has not made a group of some members. */
  static Ballot absent(int members) {
    BitSet none = new BitSet();
    GroupState unknown = new GroupState(members, 0, none, none);
    return new Ballot(Topic.VERDICT, Kind.ABSENT, 0, unknown, null, null);
  }

  /** The most bytes for a group of some members. */
  static int mostLength(int members) {
    return length(members) + Failure.MAX_LENGTH;
  }

  /** The length in bytes for a group of some members, but for the reason. */
  private static int length(int members) {
    return FIXED_LENGTH + 3 * setLength(members);
  }

  private static int setLength(int members) {
    return (members + 63) / 64 * 8;
  }

  /** Returns the ballot as the body of a frame, which may be kept, because it never changes. */
  FrameBody body() {
    int members = group.members;
    FrameBody reason = why == null ? FrameBody.EMPTY : why.body();
    byte[] bytes = new byte[length(members) + reason.length()];
    ByteBuffer b = ByteBuffer.wrap(bytes).order(java.nio.ByteOrder.LITTLE_ENDIAN);
    if (why != null) {
      FrameBytes text = new FrameBytes(ByteBuffer.allocate(reason.length() + 7 & ~7));
      reason.store(text, 0);
      text.bytes().get(0, bytes, length(members), reason.length());
    }
    b.putInt(kind.ordinal() | topic.ordinal() << 8)
        .putInt(members)
        .putLong(number)
        .putLong(group.completed);
    b.putLong(outcome == null ? -1 : outcome.resumeAt);
    put(b, group.failed, 0);
    put(b, group.dead, 1);
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
    b.put(FIXED_LENGTH + index * setLength(group.members), set.toByteArray());
  }

  /** The topic of a ballot, all of which comes from elsewhere. */
  static Topic topic(FrameBytes source, int length) {
    int topic = length < FIXED_LENGTH ? -1 : source.bytes().getInt(0) >> 8;
    if (topic < 0 || topic >= Topic.values().length) {
      throw new ProtocolException("a ballot of " + length + " bytes about nothing");
    }
    return Topic.values()[topic];
  }

  /** Returns the number of members of the group, as a ballot that has a topic tells it. */
  static int members(FrameBytes source, int length) {
    int members = source.bytes().getInt(4);
    if (members < 1 || length(members) > length) {
      throw new ProtocolException(
          "a ballot of " + length + " bytes that makes no sense for " + members + " members");
    }
    return members;
  }

  /** Returns the failure that a verdict tells of, or null if it tells of none. */
  static @Nullable Failure why(FrameBytes source, int length, int members, int ranks) {
    int from = length(members);
    if (length == from) {
      return null;
    }
    FrameBytes text = new FrameBytes(ByteBuffer.allocate(length - from + 7 & ~7));
    byte[] bytes = new byte[length - from];
    source.bytes().get(from, bytes);
    text.bytes().put(0, bytes);
    return Failure.read(text, bytes.length, ranks);
  }

  /**
   * Reads a ballot, all of which comes from elsewhere.
   *
   * @param members of the group
   * @param ranks of the job
   * @throws ProtocolException if it can be none
   */
  static Ballot read(FrameBytes source, int length, int members, int ranks) {
    ByteBuffer b = source.bytes();
    Kind[] kinds = Kind.values();
    Topic topic = topic(source, length);
    int kindOf = b.getInt(0) & 0xff;
    if (members(source, length) != members
        || kindOf >= kinds.length
        || topic == Topic.SURVIVORS
            && (length != length(members) || kinds[kindOf] == Kind.ABSENT)) {
      throw new ProtocolException(
          "a ballot of " + length + " bytes that makes no sense for " + members + " members");
    }
    Failure why = why(source, length, members, ranks);
    if (topic == Topic.VERDICT && why == null && kinds[kindOf] != Kind.ABSENT) {
      throw new ProtocolException("a ballot on why a group is broken that says nothing of it");
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
    Outcome outcome = resumeAt < 0 ? null : new Outcome(set(b, members, 2), resumeAt, why);
    Kind kind = kinds[kindOf];
    if (outcome == null && (kind == Kind.PROPOSE || kind == Kind.ACCEPT || kind == Kind.DECIDE)) {
      throw new ProtocolException("a ballot to " + kind + " nothing");
    }
    GroupState group =
        new GroupState(members, b.getLong(16), set(b, members, 0), set(b, members, 1));
    return new Ballot(topic, kind, b.getLong(8), group, outcome, why);
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
