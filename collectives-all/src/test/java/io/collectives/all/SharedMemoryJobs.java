package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Jobs over shared memory whose ranks are threads of this JVM. */
final class SharedMemoryJobs {
  private SharedMemoryJobs() {}

  /** Lets so many ranks meet, and share memory, in a directory. */
  static List<Communicator> join(int ranks, Path directory, CallSettings calls) throws Exception {
    Path memory = Files.createDirectories(directory.resolve("memory"));
    return TcpJobs.join(
        ranks,
        Files.createTempDirectory(directory, "job").toUri(),
        calls,
        job -> job.withTransport("shm").withMemoryDirectory(memory));
  }
}
