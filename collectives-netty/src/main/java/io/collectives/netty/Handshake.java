package io.collectives.netty;

import io.collectives.ProtocolException;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.SecureRandom;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A message of the handshake of two ranks before the first frame, or of the end after the last one.
 * As bytes, 64 of them, little-endian:
 *
 * <pre>
 *     0  magic "JCHI"       4  version (16 bits), kind (8), objection (8)
 *     8  job epoch, high   16  job epoch, low
 *    24  size of the job   28  sender's rank      32  receiver's rank
 *    36  1 job secret in use, 2 checksums of bodies, 4 TLS (sum of these)
 *    40  nonce, high       48  nonce, low         56  zero (32)
 *    60  CRC32C of bytes 0 to 59
 * </pre>
 *
 * <p>The rank that connects says HELLO; the one that accepts answers HELLO, or a REFUSAL with its
 * own values and its objection. If there is a job secret, each then shows a {@link Proof}. The
 * layout must stay the same in all versions, so that ranks of different versions can name the
 * difference.
 *
 * <p>A peer that knows the epoch is accepted as one of the job. So a REFUSAL, which unauthenticated
 * peers may get, tells only its first 32 bits: enough to name the difference, not enough to come
 * in. With a job secret the epoch need not be hidden.
 *
 * @param version of the protocol
 * @param kind the kind of message
 * @param objection why a connection is refused; nothing unless it is
 * @param epoch of the run of the job
 * @param ends the size of the job, and the ranks of the sender and the receiver
 * @param terms what else must be the same on both sides
 * @param nonce drawn for this connection, so that no proof of another one fits; {@link Nonce#NONE}
 *     where nothing is proved
 */
record Handshake(
    int version,
    Kind kind,
    @Nullable Objection objection,
    JobEpoch epoch,
    Ends ends,
    Terms terms,
    Nonce nonce) {

  /** The length in bytes. */
  static final int LENGTH = 64;

  /** The first four bytes, which no frame begins with. */
  static final int MAGIC = 'J' | 'C' << 8 | 'H' << 16 | 'I' << 24;

  private static final int CRC_AT = 60;
  private static final Kind[] KINDS = Kind.values();
  private static final Objection[] OBJECTIONS = Objection.values();

  /** The kind of a message. */
  enum Kind {
    /** The sender asks for a connection, or accepts one. */
    HELLO,
    /** The sender refuses the connection. */
    REFUSAL,
    /** The sender has sent all its frames and leaves. */
    GOODBYE,
    /** The sender ends the connection because of a protocol error of the receiver. */
    ABORT,
    /** The sender asks a rank for its status, or lets somebody ask; see {@link TcpStatus}. */
    STATUS
  }

  /** The reason for which a rank is refused. */
  enum Objection {
    /** It speaks another version of the protocol. */
    VERSION,
    /** It is of another run, or of another job. */
    EPOCH,
    /** It believes that the job has another size. */
    SIZE,
    /** It wants another rank than the one that listens here. */
    RANK,
    /** It uses a job secret and the other does not. */
    SECRET,
    /** It uses checksums of bodies and the other does not. */
    CHECKSUMS,
    /** It speaks TLS and the other does not. */
    TLS,
    /** Its job secret is another one. */
    PROOF,
    /** Its certificate is not for the rank that it claims. */
    CERTIFICATE
  }

  /** The number of ranks, and the ranks of the sender and of the receiver. */
  record Ends(int size, int from, int to) {}

  /** Ways of talking on which both sides must agree. */
  record Terms(boolean secret, boolean checksums, boolean tls) {
    private int bits() {
      return (secret ? 1 : 0) | (checksums ? 2 : 0) | (tls ? 4 : 0);
    }

    private static Terms of(int bits) {
      return new Terms((bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0);
    }
  }

  /** 128 random bits that are used once. */
  record Nonce(long high, long low) {
    static final Nonce NONE = new Nonce(0, 0);

    static Nonce draw(SecureRandom random) {
      return new Nonce(random.nextLong(), random.nextLong());
    }
  }

  /** Creates a message of this version. */
  static Handshake of(Kind kind, JobEpoch epoch, int size, int from, int to, Terms terms) {
    return new Handshake(
        Rendezvous.PROTOCOL_VERSION,
        kind,
        null,
        epoch,
        new Ends(size, from, to),
        terms,
        Nonce.NONE);
  }

  int size() {
    return ends.size;
  }

  int from() {
    return ends.from;
  }

  int to() {
    return ends.to;
  }

  /** Returns this message with a nonce. */
  Handshake withNonce(Nonce other) {
    return new Handshake(version, kind, objection, epoch, ends, terms, other);
  }

  /**
   * Returns the first thing in which another rank's message to this one differs from what it should
   * be.
   */
  @Nullable Objection objectionTo(Handshake other) {
    if (other.version != version) {
      return Objection.VERSION;
    }
    if (!other.epoch.equals(epoch)) {
      return Objection.EPOCH;
    }
    if (other.size() != size()) {
      return Objection.SIZE;
    }
    if (other.to() != from()) {
      return Objection.RANK;
    }
    if (other.terms.secret != terms.secret) {
      return Objection.SECRET;
    }
    if (other.terms.checksums != terms.checksums) {
      return Objection.CHECKSUMS;
    }
    return other.terms.tls == terms.tls ? null : Objection.TLS;
  }

  /** Returns the refusal with which this rank answers another one's message. */
  Handshake refuse(Objection why) {
    JobEpoch hint = new JobEpoch(epoch.high() >>> 32 << 32, 0);
    return new Handshake(version, Kind.REFUSAL, why, hint, ends, terms, Nonce.NONE);
  }

  /**
   * Returns, for people, the difference of this message and another one.
   *
   * @param side where this one comes from, "here" or "there"
   * @param otherSide where the other one comes from
   */
  String difference(Objection what, String side, Handshake other, String otherSide) {
    return switch (what) {
      case PROOF -> "their job secrets are not the same";
      case CERTIFICATE -> "the certificate is not for the rank that it was shown for";
      default -> value(what) + " " + side + ", " + other.value(what) + " " + otherSide;
    };
  }

  private String value(Objection what) {
    return switch (what) {
      case VERSION -> "protocol version " + version;
      case EPOCH -> "job epoch " + epoch.toString().substring(0, 8) + "…";
      case SIZE -> "a job of " + size() + " ranks";
      case RANK -> "rank " + (kind == Kind.REFUSAL ? from() : to());
      case SECRET, PROOF -> terms.secret ? "a job secret" : "no job secret";
      case CHECKSUMS -> terms.checksums ? "checksums of payloads" : "no checksums of payloads";
      case TLS, CERTIFICATE -> terms.tls ? "TLS" : "no TLS";
    };
  }

  /** All bytes. */
  ByteBuffer bytes() {
    ByteBuffer b = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
    b.putInt(0, MAGIC).putShort(4, (short) version).put(6, (byte) kind.ordinal());
    b.put(7, (byte) (objection == null ? 0xff : objection.ordinal()));
    b.putLong(8, epoch.high()).putLong(16, epoch.low());
    b.putInt(24, size()).putInt(28, from()).putInt(32, to()).putInt(36, terms.bits());
    b.putLong(40, nonce.high).putLong(48, nonce.low);
    return b.putInt(CRC_AT, crc(b, 0));
  }

  /**
   * Reads a message.
   *
   * @param source little-endian
   * @throws ProtocolException if it is none, saying what was found
   */
  static Handshake read(ByteBuffer source, int at) {
    int magic = source.getInt(at);
    if (magic != MAGIC) {
      throw new ProtocolException(
          "it begins with 0x"
              + Integer.toHexString(Integer.reverseBytes(magic))
              + ", not \"JCHI\"");
    }
    int crc = crc(source, at);
    if (source.getInt(at + CRC_AT) != crc) {
      throw new ProtocolException(
          "its checksum is 0x"
              + Integer.toHexString(source.getInt(at + CRC_AT))
              + ", not 0x"
              + Integer.toHexString(crc));
    }
    int kind = source.get(at + 6);
    int objection = source.get(at + 7);
    if (kind < 0 || kind >= KINDS.length || objection < -1 || objection >= OBJECTIONS.length) {
      throw new ProtocolException("its kind is " + kind + " with objection " + objection);
    }
    return new Handshake(
        source.getShort(at + 4) & 0xffff,
        KINDS[kind],
        objection < 0 ? null : OBJECTIONS[objection],
        new JobEpoch(source.getLong(at + 8), source.getLong(at + 16)),
        new Ends(source.getInt(at + 24), source.getInt(at + 28), source.getInt(at + 32)),
        Terms.of(source.getInt(at + 36)),
        new Nonce(source.getLong(at + 40), source.getLong(at + 48)));
  }

  private static int crc(ByteBuffer source, int at) {
    CRC32C crc = new CRC32C();
    crc.update(source.duplicate().clear().limit(at + CRC_AT).position(at));
    return (int) crc.getValue();
  }

  /** For logs; tells no more of the epoch than a refusal does. */
  @Override
  public String toString() {
    return kind
        + (objection == null ? "" : " of " + objection)
        + " from rank "
        + from()
        + " to rank "
        + to()
        + ", "
        + value(Objection.SIZE)
        + ", "
        + value(Objection.EPOCH)
        + ", "
        + value(Objection.VERSION);
  }
}
