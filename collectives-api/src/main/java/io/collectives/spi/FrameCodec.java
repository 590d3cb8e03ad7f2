package io.collectives.spi;

import io.collectives.ProtocolException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * Frame headers as bytes, for transports that carry bytes. All numbers are little-endian.
 *
 * <pre>
 *     0  magic "JCOL"        4  version (16 bits), kind (8), zero (8)
 *     8  job epoch, high    16  job epoch, low, xor ranks of sender (32) and receiver (32)
 *    24  group              32  sequence
 *    40  slab (32)          44  lane (32)
 *    48  round (32)         52  first chunk (32)
 *    56  chunk count (32)   60  length of the body (32)
 *    64  fingerprint of the call, 6 words
 *   112  tag
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

  private static final int MAGIC = 'J' | 'C' << 8 | 'O' << 16 | 'L' << 24;
  private static final int TAG_AT = 112;
  private static final int BODY_CRC_AT = 120;
  private static final int CRC_AT = 124;
  private static final FrameHeader.Kind[] KINDS = FrameHeader.Kind.values();

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

  /** As {@link #encode(FrameHeader, FrameBytes, int)}, with the checksum of the body. */
  public void encode(FrameHeader header, int bodyChecksum, FrameBytes target, int at) {
    ByteBuffer b = target.bytes();
    b.putInt(at, MAGIC);
    b.putShort(at + 4, (short) Rendezvous.PROTOCOL_VERSION);
    b.putShort(at + 6, (short) header.kind.ordinal());
    b.putLong(at + 8, epoch.high());
    b.putLong(at + 16, epoch.low() ^ ranks);
    b.putLong(at + 24, header.group);
    b.putLong(at + 32, header.sequence);
    b.putInt(at + 40, header.slab);
    b.putInt(at + 44, header.lane);
    b.putInt(at + 48, header.round);
    b.putInt(at + 52, header.firstChunk);
    b.putInt(at + 56, header.chunkCount);
    b.putInt(at + 60, header.length);
    for (int i = 0; i < CallFingerprint.WORDS; i++) {
      b.putLong(at + 64 + 8 * i, header.call[i]);
    }
    b.putLong(at + TAG_AT, header.tag);
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
    check("magic", b.getInt(at), MAGIC);
    check("checksum of a header", b.getInt(at + CRC_AT), crc(source, at));
    check("protocol version", b.getShort(at + 4) & 0xffff, Rendezvous.PROTOCOL_VERSION);
    long theirs = b.getLong(at + 16) ^ epoch.low();
    if (b.getLong(at + 8) == epoch.high()) {
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
              + new JobEpoch(b.getLong(at + 8), b.getLong(at + 16) ^ ranks)
              + ", expected "
              + epoch);
    }
    int kind = b.getShort(at + 6) & 0xffff;
    if (kind >= KINDS.length) {
      check("kind of frame", kind, KINDS.length - 1);
    }
    header.kind = KINDS[kind];
    header.group = b.getLong(at + 24);
    header.sequence = b.getLong(at + 32);
    header.slab = b.getInt(at + 40);
    header.lane = b.getInt(at + 44);
    header.round = b.getInt(at + 48);
    header.firstChunk = b.getInt(at + 52);
    header.chunkCount = b.getInt(at + 56);
    header.length = b.getInt(at + 60);
    header.tag = b.getLong(at + TAG_AT);
    for (int i = 0; i < CallFingerprint.WORDS; i++) {
      header.call[i] = b.getLong(at + 64 + 8 * i);
    }
    header.check(sender, receiver);
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
    bytes.limit(at + length).position(at);
    crc.update(bytes);
    bytes.clear();
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
