package io.collectives.bench.status;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The records of the ranks of a running job, fetched into a directory: their last calls, or what
 * they did in a stretch of time.
 *
 * @param files the files that were written, by rank
 * @param problems by rank: why there is no file, for people
 */
public record Records(Map<Integer, Path> files, Map<Integer, String> problems) {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final int MOST_THREADS = 64;
  private static final String HEAD = "record\n";
  private static final String END = "end\n";

  /** Fetches flight records. */
  public static Records flight(JobRanks job, Path into) throws IOException, InterruptedException {
    Records records = new Records(new TreeMap<>(), new TreeMap<>());
    records.fetch(job.endpoints(), "flight", "flight-rank-", into);
    return records;
  }

  /** Has all ranks traced for some time, at most a minute, and fetches the traces. */
  public static Records trace(JobRanks job, Duration length, Path into)
      throws IOException, InterruptedException {
    Records records = new Records(new TreeMap<>(), new TreeMap<>());
    Map<Integer, Endpoint> traced = new TreeMap<>(job.endpoints());
    // Each ends by itself; a little later, so that all have been traced for as long.
    long millis = Math.min(60_000, length.toMillis() + 1_000);
    traced.keySet().retainAll(records.ask(traced, "trace " + millis, JobRanks.LIMIT).keySet());
    if (!traced.isEmpty()) {
      Thread.sleep(length.toMillis());
      records.fetch(traced, "traced", "trace-rank-", into);
    }
    return records;
  }

  private void fetch(Map<Integer, Endpoint> ranks, String request, String name, Path into)
      throws IOException, InterruptedException {
    Files.createDirectories(into);
    for (Map.Entry<Integer, String> answer : ask(ranks, request, LIMIT).entrySet()) {
      String text = answer.getValue();
      Path file = into.resolve(name + answer.getKey() + ".tsv");
      Files.writeString(
          file, text.substring(text.indexOf(HEAD) + HEAD.length(), text.length() - END.length()));
      files.put(answer.getKey(), file);
    }
  }

  /** Asks all ranks at once; notes the problems, and returns the answers of the others. */
  private Map<Integer, String> ask(Map<Integer, Endpoint> ranks, String request, Duration limit)
      throws InterruptedException {
    ExecutorService threads =
        Executors.newFixedThreadPool(Math.min(MOST_THREADS, Math.max(1, ranks.size())));
    try {
      List<Integer> order = new ArrayList<>(ranks.keySet());
      List<Callable<String>> questions = new ArrayList<>();
      for (int rank : order) {
        Endpoint endpoint = ranks.get(rank);
        questions.add(() -> endpoint.ask(request, limit));
      }
      List<Future<String>> futures = threads.invokeAll(questions);
      Map<Integer, String> answers = new TreeMap<>();
      for (int i = 0; i < order.size(); i++) {
        int rank = order.get(i);
        try {
          String answer = futures.get(i).get();
          String problem = problem(answer);
          if (problem.isEmpty()) {
            answers.put(rank, answer);
          } else {
            problems.put(rank, problem);
          }
        } catch (ExecutionException e) {
          problems.put(rank, Look.why(ranks.get(rank), e.getCause()));
        }
      }
      return answers;
    } finally {
      threads.shutdownNow();
    }
  }

  private static String problem(String answer) {
    if (!answer.startsWith("collectives-status\t1\n") || !answer.endsWith("\n" + END)) {
      return " gave no answer that can be read";
    }
    int error = answer.lastIndexOf("\nerror\t");
    return error < 0
        ? ""
        : ": " + answer.substring(error + "\nerror\t".length(), answer.length() - END.length() - 1);
  }
}
