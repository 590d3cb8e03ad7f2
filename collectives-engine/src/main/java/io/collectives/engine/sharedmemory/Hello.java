package io.collectives.engine.sharedmemory;

import io.collectives.ProtocolException;
import io.collectives.spi.JobEpoch;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The message with which a rank asks another one for a link. As bytes, little-endian:
 *
 * <pre>
 *    0  protocol version    4  size of the job
 *    8  job epoch, high    16  job epoch, low
 *   24  sender's rank      28  receiver's rank
 *   32  1 if bodies have checksums, else 0
 *   36  length of the sender's longest record
 * </pre>
 *
 * @param version of the protocol
 * @param size the number of ranks
 * @param epoch of the run of the job
 * @param from the sender's rank
 * @param to the receiver's rank
 * @param checksums whether bodies have checksums
 * @param recordLength the length of the longest record that the sender wants to write
 */
record Hello(
    int version, int size, JobEpoch epoch, int from, int to, boolean checksums, int recordLength) {

  /** The length in bytes. */
  static final int LENGTH = 40;

  ByteBuffer bytes() {
    return ByteBuffer.allocate(LENGTH)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(version)
        .putInt(size)
        .putLong(epoch.high())
        .putLong(epoch.low())
        .putInt(from)
        .putInt(to)
        .putInt(checksums ? 1 : 0)
        .putInt(recordLength)
        .flip();
  }

  /**
   * Reads the message.
   *
   * @param source little-endian
   */
  static Hello read(ByteBuffer source) {
    if (source.remaining() != LENGTH) {
      throw new ProtocolException(
          "a HELLO of " + source.remaining() + " bytes instead of " + LENGTH);
    }
    return new Hello(
        source.getInt(),
        source.getInt(),
        new JobEpoch(source.getLong(), source.getLong()),
        source.getInt(),
        source.getInt(),
        source.getInt() != 0,
        source.getInt());
  }

  /**
   * Why this rank refuses another one, for people.
   *
   * @param mostRecordLength the length of the longest record that any settings ask for
   */
  @Nullable String objectionTo(Hello other, long mostRecordLength) {
    if (other.version != version) {
      return "protocol version " + version + " here, " + other.version + " there";
    }
    if (!other.epoch.equals(epoch)) {
      // Who knows the epoch is believed to belong to the job, so it is not told.
      return "job epoch " + hint(epoch) + "… here, " + hint(other.epoch) + "… there";
    }
    if (other.size != size) {
      return "a job of " + size + " ranks here, of " + other.size + " there";
    }
    if (other.to != from) {
      return "rank " + from + " is here, rank " + other.to + " is wanted";
    }
    if (other.from < 0 || other.from >= size || other.from == from) {
      return "rank " + other.from + " cannot be linked with rank " + from + " of " + size;
    }
    if (other.checksums != checksums) {
      return checksums
          ? "checksums of payloads here, none there"
          : "no checksums of payloads here, but there";
    }
    if (other.recordLength < Ring.SMALLEST_RECORD || other.recordLength > mostRecordLength) {
      return "records of " + other.recordLength + " bytes are wanted, at most " + mostRecordLength;
    }
    return null;
  }

  private static String hint(JobEpoch epoch) {
    return epoch.toString().substring(0, 8);
  }
}
