package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.testkit.RankThreads;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Jobs whose ranks are threads of this JVM, over a transport that a test tells by its name. */
final class ThreadJobs {
  private ThreadJobs() {}

  /**
   * Opens a job.
   *
   * @param transport {@code inprocess}, {@code shm}, {@code unix}, {@code tcp}, or {@code mixed}:
   *     shared memory and TCP at once
   * @param directory for what it takes
   */
  static List<Communicator> open(String transport, int ranks, Path directory, CallSettings settings)
      throws Exception {
    return switch (transport) {
      case "inprocess" -> Collectives.inProcess(ranks, settings);
      case "shm" -> SharedMemoryJobs.join(ranks, directory, settings);
      case "unix" -> UnixJobs.join(ranks, directory, settings);
      case "mixed" -> MixedJobs.join(ranks, directory, settings);
      case "tcp" ->
          TcpJobs.join(
              ranks, Files.createTempDirectory(directory, "job").toUri(), settings, more -> more);
      default -> throw new IllegalArgumentException(transport);
    };
  }

  /** Runs {@code body} on all ranks, all of which must end well; whoever does not aborts. */
  static void run(List<Communicator> worlds, RankThreads.Body body) throws Exception {
    RankThreads.run(
        worlds,
        world -> {
          try {
            body.run(world);
          } catch (Throwable e) {
            world.abort(e.toString()); // Else the others wait for the deadline.
            throw e;
          }
        });
  }
}
