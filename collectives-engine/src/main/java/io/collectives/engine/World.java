package io.collectives.engine;

import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.UnavailableException;
import io.collectives.engine.join.ExchangeRendezvous;
import io.collectives.engine.report.RunReporter;
import io.collectives.engine.run.Group;
import io.collectives.engine.sharedmemory.SharedMemoryDomain;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Transport;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The state that the groups of one job share at a rank, and the means to join again. */
final class World {
  /** The way in which a rank joins the others of a job. */
  interface Joining {
    /**
     * Joins a job.
     *
     * @param onRendezvous hears of the rendezvous before this rank meets the others there, and may
     *     close it to end that
     * @param reporter reports on the world that this one grows from, and goes on with the next
     */
    Communicator join(
        JobSettings settings,
        UnaryOperator<Transport> wrapping,
        Consumer<Rendezvous> onRendezvous,
        @Nullable RunReporter reporter);
  }

  /** For so long the news of a break may be under way. */
  private static final long NEWS_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final Joining joining;
  private final Driver driver;

  /** The settings by which this rank joined the job; null if the ranks are threads of one JVM. */
  private final @Nullable JobSettings job;

  /**
   * The change that this rank made to its transport when it joined, and will make to the next one.
   */
  private final UnaryOperator<Transport> wrapping;

  /** Reports on the run; null if nobody wants to know. */
  private volatile @Nullable RunReporter reporter;

  World(
      Joining joining,
      Driver driver,
      @Nullable JobSettings job,
      UnaryOperator<Transport> wrapping) {
    this.joining = joining;
    this.driver = driver;
    this.job = job;
    this.wrapping = wrapping;
  }

  /**
   * Reports on this world, which has been joined.
   *
   * @param earlier reports on the world that this one has grown from; null if there is none
   */
  void report(Communicator world, @Nullable RunReporter earlier) {
    Path directory = world.settings().reportDirectory();
    if (earlier != null) {
      earlier.follow(world, driver::failureMessages);
      reporter = earlier;
    } else if (directory != null) {
      reporter = new RunReporter(directory, world, hostName(), driver::failureMessages);
    }
  }

  /** Returns the report on the run, or null if nobody wants to know. */
  @Nullable RunReporter reporter() {
    return reporter;
  }

  /** The name of the host, for people; several hosts may have the same. */
  private String hostName() {
    return job == null ? "this JVM" : SharedMemoryDomain.of(job).host();
  }

  /** See {@link Communicator#host()}. */
  String host() {
    return job == null ? "this JVM" : SharedMemoryDomain.of(job).key();
  }

  /**
   * See {@link Communicator#grow()}. If the group breaks while this rank meets the others it ends
   * that at once: those who have not gone to the rendezvous will shrink, and need this rank for it.
   */
  Communicator grow(Communicator survivors, Group group, CallSettings calls) {
    JobSettings settings = job;
    if (settings == null) {
      throw new UnavailableException(
          "threads of one JVM cannot grow: nobody else can join them; make new ranks with inProcess"
              + " or inThreads");
    }
    if (settings.rendezvous().equals(ExchangeRendezvous.PLACE)) {
      throw new UnavailableException(
          "a job whose ranks met by an exchange of texts cannot grow: its host exchanges texts among"
              + " the processes that it has started; have the host start the job again, or meet at"
              + " tcp://host:port or file:///directory");
    }
    if (settings.port() != 0) {
      throw new UnavailableException(
          "a job whose ranks listen on a fixed port ("
              + settings.port()
              + " at rank "
              + settings.rank()
              + ") cannot grow: the present world holds that port until the next one has met; join"
              + " with port 0, any free one");
    }
    // Nobody leaves for the rendezvous before all have come this far.
    survivors.barrier();
    Communicator next;
    try {
      next =
          joining.join(
              settings.withCalls(calls),
              wrapping,
              rendezvous -> driver.onBreak(group, rendezvous::close),
              reporter);
    } catch (JoinException e) {
      // Who hears of a break leaves the place where all meet, so that may be what went wrong here.
      CollectiveException error = driver.awaitError(group, NEWS_NANOS);
      if (error != null) {
        error.addSuppressed(e);
        throw error;
      }
      throw e;
    } finally {
      driver.forgetBreak();
    }
    reporter = null; // It goes on with the next world.
    driver.close();
    return next;
  }
}
