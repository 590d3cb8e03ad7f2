package io.collectives.all;

import io.collectives.Communicator;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Runs the ranks of a job, each in a thread. */
public final class RankThreads {
  private RankThreads() {}

  /** What a rank does. */
  public interface Body {
    void run(Communicator world) throws Exception;
  }

  /** What each rank threw, if anything. */
  public static List<@Nullable Throwable> outcomes(List<Communicator> worlds, Body body)
      throws Exception {
    List<CompletableFuture<@Nullable Throwable>> threads = new ArrayList<>();
    for (Communicator world : worlds) {
      CompletableFuture<@Nullable Throwable> outcome = new CompletableFuture<>();
      threads.add(outcome);
      Thread thread =
          new Thread(
              () -> {
                try {
                  body.run(world);
                  outcome.complete(null);
                } catch (Throwable e) {
                  outcome.complete(e);
                }
              },
              "test-rank" + world.rank());
      thread.setDaemon(true);
      thread.start();
    }
    List<@Nullable Throwable> outcomes = new ArrayList<>();
    for (CompletableFuture<@Nullable Throwable> thread : threads) {
      outcomes.add(thread.get(40, TimeUnit.SECONDS));
    }
    return outcomes;
  }

  /** Fails if a rank does. */
  public static void run(List<Communicator> worlds, Body body) throws Exception {
    List<@Nullable Throwable> outcomes = outcomes(worlds, body);
    for (int rank = 0; rank < outcomes.size(); rank++) {
      Throwable outcome = outcomes.get(rank);
      if (outcome != null) {
        throw new ExecutionException("rank " + rank, outcome);
      }
    }
  }
}
