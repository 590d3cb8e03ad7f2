package io.collectives.bench.chaos;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * A directory of its own for the shared memory and the sockets of jobs: what they leave is seen.
 */
public final class MemoryDirectory implements AutoCloseable {
  /** Directories that are younger are not taken for those of dead ranks. */
  private static final long OLD_MILLIS = 11_000;

  private final Path path;

  /**
   * Makes an empty one, in memory where the host has such a file system.
   *
   * @throws IOException if that cannot be
   */
  public MemoryDirectory() throws IOException {
    Path memory = Path.of("/dev/shm");
    path =
        Files.isDirectory(memory) && Files.isWritable(memory)
            ? Files.createTempDirectory(memory, "chaos-")
            : Files.createTempDirectory("chaos-");
  }

  /** Returns where it is. */
  public Path path() {
    return path;
  }

  /** Returns how many files and directories are in it. */
  public int entries() throws IOException {
    return all().size();
  }

  /**
   * Returns what is still in it after one more job: ranks that are killed all at once can clear up
   * nothing, so the next job of their user does.
   *
   * @param settings of that job, in this directory
   * @throws IOException if that job does not end well
   */
  public int leftovers(ChaosSettings settings) throws IOException, InterruptedException {
    if (entries() > 0) {
      Thread.sleep(OLD_MILLIS);
      try (LongRun last = new LongRun(settings, new SplittableRandom(0))) {
        if (!last.start() || !last.end()) {
          throw new IOException("the job that clears up failed: " + last.complaints());
        }
      }
    }
    return entries();
  }

  /** All that is in it, deepest first, but not itself. */
  private List<Path> all() throws IOException {
    try (Stream<Path> paths = Files.walk(path)) {
      return paths.filter(file -> !file.equals(path)).sorted(Comparator.reverseOrder()).toList();
    } catch (UncheckedIOException e) {
      if (e.getCause() instanceof NoSuchFileException) {
        return all(); // A rank has just deleted it.
      }
      throw e.getCause();
    }
  }

  @Override
  public void close() throws IOException {
    for (Path file : all()) {
      Files.deleteIfExists(file);
    }
    Files.deleteIfExists(path);
  }
}
