package io.collectives.netty;

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

/**
 * What guests and host of a rendezvous say, as bytes. Numbers are big-endian; a text is its length
 * (16 bits) and its UTF-8.
 *
 * <pre>
 *   announcement  magic "JCRV" (32)  length of the rest (16)
 *                 version (16)  rank (32)  size (32)  milliseconds that the guest will wait (32)
 *                 job  transport  address  whereabouts
 *   roster        magic (32)  0 (8)  epoch (128)  for each rank: address
 *   refusal       magic (32)  1 (8)  what is wrong
 * </pre>
 *
 * <p>Nothing is allocated by a length that came from outside unless it is small: an announcement
 * has at most {@link #ANNOUNCEMENT_LIMIT} bytes, an address {@link #ADDRESS_LIMIT}, and a guest
 * knows how many addresses to expect.
 */
final class RendezvousWire {
  static final int ANNOUNCEMENT_LIMIT = 512;
  static final int ADDRESS_LIMIT = 256;

  private static final int PREFIX_LENGTH = 6;
  private static final int MAGIC = 'J' << 24 | 'C' << 16 | 'R' << 8 | 'V';
  private static final int ROSTER = 0;
  private static final int REFUSAL = 1;
  private static final int REFUSAL_LIMIT = 4096;
  private static final int WHEREABOUTS_LIMIT = 64;

  private RendezvousWire() {}

  /** A guest that waits for an answer. */
  record Guest(Announcement announcement, int patienceMillis) {}

  /** Says what cannot be announced before anybody hears of it. */
  static void check(Announcement me) {
    if (me.address().length() > ADDRESS_LIMIT || announcement(me, 0).length > ANNOUNCEMENT_LIMIT) {
      throw new JoinException("rank " + me.rank() + "'s announcement is too long: " + me);
    }
  }

  static byte[] announcement(Announcement me, int patienceMillis) {
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
   * Whether the bytes from 0 to the position of {@code received} are a whole announcement, or never
   * will be.
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
  static Guest readAnnouncement(ByteBuffer received, int version) {
    ByteBuffer in = received.duplicate().flip();
    try {
      if (in.getInt() != MAGIC || (in.getShort() & 0xffff) != in.remaining()) {
        throw new ProtocolException(
            "no announcement: it begins with 0x" + Integer.toHexString(received.getInt(0)));
      }
      int theirs = in.getShort() & 0xffff;
      if (theirs != version) {
        return new Guest(new Announcement("", -1, 0, theirs, "", "", ""), 0);
      }
      int rank = in.getInt();
      int size = in.getInt();
      int patienceMillis = in.getInt();
      String job = readText(in);
      String transport = readText(in);
      String address = readText(in);
      Announcement announcement =
          new Announcement(job, rank, size, theirs, transport, address, readText(in));
      if (address.length() > ADDRESS_LIMIT) {
        throw new ProtocolException("an address of " + address.length() + " characters");
      }
      return new Guest(announcement, Math.max(patienceMillis, 0));
    } catch (BufferUnderflowException e) {
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

  /**
   * Reads the host's answer.
   *
   * @throws JoinException with the host's words if it is a refusal
   * @throws ProtocolException if it is no answer
   */
  static Roster readAnswer(DataInputStream in, int size) throws IOException {
    int magic = in.readInt();
    int kind = in.readUnsignedByte();
    if (magic != MAGIC || kind > REFUSAL) {
      throw new ProtocolException(
          "the answer begins with 0x" + Integer.toHexString(magic) + ", kind " + kind);
    }
    if (kind == REFUSAL) {
      throw new JoinException(readText(in, REFUSAL_LIMIT));
    }
    JobEpoch epoch = new JobEpoch(in.readLong(), in.readLong());
    List<String> addresses = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      addresses.add(readText(in, ADDRESS_LIMIT));
    }
    return new Roster(epoch, addresses);
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
