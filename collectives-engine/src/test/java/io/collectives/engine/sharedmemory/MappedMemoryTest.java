package io.collectives.engine.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Memory whose file is truncated is found out by code of each compiler: what a skipped load finds
 * depends on it.
 */
@Tag("process")
class MappedMemoryTest {
  @TempDir Path directory;

  /** Asks memory often enough to be compiled, before and after its file is truncated. */
  static final class Program {
    private static final int LENGTH = 1 << 16;

    public static void main(String[] arguments) throws IOException {
      Path path = Path.of(arguments[0]);
      int calls = Integer.parseInt(arguments[1]);
      for (int round = 0; round < 8; round++) {
        try (MappedMemory memory = create(path)) {
          for (int i = 0; i < calls; i++) {
            say(memory.hasPages(128, LENGTH) && memory.isWhole(), "not whole before");
          }
          say(holds(memory.bytes(), round), "not what was written");
          try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(round % 2 == 0 ? 0 : LENGTH / 2);
          }
          boolean whole = round < 4 ? memory.hasPages(128, LENGTH) : memory.isWhole();
          say(!whole, "whole after round " + round);
          say(!memory.isWhole() && !memory.isWhole(0, 8), "whole again");
        }
        Files.delete(path);
      }
      System.out.println("done");
    }

    private static MappedMemory create(Path path) throws IOException {
      try (FileChannel file =
          FileChannel.open(
              path,
              StandardOpenOption.CREATE_NEW,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE)) {
        RingFile.reserve(file, MappedMemory.fileLength(LENGTH));
        return MappedMemory.map(file, LENGTH, 0);
      }
    }

    /** Words that were asked for are as before. */
    private static boolean holds(ByteBuffer bytes, int round) {
      boolean all = true;
      for (int i = 0; i < LENGTH; i++) {
        all &= bytes.get(i) == 0;
      }
      bytes.put(LENGTH - 1, (byte) round);
      return all;
    }

    private static void say(boolean right, String otherwise) {
      if (!right) {
        System.out.println(otherwise);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"})
  void knowsWhenItsFileIsTruncated(String compiler) throws Exception {
    Path output = directory.resolve("output");
    Process java =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                compiler,
                "-cp",
                System.getProperty("java.class.path"),
                Program.class.getName(),
                directory.resolve("memory").toString(),
                compiler.equals("-Xint") ? "1" : "20000")
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertTrue(java.waitFor(60, TimeUnit.SECONDS), "it does not end");
      String said = Files.readString(output, StandardCharsets.UTF_8);
      assertEquals("done", said.strip());
    } finally {
      java.destroyForcibly();
    }
  }
}
