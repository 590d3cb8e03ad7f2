package io.collectives.bench.status;

import io.collectives.engine.status.StatusDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The ranks of one job, as far as they are known, and how to ask them.
 *
 * @param run the first digits of the job's epoch
 * @param endpoints by rank
 */
public record JobRanks(String run, Map<Integer, Endpoint> endpoints) {
  /** The time that a rank has for its answer. */
  static final Duration LIMIT = Duration.ofSeconds(2);

  /** Keeps a copy of the map. */
  public JobRanks {
    endpoints = new TreeMap<>(endpoints);
  }

  /** The pids of the ranks on this host, for people. */
  public String pids() {
    return endpoints.entrySet().stream()
        .filter(entry -> entry.getValue().pid() >= 0)
        .map(entry -> "rank " + entry.getKey() + ": pid " + entry.getValue().pid())
        .collect(Collectors.joining(", "));
  }

  /**
   * Returns the job with all its ranks, as far as one of those that are known tells where they are.
   */
  public JobRanks completed() {
    for (Map.Entry<Integer, Endpoint> known : endpoints.entrySet()) {
      try {
        RankAnswer answer = Look.ask(known.getValue(), known.getKey(), "status");
        if (endpoints.size() == answer.place().size()) {
          return this;
        }
        Map<Integer, Endpoint> all = new TreeMap<>();
        String roster = known.getValue().ask("roster", LIMIT);
        for (String line : roster.split("\n", answer.place().size() + 8)) {
          String[] cells = line.split("\t", -1);
          if (cells.length == 3 && cells[0].equals("address") && cells[1].matches("\\d{1,9}")) {
            RemoteEndpoint remote = RemoteEndpoint.announced(cells[2]);
            int rank = Integer.parseInt(cells[1]);
            if (remote != null && rank < answer.place().size()) {
              all.put(rank, remote);
            }
          }
        }
        all.putAll(endpoints);
        return new JobRanks(run, all);
      } catch (IOException e) {
        // Perhaps the next one answers.
      }
    }
    return this;
  }

  /** Returns whether a process of this host is a rank of the job. */
  boolean has(long pid) {
    return endpoints.values().stream().anyMatch(endpoint -> endpoint.pid() == pid);
  }

  /**
   * Returns the jobs of this user on this host.
   *
   * @param refused becomes the reasons why places were not looked into, for people
   */
  public static List<JobRanks> here(List<String> refused) {
    List<JobRanks> jobs = new ArrayList<>();
    for (Path place : StatusDirectory.usual()) {
      if (!Files.exists(place)) {
        continue;
      }
      try {
        StatusDirectory.check(place);
        jobs.addAll(in(place));
      } catch (IOException e) {
        refused.add(String.valueOf(e.getMessage()));
      }
    }
    return jobs;
  }

  /**
   * Returns the jobs whose sockets lie in a directory.
   *
   * @throws IOException if it cannot be read
   */
  public static List<JobRanks> in(Path directory) throws IOException {
    Map<String, Map<Integer, Endpoint>> jobs = new TreeMap<>();
    for (StatusDirectory.Socket socket : StatusDirectory.living(directory)) {
      jobs.computeIfAbsent(socket.job(), run -> new TreeMap<>())
          .put(socket.rank(), new LocalEndpoint(socket));
    }
    List<JobRanks> found = new ArrayList<>();
    jobs.forEach((run, endpoints) -> found.add(new JobRanks(run, endpoints)));
    return found;
  }
}
