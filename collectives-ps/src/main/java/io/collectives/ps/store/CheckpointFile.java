package io.collectives.ps.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import java.util.zip.CRC32C;

/**
 * A file with a server's part of the parameters and its optimizer's state.
 *
 * <pre>
 *  0  magic "collpara"       8 bytes
 *  8  format version         8, as all numbers up to the name
 * 16  parameters of the model, tensors, digest of the tensors
 * 40  part, parts, clock, updates, arrays of state
 * 80  the optimizer's name   64 bytes of UTF-8, filled with zeros
 * 144 CRC-32C of all above   8
 * 152 weights, then each array of state: 4 bytes for each parameter of the part
 *     CRC-32C of the numbers 8
 * </pre>
 *
 * All is little-endian. A file is written under a temporary name, forced to the disk, and renamed
 * in one step, so there is never half of one under its name.
 */
final class CheckpointFile {
  private static final long MAGIC = 0x61726170_6c6c6f63L;
  private static final long VERSION = 1;
  private static final int NAME_LENGTH = 64;
  private static final int NAME_AT = 80;
  private static final int HEAD = NAME_AT + NAME_LENGTH + Long.BYTES;
  private static final int BLOCK = 1 << 16;

  private CheckpointFile() {}

  /**
   * The first part of a file.
   *
   * @param clock the number of steps that all workers have done, at least
   * @param updates the number of updates that the weights have had
   * @param optimizer the name of the optimizer
   */
  record Head(
      Model model,
      int part,
      int parts,
      long clock,
      long updates,
      String optimizer,
      int stateCount) {}

  /** Makes sure that a name fits into a file. */
  static void checkName(String optimizer) {
    int length = optimizer.getBytes(StandardCharsets.UTF_8).length;
    if (length > NAME_LENGTH) {
      throw new IllegalArgumentException(
          "an optimizer's name of " + length + " bytes: must be at most " + NAME_LENGTH);
    }
  }

  /**
   * Writes the state of a server.
   *
   * @param temporary a path in the same directory as {@code file}
   */
  static void write(Path file, Path temporary, Shard shard, Head head) throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            temporary,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      ByteBuffer block = ByteBuffer.allocateDirect(BLOCK).order(ByteOrder.LITTLE_ENDIAN);
      putHead(block, head);
      writeAll(channel, block.flip());
      CRC32C sum = new CRC32C();
      write(channel, block, shard.weights, sum);
      for (float[] array : shard.state) {
        write(channel, block, array, sum);
      }
      writeAll(channel, block.clear().putLong(sum.getValue()).flip());
      channel.force(true);
    }
    Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    Path directory = file.toAbsolutePath().getParent();
    forceDirectory(Objects.requireNonNull(directory, "a file lies in a directory"));
  }

  /**
   * Forces a directory to the disk: the new name of a file is on the disk only when its directory
   * is.
   */
  private static void forceDirectory(Path directory) throws IOException {
    if (System.getProperty("os.name").startsWith("Windows")) {
      return; // Directories cannot be opened there; the file system keeps a journal of names.
    }
    try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  private static void putHead(ByteBuffer block, Head head) {
    block.clear().putLong(MAGIC).putLong(VERSION);
    block.putLong(head.model.count()).putLong(head.model.tensors()).putLong(head.model.digest());
    block.putLong(head.part).putLong(head.parts).putLong(head.clock).putLong(head.updates);
    block.putLong(head.stateCount);
    byte[] name = head.optimizer.getBytes(StandardCharsets.UTF_8);
    block.put(name).put(new byte[NAME_LENGTH - name.length]);
    CRC32C sum = new CRC32C();
    sum.update(block.duplicate().flip());
    block.putLong(sum.getValue());
  }

  private static void write(FileChannel channel, ByteBuffer block, float[] array, CRC32C sum)
      throws IOException {
    for (int from = 0; from < array.length; ) {
      int count = Math.min(BLOCK / Float.BYTES, array.length - from);
      block.clear().asFloatBuffer().put(array, from, count);
      block.limit(count * Float.BYTES);
      sum.update(block);
      writeAll(channel, block.rewind());
      from += count;
    }
  }

  private static void writeAll(FileChannel channel, ByteBuffer block) throws IOException {
    while (block.hasRemaining()) {
      channel.write(block);
    }
  }

  /**
   * Reads the head of a file.
   *
   * @throws CheckpointException if it was not written by this class, or is incomplete
   */
  static Head head(Path file) {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      return head(file, channel, ByteBuffer.allocate(HEAD).order(ByteOrder.LITTLE_ENDIAN));
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  private static Head head(Path file, FileChannel channel, ByteBuffer block) throws IOException {
    long length = channel.size();
    block.clear().limit((int) Math.min(HEAD, length));
    readAll(channel, block);
    block.flip();
    if (length < Long.BYTES || block.getLong() != MAGIC) {
      throw new CheckpointException(
          file + " is no checkpoint of parameters: restore from a directory that holds only those");
    }
    if (length < HEAD) {
      throw damaged(file, "it ends after " + length + " bytes, within its head");
    }
    CRC32C sum = new CRC32C();
    sum.update(block.duplicate().limit(HEAD - Long.BYTES).rewind());
    if (sum.getValue() != block.getLong(HEAD - Long.BYTES)) {
      throw damaged(file, "the checksum of its head is wrong");
    }
    long version = block.getLong();
    if (version != VERSION) {
      throw new CheckpointException(
          file
              + " has format version "
              + version
              + ", this library reads version "
              + VERSION
              + ": restore it with the library that wrote it");
    }
    Model model = new Model(block.getLong(), (int) block.getLong(), block.getLong());
    int part = (int) block.getLong();
    int parts = (int) block.getLong();
    long clock = block.getLong();
    long updates = block.getLong();
    int stateCount = (int) block.getLong();
    if (part < 0 || part >= parts || stateCount < 0) {
      throw damaged(file, "its head says part " + part + " of " + parts);
    }
    byte[] name = new byte[NAME_LENGTH];
    block.get(name);
    Head head =
        new Head(
            model,
            part,
            parts,
            clock,
            updates,
            new String(name, StandardCharsets.UTF_8).replace("\0", ""),
            stateCount);
    long numbers = (1L + stateCount) * model.partCount(part, parts) * Float.BYTES;
    long wanted = HEAD + numbers + Long.BYTES;
    if (length != wanted) {
      throw damaged(file, "it has " + length + " bytes, not " + wanted);
    }
    return head;
  }

  /**
   * Reads the numbers that lie in a server's part into it.
   *
   * @throws CheckpointException if the file is incomplete
   */
  static void read(Path file, Shard into) {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      ByteBuffer block = ByteBuffer.allocateDirect(BLOCK).order(ByteOrder.LITTLE_ENDIAN);
      Head head = head(file, channel, block);
      long from = head.model.start(head.part, head.parts);
      long shift = from - head.model.start(into.part, into.parts);
      int count = head.model.partCount(head.part, head.parts);
      CRC32C sum = new CRC32C();
      read(channel, block, count, shift, into.weights, sum);
      for (float[] array : into.state) {
        read(channel, block, count, shift, array, sum);
      }
      block.clear().limit(Long.BYTES);
      readAll(channel, block);
      if (block.flip().getLong() != sum.getValue()) {
        throw damaged(file, "the checksum of its numbers is wrong");
      }
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  /**
   * Reads an array of the file.
   *
   * @param shift the index of its first number in {@code array}; may be outside
   */
  private static void read(
      FileChannel channel, ByteBuffer block, int count, long shift, float[] array, CRC32C sum)
      throws IOException {
    for (int done = 0; done < count; ) {
      int now = Math.min(BLOCK / Float.BYTES, count - done);
      block.clear().limit(now * Float.BYTES);
      readAll(channel, block);
      sum.update(block.flip());
      long place = shift + done;
      int first = (int) Math.min(now, Math.max(0, -place));
      int last = (int) Math.max(first, Math.min(now, array.length - place));
      if (last > first) {
        block
            .rewind()
            .asFloatBuffer()
            .position(first)
            .get(array, (int) place + first, last - first);
      }
      done += now;
    }
  }

  private static void readAll(FileChannel channel, ByteBuffer block) throws IOException {
    while (block.hasRemaining()) {
      if (channel.read(block) < 0) {
        throw new IOException("it has become shorter");
      }
    }
  }

  private static CheckpointException damaged(Path file, String how) {
    return new CheckpointException(
        "checkpoint "
            + file
            + " is damaged: "
            + how
            + "; bring back a copy of it, or delete all files of its step to restore the one"
            + " before");
  }

  private static CheckpointException unreadable(Path file, IOException e) {
    return new CheckpointException(
        "checkpoint "
            + file
            + " cannot be read: "
            + e
            + "; make it readable, or delete all files of its step to restore the one before",
        e);
  }
}
