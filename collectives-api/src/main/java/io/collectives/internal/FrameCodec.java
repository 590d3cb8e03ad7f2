package io.collectives.internal;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * Frame headers as bytes, for transports that carry bytes. All numbers are little-endian.
 *
 * <pre>
 *     0  magic "JC", version (16 bits)
 *     4  what the header {@linkplain FrameHeader#write writes}, 100 bytes
 *   104  job epoch, high  112  job epoch, low, xor ranks of sender (32) and receiver (32)
 *   120  CRC32C of the body 124  CRC32C of bytes 0 to 123
 * </pre>
 *
 * <p>Whether bodies have checksums is agreed upon when ranks meet; if not, the field is zero. The
 * body follows, padded with zeros to a multiple of 8 bytes, so that every header and body begins at
 * a multiple of 8 in the stream. One codec serves one link in one direction; used by one thread at
 * a time.
 */
public final class FrameCodec {

  /** The length of a header in bytes. */
  public static final int HEADER_LENGTH = 128;

  private static final int MAGIC = 'J' | 'C' << 8;
  private static final int HEADER_AT = 4;
  private static final int EPOCH_AT = HEADER_AT + FrameHeader.BYTES;
  private static final int BODY_CRC_AT = 120;
  private static final int CRC_AT = 124;

  private final JobEpoch epoch;
  private final int sender;
  private final int receiver;

  /** Of sender and receiver. */
  private final long ranks;

  private final CRC32C crc = new CRC32C();

  /**
   * A codec of one direction.
   *
   * @param sender the rank, counted in the whole job, whose frames these are
   * @param receiver the rank that they go to
   */
  public FrameCodec(JobEpoch epoch, int sender, int receiver) {
    this.epoch = epoch;
    this.sender = sender;
    this.receiver = receiver;
    this.ranks = (long) sender << 32 | receiver;
  }

  /** The length of a body and its padding. */
  public static int padded(int length) {
    return length + 7 & ~7;
  }

  /** Writes a header, of a body without a checksum, to {@code target} from index {@code at} on. */
  public void encode(FrameHeader header, FrameBytes target, int at) {
    encode(header, 0, target, at);
  }

  /**
   * Encodes as {@link #encode(FrameHeader, FrameBytes, int)} does, with the checksum of the body.
   */
  public void encode(FrameHeader header, int bodyChecksum, FrameBytes target, int at) {
    ByteBuffer b = target.bytes();
    b.putInt(at, MAGIC | Rendezvous.PROTOCOL_VERSION << 16);
    header.write(target, at + HEADER_AT);
    b.putLong(at + EPOCH_AT, epoch.high());
    b.putLong(at + EPOCH_AT + 8, epoch.low() ^ ranks);
    b.putInt(at + BODY_CRC_AT, bodyChecksum);
    b.putInt(at + CRC_AT, crc(target, at));
  }

  /**
   * Reads a header.
   *
   * @throws ProtocolException naming what was found and what was expected
   */
  public void decode(FrameBytes source, int at, FrameHeader header) {
    ByteBuffer b = source.bytes();
    check("magic", b.getShort(at), MAGIC);
    check("checksum of a header", b.getInt(at + CRC_AT), crc(source, at));
    check("protocol version", b.getShort(at + 2) & 0xffff, Rendezvous.PROTOCOL_VERSION);
    long high = b.getLong(at + EPOCH_AT);
    long low = b.getLong(at + EPOCH_AT + 8);
    if (high == epoch.high()) {
      long theirs = low ^ epoch.low();
      // 64 random bits are right: what differs in the others is the ranks.
      check("sender's rank", (int) (theirs >>> 32), sender);
      check("receiver's rank", (int) theirs, receiver);
    } else {
      throw new ProtocolException(
          "a frame from rank "
              + sender
              + " to rank "
              + receiver
              + " is of another run of the job: its epoch is "
              + new JobEpoch(high, low ^ ranks)
              + ", expected "
              + epoch);
    }
    header.read(source, at + HEADER_AT, sender, receiver);
    if (header.length > Integer.MAX_VALUE - 7) {
      throw new ProtocolException(
          "a frame from rank " + sender + " claims a body of " + header.length + " bytes");
    }
  }

  /** The checksum of the body as the header at {@code at}, which was decoded, says it. */
  public static int bodyChecksum(FrameBytes source, int at) {
    return source.bytes().getInt(at + BODY_CRC_AT);
  }

  /** Adds bytes to a checksum. */
  public static void update(CRC32C crc, FrameBytes source, int at, int length) {
    ByteBuffer bytes = source.bytes();
    try {
      bytes.limit(at + length).position(at);
      crc.update(bytes);
    } finally {
      bytes.clear(); // An error of memory that is gone may come in between.
    }
  }

  private int crc(FrameBytes header, int at) {
    crc.reset();
    update(crc, header, at, CRC_AT);
    return (int) crc.getValue();
  }

  private void check(String what, int found, int expected) {
    if (found != expected) {
      throw new ProtocolException(
          "a frame from rank "
              + sender
              + " to rank "
              + receiver
              + ": "
              + what
              + " is 0x"
              + Integer.toHexString(found)
              + ", expected 0x"
              + Integer.toHexString(expected));
    }
  }
}
