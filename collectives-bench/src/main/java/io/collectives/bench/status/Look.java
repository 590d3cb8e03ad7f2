package io.collectives.bench.status;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * The answers of the ranks of a job at about the same time.
 *
 * @param nanos when they were asked
 * @param answers by rank
 * @param silent by rank: why there is no answer, for people
 */
public record Look(long nanos, Map<Integer, RankAnswer> answers, Map<Integer, String> silent) {

  /** Keeps copies of the maps. */
  public Look {
    answers = new TreeMap<>(answers);
    silent = new TreeMap<>(silent);
  }

  /** Asks all ranks at once. */
  static Look at(Map<Integer, Endpoint> ranks, ExecutorService threads)
      throws InterruptedException {
    Map<Integer, RankAnswer> answers = new TreeMap<>();
    Map<Integer, String> silent = new TreeMap<>();
    List<Integer> order = new ArrayList<>(ranks.keySet());
    List<Callable<RankAnswer>> questions = new ArrayList<>();
    for (int rank : order) {
      Endpoint endpoint = ranks.get(rank);
      questions.add(() -> ask(endpoint, rank, "status"));
    }
    long now = System.nanoTime();
    List<Future<RankAnswer>> futures = threads.invokeAll(questions);
    for (int i = 0; i < order.size(); i++) {
      int rank = order.get(i);
      try {
        answers.put(rank, futures.get(i).get());
      } catch (ExecutionException e) {
        silent.put(rank, why(ranks.get(rank), e.getCause()));
      }
    }
    return new Look(now, answers, silent);
  }

  /** Asks one rank, and checks that it is the one. */
  static RankAnswer ask(@Nullable Endpoint endpoint, int rank, String request) throws IOException {
    if (endpoint == null) {
      throw new ConnectException("no socket of it was found");
    }
    RankAnswer answer;
    try {
      answer = RankAnswer.parse(endpoint.ask(request, JobRanks.LIMIT));
    } catch (IllegalArgumentException e) {
      throw new IOException("its answer cannot be read: " + e.getMessage(), e);
    }
    if (answer.rank() != rank) {
      throw new IOException("rank " + answer.rank() + " answers in its place");
    }
    return answer;
  }

  /** Says for people why a rank gave no answer. */
  static String why(@Nullable Endpoint endpoint, @Nullable Throwable cause) {
    String where = endpoint == null ? "" : " (" + endpoint.describe() + ")";
    if (cause instanceof SocketTimeoutException) {
      return where + " does not answer: " + state(endpoint);
    }
    if (cause instanceof ConnectException || cause instanceof NoSuchFileException) {
      return where + " does not run any more, or was told to answer nobody";
    }
    String message = cause == null ? null : cause.getMessage();
    return where + " cannot be asked: " + (message == null ? String.valueOf(cause) : message);
  }

  private static String state(@Nullable Endpoint endpoint) {
    long pid = endpoint == null ? -1 : endpoint.pid();
    if (pid < 0) {
      return "its process is stopped, or its host or the network is down";
    }
    try {
      String line = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
      char state = line.charAt(line.lastIndexOf(')') + 2);
      return switch (state) {
        case 'T', 't' ->
            "its process is stopped, by a signal (SIGSTOP) or a debugger; kill -CONT "
                + pid
                + " lets it go on";
        case 'D' -> "its process waits for a disk or a file system that does not answer";
        case 'Z', 'X' -> "its process has ended";
        default -> "its process runs, but gets no processor, or is in a long pause of the JVM";
      };
    } catch (IOException | IndexOutOfBoundsException e) {
      return ProcessHandle.of(pid).isPresent()
          ? "its process is stopped, or in a long pause of the JVM"
          : "its process has ended";
    }
  }

  /** Returns the chain of each rank that waits. */
  public List<Chain> chains() {
    List<Chain> chains = new ArrayList<>();
    for (int rank : answers.keySet()) {
      Chain chain = Chain.from(rank, answers);
      if (chain != null) {
        chains.add(chain);
      }
    }
    return chains;
  }
}
