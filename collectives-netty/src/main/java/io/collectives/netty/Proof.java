package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;

/**
 * The proof by which two ranks show each other that they know the job's secret. As bytes, 64 of
 * them: magic "JCPR" at 0, the HMAC at 8, else zero.
 *
 * <pre>
 *   the one who connects            the one who accepts
 *   HELLO with a nonce         ──▶  may this rank come in at all?
 *                              ◀──  HELLO with another nonce
 *   proof                      ──▶  right: the connection is the link; wrong: REFUSAL
 *   right: it is the link      ◀──  proof
 * </pre>
 *
 * <p>The HMAC covers which side proves, the job's name, and both HELLOs whole: protocol version,
 * epoch, size, both ranks, terms and both nonces. So a proof fits one side of one connection: sent
 * back to where it came from, or on another connection, it is wrong. The rank that connects proves
 * first, so that unauthenticated peers get nothing that depends on the secret.
 */
final class Proof {
  /**
   * The length in bytes, which is that of a handshake message, so that nothing longer is read from
   * an unauthenticated peer.
   */
  static final int LENGTH = Handshake.LENGTH;

  private static final int MAGIC = 'J' | 'C' << 8 | 'P' << 16 | 'R' << 24;
  private static final int HMAC_AT = 8;
  private static final int HMAC_LENGTH = 32;

  /** The side that proves. */
  enum Side {
    /** The rank that has connected. */
    CONNECTS,
    /** The rank that has accepted. */
    ACCEPTS
  }

  private final JobSecret secret;
  private final String job;
  private final Handshake hello;
  private final Handshake answer;

  /**
   * Creates the proofs of one connection.
   *
   * @param hello the HELLO of the rank that connects
   * @param answer the HELLO of the rank that accepts
   */
  Proof(JobSecret secret, String job, Handshake hello, Handshake answer) {
    this.secret = secret;
    this.job = job;
    this.hello = hello;
    this.answer = answer;
  }

  /** All bytes of a side's proof. */
  byte[] bytes(Side side) {
    ByteBuffer b = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
    b.putInt(0, MAGIC).put(HMAC_AT, hmac(side));
    return b.array();
  }

  /**
   * Returns whether a proof is the right one of a side.
   *
   * @param source little-endian
   * @throws ProtocolException if these bytes are no proof at all
   */
  boolean isRight(Side side, ByteBuffer source, int at) {
    if (source.getInt(at) != MAGIC) {
      throw new ProtocolException(
          "no proof: it begins with 0x"
              + Integer.toHexString(Integer.reverseBytes(source.getInt(at))));
    }
    byte[] found = new byte[HMAC_LENGTH];
    source.get(at + HMAC_AT, found);
    return MessageDigest.isEqual(hmac(side), found);
  }

  private byte[] hmac(Side side) {
    String label = "collectives admission, the one who " + side + " in job " + job + "\n";
    return secret.authenticate(
        label.getBytes(StandardCharsets.US_ASCII), hello.bytes().array(), answer.bytes().array());
  }
}
