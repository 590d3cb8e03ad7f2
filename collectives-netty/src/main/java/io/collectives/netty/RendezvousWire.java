package io.collectives.netty;

import static io.collectives.internal.RefusalLog.printable;

import io.collectives.JobSecret;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The messages of the clients and the server of a rendezvous, as bytes. Numbers are big-endian; a
 * text is its length (16 bits) and its UTF-8.
 *
 * <pre>
 *   announcement  magic "JCRV" (32)  length of the rest (16)
 *                 version (16)  rank (32)  size (32)  milliseconds that the client will wait (32)
 *                 1 if there is a job secret, else 0 (8)  the client's nonce (128)
 *                 job  transport  address  whereabouts
 *   roster        magic (32)  0 (8)  epoch (128)  for each rank: address
 *   refusal       magic (32)  1 (8)  what is wrong
 *   challenge     magic (32)  2 (8)  the server's nonce (128)
 * </pre>
 *
 * <p>With a job secret, server and client prove to each other that they know it, by an HMAC (256
 * bits) of the side that proves, the whole announcement, and the server's nonce:
 *
 * <pre>
 *   client: announcement     server: challenge
 *   client: HMAC             server, when all have come: roster, HMAC that also covers the roster
 * </pre>
 *
 * <p>So only clients that know the secret are told the epoch, and a roster is accepted only if it
 * was made for this client, in this rendezvous, by a server that knows the secret.
 *
 * <p>Nothing is allocated by a length that came from outside unless it is small: an announcement
 * has at most {@link #ANNOUNCEMENT_LIMIT} bytes and is followed by nothing or by an HMAC, an
 * address {@link #ADDRESS_LIMIT}, and a client knows how many addresses to expect.
 */
final class RendezvousWire {
  static final int HMAC_LENGTH = 32;
  static final int NONCE_LENGTH = 16;

  /** With the HMAC that may follow, 512 bytes. */
  static final int ANNOUNCEMENT_LIMIT = 512 - HMAC_LENGTH;

  static final int ADDRESS_LIMIT = 384;

  private static final int PREFIX_LENGTH = 6;
  private static final int MAGIC = 'J' << 24 | 'C' << 16 | 'R' << 8 | 'V';
  private static final int ROSTER = 0;
  private static final int REFUSAL = 1;
  private static final int CHALLENGE = 2;
  private static final int REFUSAL_LIMIT = 4096;

  /**
   * The longest that a job's name may be; a longer one, which cannot be right, is shortened for the
   * message.
   */
  private static final int JOB_LIMIT = 128;

  private static final int TRANSPORT_LIMIT = 32;
  private static final int WHEREABOUTS_LIMIT = 40;

  private RendezvousWire() {}

  /** A client that waits for an answer. */
  record Client(Announcement announcement, int patienceMillis, boolean hasSecret) {}

  /** The side that proves that it knows the secret. */
  enum Side {
    SERVER("HOST"),
    CLIENT("GUEST");

    /** The name in the bytes that the HMAC covers, which stay the same in all versions. */
    private final String label;

    Side(String label) {
      this.label = label;
    }
  }

  /** Fails if an announcement is too long to be sent. */
  static void check(Announcement me) {
    if (me.address().length() > ADDRESS_LIMIT
        || announcement(me, 0, null).length > ANNOUNCEMENT_LIMIT) {
      throw new JoinException("rank " + me.rank() + "'s announcement is too long: " + me);
    }
  }

  /**
   * An announcement.
   *
   * @param nonce nothing if there is no job secret
   */
  static byte[] announcement(Announcement me, int patienceMillis, byte @Nullable [] nonce) {
    String whereabouts = me.whereabouts().replaceAll("[^ -~]", "?");
    byte[] bytes =
        bytes(
            out -> {
              out.writeInt(MAGIC);
              out.writeShort(0);
              out.writeShort(me.version());
              out.writeInt(me.rank());
              out.writeInt(me.size());
              out.writeInt(patienceMillis);
              out.writeBoolean(nonce != null);
              out.write(nonce == null ? new byte[NONCE_LENGTH] : nonce);
              writeText(out, me.job());
              writeText(out, me.transport());
              writeText(out, me.address());
              writeText(
                  out, whereabouts.substring(0, Math.min(whereabouts.length(), WHEREABOUTS_LIMIT)));
            });
    ByteBuffer.wrap(bytes).putShort(4, (short) (bytes.length - PREFIX_LENGTH));
    return bytes;
  }

  /**
   * Returns whether the bytes from 0 to the position of {@code received} are a whole announcement,
   * or never will be.
   */
  static boolean isComplete(ByteBuffer received) {
    int length = received.position();
    return length >= 4 && received.getInt(0) != MAGIC
        || length >= PREFIX_LENGTH
            && length
                >= Math.min(PREFIX_LENGTH + (received.getShort(4) & 0xffff), ANNOUNCEMENT_LIMIT);
  }

  /**
   * Reads an announcement. Of one in another version only the version is known.
   *
   * @param received complete, see {@link #isComplete}
   * @throws ProtocolException if it is none
   */
  static Client readAnnouncement(ByteBuffer received, int version) {
    ByteBuffer in = received.duplicate().flip();
    try {
      if (in.getInt() != MAGIC || (in.getShort() & 0xffff) != in.remaining()) {
        throw new ProtocolException(
            "no announcement: it begins with 0x" + Integer.toHexString(received.getInt(0)));
      }
      int theirs = in.getShort() & 0xffff;
      if (theirs != version) {
        return new Client(new Announcement("", -1, 0, theirs, "", "", ""), 0, false);
      }
      int rank = in.getInt();
      int size = in.getInt();
      int patienceMillis = in.getInt();
      boolean hasSecret = in.get() != 0;
      in.position(in.position() + NONCE_LENGTH);
      String job = printable(readText(in), JOB_LIMIT);
      String transport = printable(readText(in), TRANSPORT_LIMIT);
      String address = readText(in);
      if (address.length() > ADDRESS_LIMIT) {
        throw new ProtocolException("an address of " + address.length() + " characters");
      }
      Announcement announcement =
          new Announcement(
              job,
              rank,
              size,
              theirs,
              transport,
              printable(address, ADDRESS_LIMIT),
              printable(readText(in), WHEREABOUTS_LIMIT));
      return new Client(announcement, Math.max(patienceMillis, 0), hasSecret);
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new ProtocolException("an announcement that ends too soon", e);
    }
  }

  static byte[] roster(Roster roster) {
    return bytes(
        out -> {
          out.writeInt(MAGIC);
          out.writeByte(ROSTER);
          out.writeLong(roster.epoch().high());
          out.writeLong(roster.epoch().low());
          for (String address : roster.addresses()) {
            writeText(out, address);
          }
        });
  }

  static byte[] refusal(String message) {
    return bytes(
        out -> {
          out.writeInt(MAGIC);
          out.writeByte(REFUSAL);
          writeText(out, message.substring(0, Math.min(message.length(), REFUSAL_LIMIT / 4)));
        });
  }

  static byte[] challenge(byte[] nonce) {
    return bytes(
        out -> {
          out.writeInt(MAGIC);
          out.writeByte(CHALLENGE);
          out.write(nonce);
        });
  }

  /**
   * Returns the proof that a side knows the secret.
   *
   * @param announcement the client's, all bytes
   * @param nonce the server's
   * @param roster all bytes of it, nothing in the client's proof
   */
  static byte[] hmac(
      JobSecret secret, Side side, byte[] announcement, byte[] nonce, byte[] roster) {
    byte[] label =
        ("collectives rendezvous, " + side.label + "\n").getBytes(StandardCharsets.US_ASCII);
    return secret.authenticate(label, announcement, nonce, roster);
  }

  /**
   * Reads the server's challenge; returns its nonce.
   *
   * @throws JoinException with the server's words if it is a refusal
   * @throws ProtocolException if it is neither
   */
  static byte[] readChallenge(DataInputStream in) throws IOException {
    readKind(in, CHALLENGE);
    byte[] nonce = new byte[NONCE_LENGTH];
    in.readFully(nonce);
    return nonce;
  }

  /**
   * Reads the server's answer.
   *
   * @throws JoinException with the server's words if it is a refusal
   * @throws ProtocolException if it is no answer
   */
  static Roster readAnswer(DataInputStream in, int size) throws IOException {
    readKind(in, ROSTER);
    JobEpoch epoch = new JobEpoch(in.readLong(), in.readLong());
    List<String> addresses = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      addresses.add(readText(in, ADDRESS_LIMIT));
    }
    return new Roster(epoch, addresses);
  }

  private static void readKind(DataInputStream in, int expected) throws IOException {
    int magic = in.readInt();
    int kind = in.readUnsignedByte();
    if (magic == MAGIC && kind == REFUSAL) {
      throw new JoinException(printable(readText(in, REFUSAL_LIMIT), REFUSAL_LIMIT));
    }
    if (magic != MAGIC || kind != expected) {
      throw new ProtocolException(
          "the answer begins with 0x"
              + Integer.toHexString(magic)
              + ", kind "
              + kind
              + (magic == MAGIC && kind == ROSTER ? ", and no proof was asked for" : ""));
    }
  }

  private static void writeText(DataOutputStream out, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.writeShort(bytes.length);
    out.write(bytes);
  }

  private static String readText(DataInputStream in, int limit) throws IOException {
    int length = in.readUnsignedShort();
    if (length > limit) {
      throw new ProtocolException(
          "a text of " + length + " bytes, at most " + limit + " are allowed");
    }
    byte[] bytes = new byte[length];
    in.readFully(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static String readText(ByteBuffer in) {
    int length = in.getShort() & 0xffff;
    if (length > in.remaining()) {
      throw new ProtocolException(
          "a text of " + length + " bytes where " + in.remaining() + " are left");
    }
    byte[] bytes = new byte[length];
    in.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private interface Writer {
    void write(DataOutputStream out) throws IOException;
  }

  private static byte[] bytes(Writer writer) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      writer.write(new DataOutputStream(bytes));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
