package io.collectives;

import io.collectives.internal.Services;
import io.collectives.spi.CollectivesRuntime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * The entry points: each method joins or makes a group of ranks.
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
   * Joins the job that the environment of this process describes and waits until all its ranks have
   * joined.
   *
   * <p>These variables are recognised, in this order: {@code RANK}, {@code WORLD_SIZE}, {@code
   * MASTER_ADDR}, {@code MASTER_PORT}; Open MPI's {@code OMPI_COMM_WORLD_*}; {@code PMI_*}; {@code
   * SLURM_*}; Kubernetes' {@code JOB_COMPLETION_INDEX}.
   *
   * @throws JoinException if the environment describes no job, or not all of its ranks joined in
   *     time
   */
  public static Communicator join() {
    return join(settings(System.getenv()));
  }

  /**
   * Joins a job as {@link #join()} does, or makes a job of this process alone if the environment
   * describes none, so that the same program runs with and without a launcher. An environment that
   * describes a job only in part, such as a {@code WORLD_SIZE} without a {@code RANK}, is an error
   * as in {@link #join()}.
   *
   * @throws JoinException if not all ranks of the job joined in time, or its description is wrong
   */
  public static Communicator joinOrAlone() {
    Map<String, String> environment = System.getenv();
    return runtime().describesJob(environment) ? join(settings(environment)) : inProcess(1).get(0);
  }

  /**
   * Returns the settings with which {@link #join()} would join the job that an environment
   * describes. They can be changed and then passed to {@link #join(JobSettings)}.
   *
   * @param environment variables, as {@link System#getenv()} returns them
   * @throws JoinException if it describes no job
   */
  public static JobSettings settings(Map<String, String> environment) {
    return runtime().settings(environment);
  }

  /**
   * Joins a job and waits until all its ranks have joined.
   *
   * @throws JoinException if not all ranks joined in time, or this one was refused
   */
  public static Communicator join(JobSettings settings) {
    return runtime().join(settings, UnaryOperator.identity());
  }

  /**
   * Joins a job whose ranks learn each other's addresses by an all-gather of texts that their host
   * offers. Each rank listens, at a free port unless the settings say otherwise, before it tells
   * where. The host's channel is trusted to carry the texts unchanged; they hold no secret.
   *
   * <p>The job cannot {@linkplain Communicator#grow() grow}, as the host knows only the processes
   * that it has started.
   *
   * @param settings made by {@link JobSettings#of(int, int)}; the place of the rendezvous in others
   *     is ignored. The time to join does not bound the exchange, which is the host's
   * @param exchange called once, by this thread
   * @throws JoinException if the exchange fails or this thread is interrupted in it, if its texts
   *     are not those of the ranks, or if the ranks differ in what must be the same for all
   */
  public static Communicator join(JobSettings settings, TextExchange exchange) {
    return runtime().join(settings, exchange, UnaryOperator.identity());
  }

  /**
   * Makes a job of threads in this JVM.
   *
   * @param ranks the number of ranks, at least 1
   * @return a communicator for each rank; a thread of its own uses and closes each of them
   */
  public static List<Communicator> inProcess(int ranks) {
    return inProcess(ranks, CallSettings.defaults());
  }

  /** Makes a job of threads as {@link #inProcess(int)} does, with other settings of calls. */
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
   * @throws CollectiveException if a rank throws it; the first exception of a rank is thrown,
   *     whatever unchecked exception it is, with those of the others as suppressed ones
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
                    "no runtime of collectives is on the class path: add the dependency"
                        + " io.collectives:collectives-engine, or io.collectives:collectives-all"
                        + " for everything"));
  }
}
