package io.collectives.engine.run;

import io.collectives.AbortedException;
import io.collectives.CallTimeoutException;
import io.collectives.CollectiveException;
import io.collectives.CommunicatorClosedException;
import io.collectives.MismatchException;
import io.collectives.ProtocolException;
import io.collectives.RankFailedException;
import io.collectives.RankFailedException.Verdict;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Why a group is broken, in a form that ranks can tell each other.
 *
 * @param kind decides which exception it becomes
 * @param reporter the rank, counted in the whole job, that found it
 * @param culprit the rank that caused it, or the one that the reporter waits for; -1 if this rank
 *     has closed the group
 * @param sequence the number of the call that it is about, -1 if it is about the group
 * @param message for people
 * @param cause what this rank itself threw; never sent
 */
record Failure(
    Kind kind,
    int reporter,
    int culprit,
    long sequence,
    String message,
    @Nullable Throwable cause) {

  /** The most bytes that a notice takes in a frame. */
  static final int MAX_LENGTH = 1024;

  private static final int LEAST_LENGTH = 24;

  enum Kind {
    MISMATCH,
    /** The culprit has not come by the deadline of a call. */
    TIMEOUT,
    /** The reporter waits for the culprit past the deadline of a call, and asks who else waits. */
    LATE,
    /** The reporter waits for the culprit long before the deadline, and asks who else waits. */
    LAGGING,
    DEAD,
    UNRESPONSIVE,
    /** The reporter left this group; those who need it no more need not care. */
    LEFT,
    /**
     * The culprit is lost to the reporter, which is about to leave; those who need neither need not
     * care.
     */
    LOST,
    /** The reporter, which lives, gave up the group. */
    ABORTED,
    PROTOCOL,
    /** This rank closed the group; never sent. */
    CLOSED
  }

  Failure(Kind kind, int reporter, int culprit, String message) {
    this(kind, reporter, culprit, -1, message, null);
  }

  /** Returns whether the culprit is gone for good. */
  boolean isLoss() {
    return kind == Kind.DEAD || kind == Kind.UNRESPONSIVE || kind == Kind.LEFT;
  }

  /** Returns whether the culprit has not come in time. */
  boolean isLate() {
    return kind == Kind.TIMEOUT || kind == Kind.LATE || kind == Kind.LAGGING || kind == Kind.LOST;
  }

  /** Returns whether another failure is this one, as ranks tell it each other. */
  boolean isAs(Failure other) {
    return kind == other.kind
        && reporter == other.reporter
        && culprit == other.culprit
        && sequence == other.sequence;
  }

  /** Returns the failure that another rank has found, as a rank reports it. */
  Failure saidBy(int rank) {
    return new Failure(kind, rank, culprit, sequence, message, cause);
  }

  Failure as(Kind other) {
    return new Failure(other, reporter, culprit, sequence, message, cause);
  }

  /** A new exception for this failure; each waiting thread gets its own, with its own stack. */
  CollectiveException exception() {
    return switch (kind) {
      case MISMATCH -> new MismatchException(message);
      case TIMEOUT, LATE, LAGGING -> new CallTimeoutException(message, culprit);
      case DEAD, LEFT, LOST -> new RankFailedException(message, culprit, Verdict.DEAD);
      case UNRESPONSIVE -> new RankFailedException(message, culprit, Verdict.UNRESPONSIVE);
      case ABORTED ->
          cause == null
              ? new AbortedException(message, culprit)
              : new AbortedException(message, culprit, cause);
      case PROTOCOL -> new ProtocolException(message);
      case CLOSED -> new CommunicatorClosedException(message);
    };
  }

  /** The notice as the body of a frame. */
  FrameBody body() {
    byte[] text = message.getBytes(StandardCharsets.UTF_8);
    int textLength = Math.min(text.length, MAX_LENGTH - LEAST_LENGTH);
    return new FrameBody() {
      @Override
      public int length() {
        return LEAST_LENGTH + textLength;
      }

      @Override
      public void store(FrameBytes target, int at) {
        ByteBuffer b = target.bytes();
        b.putInt(at, kind.ordinal());
        b.putInt(at + 4, reporter);
        b.putInt(at + 8, culprit);
        b.putInt(at + 12, textLength);
        b.putLong(at + 16, sequence);
        b.put(at + LEAST_LENGTH, text, 0, textLength);
      }

      @Override
      public void release() {}
    };
  }

  /**
   * Reads a notice of {@code length} bytes, all of which come from elsewhere.
   *
   * @param ranks the number of ranks in the job
   * @throws ProtocolException if it can be none
   */
  static Failure read(FrameBytes source, int length, int ranks) {
    ByteBuffer b = source.bytes();
    Kind[] kinds = Kind.values();
    int kind = length < LEAST_LENGTH ? -1 : b.getInt(0);
    int reporter = length < LEAST_LENGTH ? -1 : b.getInt(4);
    int culprit = length < LEAST_LENGTH ? -1 : b.getInt(8);
    int textLength = length < LEAST_LENGTH ? -1 : b.getInt(12);
    long sequence = length < LEAST_LENGTH ? -1 : b.getLong(16);
    if (kind < 0
        || kind >= kinds.length
        || kinds[kind] == Kind.CLOSED
        || reporter < 0
        || reporter >= ranks
        || culprit < 0
        || culprit >= ranks
        || sequence < -1
        || textLength != length - LEAST_LENGTH) {
      throw new ProtocolException(
          "a notice of a failure that cannot be: "
              + length
              + " bytes, kind "
              + kind
              + ", told by rank "
              + reporter
              + " of rank "
              + culprit
              + " in call "
              + sequence);
    }
    byte[] text = new byte[textLength];
    b.get(LEAST_LENGTH, text);
    String message = new String(text, StandardCharsets.UTF_8);
    return new Failure(kinds[kind], reporter, culprit, sequence, message, null);
  }
}
