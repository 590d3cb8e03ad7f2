package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Jobs over Unix-domain sockets whose ranks are threads of this JVM. */
final class UnixJobs {
  private UnixJobs() {}

  /** Lets so many ranks meet, and have their sockets, in a directory. */
  static List<Communicator> join(int ranks, Path directory, CallSettings calls) throws Exception {
    return TcpJobs.join(
        ranks,
        Files.createTempDirectory(directory, "job").toUri(),
        calls,
        job -> job.withTransport("unix").withMemoryDirectory(directory));
  }
}
