package io.collectives.testkit;

import io.collectives.Communicator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * A runner of one thread for each rank, which reports a rank that does not end in time with its
 * stack.
 */
public final class RankThreads {
  private static final Duration PATIENCE = Duration.ofSeconds(40);

  private RankThreads() {}

  /** The program of a rank. */
  @FunctionalInterface
  public interface Body {
    /** Runs the program; {@code world} is the rank's communicator. */
    void run(Communicator world) throws Exception;
  }

  /**
   * Runs {@code body} on all ranks, all of which must end without an error.
   *
   * @throws AssertionError if one does not, or hangs for 40 s
   */
  public static void run(List<Communicator> worlds, Body body) throws InterruptedException {
    List<@Nullable Throwable> outcomes = outcomes(worlds, body);
    List<Throwable> failures = outcomes.stream().filter(Objects::nonNull).toList();
    if (failures.isEmpty()) {
      return;
    }
    StringJoiner text = new StringJoiner(";\n  ");
    for (int rank = 0; rank < outcomes.size(); rank++) {
      if (outcomes.get(rank) != null) {
        text.add("rank " + rank + " of " + worlds.size() + ": " + outcomes.get(rank));
      }
    }
    AssertionError failure = new AssertionError(text.toString(), failures.get(0));
    failures.stream().skip(1).forEach(failure::addSuppressed);
    throw failure;
  }

  /**
   * Runs {@code body} on all ranks.
   *
   * @return for each rank the exception that it threw, or null if it ended without one
   * @throws AssertionError if one hangs for 40 s
   */
  public static List<@Nullable Throwable> outcomes(List<Communicator> worlds, Body body)
      throws InterruptedException {
    return outcomes(worlds.size(), PATIENCE, rank -> body.run(worlds.get(rank)));
  }

  /** The program of a rank that has no communicator yet. */
  interface Task {
    void run(int rank) throws Exception;
  }

  /**
   * Runs {@code task} for all ranks.
   *
   * @return for each rank the exception that it threw, or null if it ended without one
   * @throws AssertionError if one takes longer than {@code patience}
   */
  static List<@Nullable Throwable> outcomes(int ranks, Duration patience, Task task)
      throws InterruptedException {
    AtomicReferenceArray<@Nullable Throwable> outcomes = new AtomicReferenceArray<>(ranks);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < ranks; i++) {
      int rank = i;
      Thread thread =
          new Thread(
              () -> {
                try {
                  task.run(rank);
                } catch (Throwable e) {
                  outcomes.set(rank, e);
                }
              },
              "contract-rank" + rank);
      thread.setDaemon(true);
      threads.add(thread);
      thread.start();
    }
    long endNanos = System.nanoTime() + patience.toNanos();
    for (Thread thread : threads) {
      TimeUnit.NANOSECONDS.timedJoin(thread, Math.max(1, endNanos - System.nanoTime()));
    }
    List<@Nullable Throwable> list = new ArrayList<>();
    @Nullable AssertionError hang = null;
    for (int rank = 0; rank < ranks; rank++) {
      Thread thread = threads.get(rank);
      if (thread.isAlive()) {
        AssertionError stack = new AssertionError("rank " + rank + " of " + ranks + " hangs here");
        stack.setStackTrace(thread.getStackTrace());
        hang = hang == null ? stack : hang;
        if (hang != stack) {
          hang.addSuppressed(stack);
        }
      }
      list.add(outcomes.get(rank));
    }
    if (hang != null) {
      list.stream().filter(Objects::nonNull).forEach(hang::addSuppressed);
      throw hang;
    }
    return list;
  }
}
