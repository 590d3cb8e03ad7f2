package io.collectives.engine.sharedmemory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Files that ranks map and then delete: the rings of two, and {@linkplain SharedRegion regions}.
 *
 * <p><b>Space.</b> A file is filled with zeros before it is mapped. Were it only made long, the
 * system would look for space when a page is touched, and would end the JVM with SIGBUS if there is
 * none; so there is an error instead, when nothing has been sent yet.
 *
 * <p><b>Interrupts.</b> A {@link FileChannel} breaks when its thread is interrupted. An interrupt
 * must not cost a link, so it is put off until the file is ready.
 */
final class RingFile {
  private static final FileAttribute<Set<PosixFilePermission>> FOR_OWNER =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
  private static final int BLOCK_LENGTH = 64 * 1024;

  private RingFile() {}

  /**
   * Makes and maps a file of zeros.
   *
   * @param length of the memory; the file is a little longer, see {@link MappedMemory}
   * @param process which of those that will map it this one is, from 0 on
   * @throws IOException if there is no space for it, saying how much is wanted and how much there
   *     is; then there is no file
   */
  static MappedMemory create(Path path, int length, int process) throws IOException {
    return create(
        path,
        length,
        process,
        "the frames between two ranks",
        "a shorter frame length",
        MappedMemory::map);
  }

  /** Makes and maps a file for memory that users have views of. */
  static MappedMemory createForUsers(Path path, int length, int process) throws IOException {
    return create(path, length, process, "a buffer", "a smaller buffer", MappedMemory::mapForUsers);
  }

  private static MappedMemory create(
      Path path, int length, int process, String what, String instead, Mapping mapping)
      throws IOException {
    return uninterrupted(
        () -> {
          try (FileChannel file =
              FileChannel.open(
                  path,
                  Set.of(
                      StandardOpenOption.READ,
                      StandardOpenOption.WRITE,
                      StandardOpenOption.CREATE_NEW),
                  FOR_OWNER)) {
            reserve(file, MappedMemory.fileLength(length));
            return mapping.map(file, length, process);
          } catch (ClosedByInterruptException e) {
            Files.deleteIfExists(path);
            throw e;
          } catch (IOException e) {
            try {
              Files.deleteIfExists(path);
            } catch (IOException again) {
              e.addSuppressed(again);
            }
            throw new IOException(noSpace(path, length, what, instead, e), e);
          }
        });
  }

  private static String noSpace(
      Path path, int length, String what, String instead, IOException why) {
    String free;
    try {
      free =
          String.format(
              "%,d bytes are free", Files.getFileStore(path.getParent()).getUsableSpace());
    } catch (IOException e) {
      free = "how much is free cannot be told";
    }
    return String.format(
        "cannot make %s for %s: %,d bytes are wanted, %s: %s; free some,"
            + " choose another directory with COLLECTIVES_MEMORY_DIRECTORY or"
            + " JobSettings.withMemoryDirectory, or %s",
        path, what, length, free, why, instead);
  }

  /** Writes so many zeros. */
  static void reserve(WritableByteChannel file, int length) throws IOException {
    ByteBuffer zeros = ByteBuffer.allocate(Math.min(length, BLOCK_LENGTH));
    for (int left = length; left > 0; ) {
      zeros.clear().limit(Math.min(left, zeros.capacity()));
      left -= file.write(zeros);
    }
  }

  /**
   * Maps a file that a peer has made, and deletes it: nobody else needs to find it.
   *
   * @throws java.nio.file.NoSuchFileException if the peer has deleted it, which it does when it
   *     leaves
   * @throws WrongLengthException if it is not as long as the peer says
   */
  static MappedMemory take(Path path, int length, int process) throws IOException {
    MappedMemory memory = open(path, length, process);
    try {
      Files.deleteIfExists(path);
      return memory;
    } catch (IOException e) {
      memory.close();
      throw e;
    }
  }

  /** Maps a file that a peer has made and will delete; else as {@link #take}. */
  static MappedMemory open(Path path, int length, int process) throws IOException {
    int expected = MappedMemory.fileLength(length);
    return uninterrupted(
        () -> {
          try (FileChannel file =
              FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            if (file.size() != expected) {
              throw new WrongLengthException(
                  path + " has " + file.size() + " bytes instead of " + expected);
            }
            return MappedMemory.map(file, length, process);
          }
        });
  }

  /** Touching what lies beyond a file's end would be the end of the JVM. */
  static final class WrongLengthException extends IOException {
    private static final long serialVersionUID = 1L;

    WrongLengthException(String message) {
      super(message);
    }
  }

  private interface Mapping {
    MappedMemory map(FileChannel file, int length, int process) throws IOException;
  }

  private interface Action {
    MappedMemory run() throws IOException;
  }

  private static MappedMemory uninterrupted(Action action) throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          return action.run();
        } catch (ClosedByInterruptException e) {
          interrupted |= Thread.interrupted();
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
