package io.collectives.all;

import io.collectives.Algorithm;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

/** Meets in a directory. */
final class TcpRingTest extends TcpAllReduce {
  @TempDir private Path directory;

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }

  @Override
  URI place() throws IOException {
    return Files.createTempDirectory(directory, "job").toUri();
  }
}
