package io.collectives;

import io.collectives.internal.Services;
import io.collectives.spi.CollectivesRuntime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * The ways into a group of ranks.
 *
 * <pre>{@code
 * try (Communicator world = Collectives.join()) {
 *   world.allReduce(gradients, ReduceOp.AVERAGE);
 * }
 * }</pre>
 */
public final class Collectives {
  private Collectives() {}

  /**
   * Joins the job that the environment of this process describes and waits until all its ranks
   * have.
   *
   * <p>Recognised, in this order: {@code RANK}, {@code WORLD_SIZE}, {@code MASTER_ADDR}, {@code
   * MASTER_PORT}; Open MPI's {@code OMPI_COMM_WORLD_*}; {@code PMI_*}; {@code SLURM_*}; Kubernetes'
   * {@code JOB_COMPLETION_INDEX}.
   *
   * @throws JoinException if the environment describes no job, or not all ranks of it met in time
   */
  public static Communicator join() {
    return join(settings(System.getenv()));
  }

  /**
   * As {@link #join()}, but if the environment describes no job, this process is a job of its own:
   * the same program runs with a launcher and without. What describes a part of a job, as a {@code
   * WORLD_SIZE} without a {@code RANK}, is an error as in {@link #join()}.
   *
   * @throws JoinException if not all ranks of the job met in time, or its description is wrong
   */
  public static Communicator joinOrAlone() {
    Map<String, String> environment = System.getenv();
    return runtime().describesJob(environment) ? join(settings(environment)) : inProcess(1).get(0);
  }

  /**
   * The job that an environment describes, as {@link #join()} would join it; to be changed, and
   * then joined by {@link #join(JobSettings)}.
   *
   * @param environment as {@link System#getenv()}
   * @throws JoinException if it describes no job
   */
  public static JobSettings settings(Map<String, String> environment) {
    return runtime().settings(environment);
  }

  /**
   * Joins a job and waits until all its ranks have.
   *
   * @throws JoinException if not all ranks met in time, or this one was refused
   */
  public static Communicator join(JobSettings settings) {
    return runtime().join(settings, UnaryOperator.identity());
  }

  /**
   * Makes a job of threads in this JVM.
   *
   * @param ranks the number of ranks, at least 1
   * @return a communicator for each rank, each to be used by a thread of its own and closed
   */
  public static List<Communicator> inProcess(int ranks) {
    return inProcess(ranks, CallSettings.defaults());
  }

  /** As {@link #inProcess(int)}, with other defaults for calls. */
  public static List<Communicator> inProcess(int ranks, CallSettings calls) {
    if (ranks < 1) {
      throw new IllegalArgumentException("job of " + ranks + " ranks: at least 1 is needed");
    }
    return runtime().inProcess(ranks, calls, UnaryOperator.identity());
  }

  /**
   * Runs {@code body} once for each of {@code ranks} ranks, each in a thread of its own, and waits
   * until all have ended. Their communicators are closed.
   *
   * @throws CollectiveException the first error of a rank, with the others' as suppressed ones;
   *     also other unchecked errors
   */
  public static void inThreads(int ranks, Consumer<? super Communicator> body) {
    List<Communicator> worlds = inProcess(ranks);
    List<Throwable> errors = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (Communicator world : worlds) {
      Thread thread =
          new Thread(
              () -> {
                try (world) {
                  body.accept(world);
                } catch (Throwable e) {
                  synchronized (errors) {
                    errors.add(e);
                  }
                }
              },
              "collectives-rank" + world.rank());
      threads.add(thread);
      thread.start();
    }
    boolean interrupted = false;
    for (Thread thread : threads) {
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
          worlds.forEach(Communicator::close);
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (!errors.isEmpty()) {
      Throwable first = errors.get(0);
      errors.stream().skip(1).forEach(first::addSuppressed);
      if (first instanceof Error error) {
        throw error;
      }
      throw (RuntimeException) first;
    }
  }

  private static CollectivesRuntime runtime() {
    return Services.of(CollectivesRuntime.class)
        .findFirst()
        .orElseThrow(
            () ->
                new UnavailableException(
                    "no runtime of collectives is on the class path: add the dependency io.collectives:collectives-engine, or"
                        + " io.collectives:collectives-all for everything"));
  }
}
