package io.collectives.engine.run;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Runs the simulations of many seeds, each on one of a few threads, and says how far it is. */
final class Campaign {
  /** The number of seeds that a thread takes at once. */
  private static final int STRIDE = 64;

  private static final int MOST_FAILURES = 5;
  private static final long PROGRESS_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** No simulation takes a hundredth of this, so whoever is still at one does not end. */
  private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(60);

  private final long first;
  private final long seeds;
  private final AtomicLong next;
  private final List<Worker> workers = new ArrayList<>();
  private final Map<Long, Throwable> failures = new ConcurrentSkipListMap<>();

  /** The number of runs of each kind of simulation. */
  private final Map<String, Integer> kinds = new TreeMap<>();

  private Campaign(long first, long seeds, int threads) {
    this.first = first;
    this.seeds = seeds;
    this.next = new AtomicLong(first);
    for (int i = 0; i < threads; i++) {
      workers.add(new Worker());
    }
  }

  /**
   * Runs them all.
   *
   * @return how often each kind of simulation was run
   * @throws AssertionError with the seeds that fail, and how to see each again
   */
  static Map<String, Integer> run(long first, long seeds, int threads) throws InterruptedException {
    return new Campaign(first, seeds, threads).run();
  }

  /** The command that runs the simulation of a seed again and prints what happens. */
  static String replay(long seed) {
    return "mvn -pl collectives-engine -am test -Dtest=SimulationTest#replay"
        + " -Dsurefire.failIfNoSpecifiedTests=false -Dcollectives.simulation.seed="
        + seed;
  }

  private Map<String, Integer> run() throws InterruptedException {
    long start = System.nanoTime();
    for (Worker worker : workers) {
      worker.setDaemon(true);
      worker.start();
    }
    long told = start;
    for (Worker worker : workers) {
      while (worker.isAlive()) {
        worker.join(100);
        long now = System.nanoTime();
        if (now - told > PROGRESS_NANOS) {
          told = now;
          tellProgress(now - start);
          workers.forEach(Worker::checkProgress);
        }
      }
    }
    if (!failures.isEmpty()) {
      StringBuilder text = new StringBuilder();
      failures.forEach(
          (seed, failure) ->
              text.append(failure.getMessage()).append('\n').append(replay(seed)).append("\n\n"));
      AssertionError error = new AssertionError(text.toString());
      failures.values().forEach(error::addSuppressed);
      throw error;
    }
    for (Worker worker : workers) {
      worker.kinds.forEach((kind, count) -> kinds.merge(kind, count, Integer::sum));
    }
    return Collections.unmodifiableMap(kinds);
  }

  private void tellProgress(long nanos) {
    long done = 0;
    for (Worker worker : workers) {
      done += worker.done;
    }
    double seconds = nanos / 1e9;
    double rate = done / seconds;
    System.out.printf(
        "%,d of %,d simulations in %.0f s, %.0f a second, %.0f s to go, %d failed%n",
        done, seeds, seconds, rate, (seeds - done) / rate, failures.size());
  }

  private final class Worker extends Thread {
    private final SimulatedPrograms programs = new SimulatedPrograms();
    private final Map<String, Integer> kinds = new TreeMap<>();
    private volatile long done;
    private volatile long seed = -1;
    private long seedSeen = -1;
    private long seenNanos;

    Worker() {
      super("simulations");
    }

    @Override
    public void run() {
      while (failures.size() < MOST_FAILURES) {
        long from = next.getAndAdd(STRIDE);
        long to = Math.min(from + STRIDE, first + seeds);
        if (from >= to) {
          break;
        }
        for (long at = from; at < to; at++) {
          seed = at;
          try {
            Simulation simulation = Simulation.of(at, programs);
            simulation.run();
            kinds.merge(simulation.kind(), 1, Integer::sum);
          } catch (Throwable t) {
            AssertionError failure =
                t instanceof AssertionError error ? error : new AssertionError("seed " + at, t);
            System.out.println(failure.getMessage() + '\n' + replay(at));
            failures.put(at, failure);
          }
          done++;
        }
      }
      seed = -1;
    }

    /** A simulation that neither ends nor counts its events is in a loop of the engine. */
    void checkProgress() {
      long at = seed;
      long now = System.nanoTime();
      if (at != seedSeen || at < 0) {
        seedSeen = at;
        seenNanos = now;
      } else if (now - seenNanos > STUCK_NANOS) {
        AssertionError error = new AssertionError("seed " + at + " does not end; " + replay(at));
        error.setStackTrace(getStackTrace());
        throw error;
      }
    }
  }
}
