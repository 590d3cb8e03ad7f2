package io.collectives.bench.perf;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/** Ranks that are threads of this JVM, joined in process or as processes are. */
public final class ThreadRanks implements Ranks {
  private final List<ExecutorService> threads;
  private final List<Communicator> worlds;

  private ThreadRanks(List<ExecutorService> threads, List<Communicator> worlds) {
    this.threads = threads;
    this.worlds = worlds;
  }

  /** Ranks that reach into each other's memory. */
  public static ThreadRanks inProcess(int ranks, CallSettings calls) {
    return new ThreadRanks(threads(ranks), Collectives.inProcess(ranks, calls));
  }

  /** Ranks that talk as processes do and meet at a port of 127.0.0.1. */
  public static ThreadRanks joined(int ranks, String transport, CallSettings calls, int port) {
    URI rendezvous = URI.create("tcp://127.0.0.1:" + port);
    return joined(
        IntStream.range(0, ranks)
            .mapToObj(
                rank ->
                    JobSettings.of(rank, ranks, rendezvous)
                        .withTransport(transport)
                        .withCalls(calls))
            .toList());
  }

  /** Some ranks of a job, those of this process. */
  static ThreadRanks joined(List<JobSettings> ranks) {
    List<ExecutorService> threads = threads(ranks.size());
    try {
      return new ThreadRanks(
          threads, each(threads, rank -> Collectives.join(ranks.get(rank)), () -> {}));
    } catch (RuntimeException | Error e) {
      threads.forEach(ExecutorService::shutdown);
      throw e;
    }
  }

  /** The ranks themselves, for those who have threads of their own. */
  public List<Communicator> worlds() {
    return worlds;
  }

  @Override
  public List<String> transports() {
    return worlds.get(0).explain(0).transports();
  }

  @Override
  public void warmUp(PerfCase work, long nanos) {
    all(
        world -> {
          CaseRun.warmUp(world, work, nanos);
          return world;
        });
  }

  @Override
  public CaseResult measure(PerfCase work) {
    return all(world -> CaseRun.measure(world, work)).get(0);
  }

  @Override
  public void close() {
    worlds.forEach(Communicator::close);
    threads.forEach(ExecutorService::shutdown);
  }

  /**
   * Runs {@code body} on the thread of every rank and returns what it gave, rank 0 first. The first
   * failure closes all ranks, so that none waits for it, and is thrown.
   */
  public <T> List<T> all(Function<Communicator, T> body) {
    return each(
        threads, rank -> body.apply(worlds.get(rank)), () -> worlds.forEach(Communicator::close));
  }

  /**
   * Runs {@code body} on every thread; the first failure frees the others by {@code give up} and is
   * thrown.
   */
  private static <T> List<T> each(
      List<ExecutorService> threads, IntFunction<T> body, Runnable giveUp) {
    AtomicReference<Throwable> first = new AtomicReference<>();
    List<CompletableFuture<T>> results = new ArrayList<>();
    for (int i = 0; i < threads.size(); i++) {
      int rank = i;
      CompletableFuture<T> result =
          CompletableFuture.supplyAsync(() -> body.apply(rank), threads.get(i));
      results.add(
          result.whenComplete(
              (value, error) -> {
                if (error != null && first.compareAndSet(null, error)) {
                  giveUp.run();
                }
              }));
    }
    try {
      CompletableFuture.allOf(results.toArray(CompletableFuture[]::new)).join();
    } catch (CompletionException e) {
      Throwable cause =
          first.get() instanceof CompletionException wrapped ? wrapped.getCause() : first.get();
      if (cause instanceof Error error) {
        throw error;
      }
      throw cause instanceof RuntimeException exception ? exception : e;
    }
    return results.stream().map(CompletableFuture::join).toList();
  }

  private static List<ExecutorService> threads(int ranks) {
    List<ExecutorService> threads = new ArrayList<>();
    for (int i = 0; i < ranks; i++) {
      String name = "rank" + i;
      threads.add(
          Executors.newSingleThreadExecutor(
              body -> {
                Thread thread = new Thread(body, name);
                thread.setDaemon(true);
                return thread;
              }));
    }
    return threads;
  }
}
