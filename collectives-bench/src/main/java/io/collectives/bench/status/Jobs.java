package io.collectives.bench.status;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The jobs that a word stands for.
 *
 * @param found one if the word names one
 * @param refused why places were not looked into, for people
 */
public record Jobs(List<JobRanks> found, List<String> refused) {
  /** Keeps copies of the lists. */
  public Jobs {
    found = List.copyOf(found);
    refused = List.copyOf(refused);
  }

  /**
   * Finds the jobs.
   *
   * @param which a process, a directory or {@code host:port}; null for all of this user on this
   *     host
   * @throws IOException if the word stands for no job; the message says what was looked for
   */
  public static Jobs of(@Nullable String which) throws IOException, InterruptedException {
    List<String> refused = new ArrayList<>();
    if (which == null) {
      return new Jobs(JobRanks.here(refused), refused);
    }
    if (which.matches("\\d{1,18}")) {
      return ofProcess(Long.parseLong(which), JobRanks.here(refused), refused);
    }
    try {
      Path directory = Path.of(which);
      if (Files.isDirectory(directory)) {
        return in(directory, JobRanks.here(refused), refused);
      }
    } catch (InvalidPathException e) {
      // Then it is something else.
    }
    RemoteEndpoint remote = RemoteEndpoint.parse(which);
    if (remote != null) {
      return at(remote, JobRanks.here(refused), refused);
    }
    throw new IOException(
        "'" + which + "' is neither the number of a process, nor a directory, nor host:port");
  }

  private static Jobs ofProcess(long pid, List<JobRanks> all, List<String> refused)
      throws IOException {
    List<JobRanks> found = all.stream().filter(job -> job.has(pid)).toList();
    if (found.isEmpty()) {
      throw new IOException(
          "process "
              + pid
              + (ProcessHandle.of(pid).isEmpty()
                  ? " does not run"
                  : " is no rank that answers: it has not joined a job yet, or belongs to another"
                      + " user, or has COLLECTIVES_STATUS=off, or other directories for temporary"
                      + " files (then name the directory of its socket)")
              + "; "
              + known(all)
              + because(refused));
    }
    return new Jobs(found, refused);
  }

  /** The job of a rank that listens somewhere; those of its ranks that run here are asked here. */
  private static Jobs at(RemoteEndpoint remote, List<JobRanks> all, List<String> refused)
      throws IOException {
    RankAnswer answer;
    try {
      answer = RankAnswer.parse(remote.ask("status", JobRanks.LIMIT));
    } catch (SocketTimeoutException e) {
      throw new IOException(
          remote.describe() + " does not answer within " + JobRanks.LIMIT.toSeconds() + " s", e);
    } catch (ConnectException e) {
      throw new IOException(
          remote.describe()
              + ": nobody listens there; a rank listens by TCP only if it has peers on other hosts,"
              + " or uses the transport tcp",
          e);
    } catch (IOException | IllegalArgumentException e) {
      throw new IOException(remote.describe() + ": " + e.getMessage(), e);
    }
    Map<Integer, Endpoint> ranks = new TreeMap<>(Map.of(answer.rank(), remote));
    for (JobRanks job : all) {
      if (job.run().equals(answer.place().run())) {
        ranks.putAll(job.endpoints());
      }
    }
    JobRanks job = new JobRanks(answer.place().run(), ranks);
    return new Jobs(List.of(job.completed()), refused);
  }

  private static String because(List<String> refused) {
    return refused.isEmpty() ? "" : "; not looked into: " + String.join("; ", refused);
  }

  private static String known(List<JobRanks> all) {
    if (all.isEmpty()) {
      return "no job of this user runs on this host";
    }
    List<String> pids = new ArrayList<>();
    all.forEach(job -> pids.add(job.pids()));
    return "the ranks of this user on this host are " + String.join("; ", pids);
  }

  private static Jobs in(Path directory, List<JobRanks> all, List<String> refused)
      throws IOException, InterruptedException {
    List<JobRanks> sockets = JobRanks.in(directory);
    if (!sockets.isEmpty()) {
      return new Jobs(sockets, refused);
    }
    List<JobRanks> met = new ArrayList<>();
    for (JobRanks job : all) {
      RankAnswer any = Observation.of(job, 1, Duration.ZERO).any();
      if (any != null && metIn(directory, any.place().rendezvous())) {
        met.add(job);
      }
    }
    if (met.isEmpty()) {
      throw new IOException(
          directory
              + ": no status socket lies in this directory, and no job of this user on this host"
              + " has met there; "
              + known(all)
              + because(refused));
    }
    return new Jobs(met, refused);
  }

  private static boolean metIn(Path directory, String rendezvous) {
    if (!rendezvous.startsWith("file:")) {
      return false;
    }
    try {
      return Files.isSameFile(directory, Path.of(URI.create(rendezvous)));
    } catch (IOException | IllegalArgumentException e) {
      return false;
    }
  }
}
