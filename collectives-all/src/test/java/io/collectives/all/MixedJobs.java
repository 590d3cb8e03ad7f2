package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Jobs with the transport {@code auto} whose ranks are threads of this JVM that pretend to be on
 * two hosts: ranks 0, 1, 4 and 5 on one, ranks 2, 3, 6 and 7 on the other, and so on.
 */
final class MixedJobs {
  private MixedJobs() {}

  /** Lets so many ranks meet, and share memory, in a directory. */
  static List<Communicator> join(int ranks, Path directory, CallSettings calls) throws Exception {
    return join(ranks, directory, calls, job -> job);
  }

  /**
   * Lets them meet.
   *
   * @param more what to set beside the usual
   */
  static List<Communicator> join(
      int ranks, Path directory, CallSettings calls, UnaryOperator<JobSettings> more)
      throws Exception {
    Path memory = Files.createDirectories(directory.resolve("memory"));
    return TcpJobs.join(
        ranks,
        Files.createTempDirectory(directory, "job").toUri(),
        calls,
        job ->
            more.apply(
                job.withTransport("auto").withMemoryDirectory(memory).withHost(host(job.rank()))));
  }

  /** The name of the host that a rank pretends to be on. */
  static String host(int rank) {
    return "host-" + rank / 2 % 2;
  }
}
