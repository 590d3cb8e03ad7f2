package io.collectives.engine.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RingFileTest {
  private static final int LENGTH = 200_000;

  @TempDir Path directory;

  @Test
  void twoShareWhatNobodyElseFinds() throws IOException {
    Path path = directory.resolve("rings");
    try (MappedMemory made = RingFile.create(path, LENGTH, 0)) {
      assertTrue(Files.size(path) >= LENGTH);
      assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
      assertEquals(ByteBuffer.allocate(LENGTH), made.bytes());
      try (MappedMemory taken = RingFile.take(path, LENGTH, 1)) {
        assertFalse(Files.exists(path));
        made.bytes().putLong(4096, 42);
        assertEquals(42, taken.bytes().getLong(4096));
      }
      assertEquals(42, made.bytes().getLong(4096), "each has its own mapping");
    }
  }

  @Test
  void takesNoFileOfAnotherLength() throws IOException {
    Path path = directory.resolve("rings");
    RingFile.create(path, LENGTH, 0).close();
    assertThrows(
        RingFile.WrongLengthException.class, () -> RingFile.take(path, LENGTH + 5000, 1).close());
    assertThrows(
        NoSuchFileException.class,
        () -> RingFile.take(directory.resolve("none"), LENGTH, 1).close());
  }

  @Test
  void saysWhatIsMissingWhereAFileCannotBeMade() {
    Path path = directory.resolve("gone").resolve("rings");
    IOException error =
        assertThrows(IOException.class, () -> RingFile.create(path, LENGTH, 0).close());
    assertTrue(error.getMessage().contains(path.toString()), error.getMessage());
    assertTrue(error.getMessage().contains("200,000 bytes are wanted"), error.getMessage());
  }

  /** A file that is only long finds out that the disk is full when it is too late for an error. */
  @Test
  void aFileHasItsSpaceBeforeItIsMapped() throws Exception {
    Path path = directory.resolve("rings");
    RingFile.create(path, LENGTH, 0).close();
    Process du = new ProcessBuilder("du", "-k", path.toString()).start();
    String used = new String(du.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, du.waitFor(), used);
    int kibibytes = Integer.parseInt(used.substring(0, used.indexOf('\t')));
    assertTrue(kibibytes >= LENGTH / 1024, used);
  }

  /** Each byte is written before anything is mapped, so that a full disk is an error. */
  @Test
  void writesEveryByte() throws IOException {
    Disk disk = new Disk(LENGTH);
    RingFile.reserve(disk, LENGTH);
    assertEquals(LENGTH, disk.written);
    IOException full =
        assertThrows(IOException.class, () -> RingFile.reserve(new Disk(LENGTH - 1), LENGTH));
    assertEquals("No space left on device", full.getMessage());
  }

  /** Takes little at once, and no more than it has space for. */
  private static final class Disk implements WritableByteChannel {
    private final int space;
    private int written;

    Disk(int space) {
      this.space = space;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
      int length = Math.min(Math.min(source.remaining(), 50_000), space - written);
      if (length == 0) {
        throw new IOException("No space left on device");
      }
      source.position(source.position() + length);
      written += length;
      return length;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }

  @Test
  void anInterruptIsPutOff() throws IOException {
    Path path = directory.resolve("rings");
    Thread.currentThread().interrupt();
    try (MappedMemory made = RingFile.create(path, LENGTH, 0);
        MappedMemory taken = RingFile.take(path, LENGTH, 1)) {
      assertTrue(Thread.currentThread().isInterrupted());
      made.bytes().put(0, (byte) 1);
      assertEquals(1, taken.bytes().get(0));
    } finally {
      assertTrue(Thread.interrupted());
    }
  }

  /** Wherever the file ends, what lies before is there and as it was. */
  @Test
  void whetherAPageIsThereIsAskedOfThePage() throws IOException {
    Path path = directory.resolve("rings");
    int length = 5 * 4096;
    for (int pages = 0; pages < 5; pages++) {
      try (MappedMemory made = RingFile.create(path, length, 0)) {
        for (int i = 0; i < length; i++) {
          made.bytes().put(i, (byte) (7 * i));
        }
        assertTrue(made.isWhole(64, length - 64));
        for (int i = 0; i < length; i++) {
          assertEquals((byte) (7 * i), made.bytes().get(i), "byte " + i);
        }
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.WRITE)) {
          file.truncate(4096L * pages + 1);
        }
        assertFalse(made.isWhole(4096 * pages, length), "after " + pages + " pages");
      }
      Files.delete(path);
    }
  }

  /** Not when the garbage collector comes by. */
  @Test
  void memoryIsFreedWhenItIsClosed() throws IOException {
    assertTrue(MappedMemory.isDeterministic(), "on every JDK that this is built with");
    if (Runtime.version().feature() >= 22) {
      return; // Mappings of arenas are not counted there.
    }
    long most = mapped() + 200; // Tests beside this one map memory, too.
    for (int i = 0; i < 300; i++) {
      RingFile.create(directory.resolve("rings"), LENGTH, 0).close();
      RingFile.take(directory.resolve("rings"), LENGTH, 1).close();
    }
    assertTrue(mapped() <= most, mapped() + " mappings, at most " + most + " expected");
  }

  private static long mapped() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("mapped"))
        .mapToLong(BufferPoolMXBean::getCount)
        .sum();
  }
}
