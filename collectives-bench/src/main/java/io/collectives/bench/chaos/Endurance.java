package io.collectives.bench.chaos;

import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.Fault.Phase;
import io.collectives.bench.chaos.LongRun.Gauge;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import java.util.random.RandomGenerator;

/**
 * The results of jobs that went through many faults each. They can be read while the jobs run.
 *
 * <p>A job may grow while it runs, by which each rank that was lost comes again. Whoever lives
 * through it all must not use more and more: its last figures are compared with its first.
 */
public final class Endurance {
  private static final int LEAST_PAUSE_MILLIS = 500;
  private static final int MOST_PAUSE_MILLIS = 3_500;
  private static final int FEWEST_GAUGES = 9;
  private static final long HEAP_SLACK = 2L << 20;
  private static final long BUFFER_SLACK = 4L << 20;
  private static final long RESIDENT_SLACK = 64L << 20;
  private static final long COUNT_SLACK = 3;

  private final Site site;
  private final RandomGenerator random;
  private final List<FaultOutcome> outcomes = new ArrayList<>();
  private final List<String> complaints = new ArrayList<>();
  private List<Gauge> gauges = List.of();
  private int jobs;
  private int recoveries;
  private int regrowths;
  private int hangs;
  private int wrongSums;
  private int leftovers;
  private long elapsedNanos;

  /**
   * Makes the record of jobs at a site, none of which has run yet.
   *
   * @param random draws faults, victims and moments
   */
  public Endurance(Site site, RandomGenerator random) {
    this.site = site;
    this.random = random;
  }

  /**
   * Runs one job with some faults, one after the other or several at once.
   *
   * @param faults how many, at most two less than there are ranks
   */
  public void job(ChaosSettings settings, List<Kind> kinds, List<Phase> phases, int faults)
      throws IOException, InterruptedException {
    try (LongRun run = new LongRun(settings, random)) {
      jobs++;
      boolean well = run.start();
      for (int left = faults; well && left > 0; ) {
        List<Fault> round = run.draw(kinds, phases, 1 + random.nextInt(left));
        if (round.isEmpty()) {
          break;
        }
        well = round(run, round);
        left -= round.size();
      }
      end(run, well);
    }
  }

  /**
   * Runs jobs that go through a fault, or several at once, every few seconds, until time is up.
   * Ranks that are lost come again now and then, and whenever too few are left; after something
   * went wrong there is a new job.
   *
   * @param atOnce the number of faults at once, at most two less than there are ranks
   * @param progress is called after each round
   */
  public void soak(
      ChaosSettings settings,
      List<Kind> kinds,
      List<Phase> phases,
      Range atOnce,
      Duration time,
      MemoryDirectory directory,
      Consumer<Endurance> progress)
      throws IOException, InterruptedException {
    long start = System.nanoTime();
    while (elapsedNanos < time.toNanos()) {
      try (LongRun run = new LongRun(settings, random)) {
        jobs++;
        boolean well = run.start();
        while (well && elapsedNanos < time.toNanos()) {
          Thread.sleep(random.nextInt(LEAST_PAUSE_MILLIS, MOST_PAUSE_MILLIS));
          well = round(run, run.draw(kinds, phases, atOnce.draw(random)));
          if (well && (run.living() < atOnce.most() + 2 || random.nextBoolean())) {
            well = run.grow();
            regrowths += well ? 1 : 0;
          }
          leftovers = directory.entries();
          elapsedNanos = System.nanoTime() - start;
          gauges = run.gauges().size() < gauges.size() ? gauges : run.gauges();
          progress.accept(this);
        }
        end(run, well);
      }
      elapsedNanos = System.nanoTime() - start;
      progress.accept(this);
    }
    growths("bytes of heap", HEAP_SLACK, Gauge::heap);
    growths("bytes of buffers", BUFFER_SLACK, Gauge::buffers);
    growths("bytes of resident memory", RESIDENT_SLACK, Gauge::resident);
    growths("threads", COUNT_SLACK, Gauge::threads);
    growths("open files", COUNT_SLACK, Gauge::files);
  }

  private boolean round(LongRun run, List<Fault> faults) throws IOException, InterruptedException {
    outcomes.addAll(run.round(faults));
    boolean well = run.complaints().isEmpty();
    recoveries += well ? 1 : 0;
    return well;
  }

  private void end(LongRun run, boolean well) {
    if (well) {
      run.end();
    }
    hangs += run.hangs();
    wrongSums += run.wrongSums();
    complaints.addAll(run.complaints());
  }

  /**
   * Complains if the least of the last third of what was used is more than the greatest of the
   * first third: it grew, whatever it does in between.
   */
  private void growths(String what, long slack, ToLongFunction<Gauge> figure) {
    if (gauges.size() < FEWEST_GAUGES) {
      return;
    }
    int third = gauges.size() / 3;
    long before = gauges.subList(0, third).stream().mapToLong(figure).max().orElseThrow();
    long after =
        gauges.subList(gauges.size() - third, gauges.size()).stream()
            .mapToLong(figure)
            .min()
            .orElseThrow();
    if (after > before + slack) {
      complaints.add(
          "a rank that was never hit grew: from at most "
              + before
              + " to at least "
              + after
              + " "
              + what);
    }
  }

  /** Returns where the jobs were. */
  public Site site() {
    return site;
  }

  /** Returns what became of each fault. */
  public List<FaultOutcome> outcomes() {
    return List.copyOf(outcomes);
  }

  /** Returns what was not as it must be, for people. */
  public List<String> complaints() {
    return List.copyOf(complaints);
  }

  /** Returns what the elder of the job that grew most often used, each time before it did. */
  public List<Gauge> gauges() {
    return gauges;
  }

  /** Returns how many jobs there were. */
  public int jobs() {
    return jobs;
  }

  /** Returns how often all survivors summed again without who was hit. */
  public int recoveries() {
    return recoveries;
  }

  /** Returns how often new processes took the ranks of those that were lost. */
  public int regrowths() {
    return regrowths;
  }

  /** Returns how many ranks hung. */
  public int hangs() {
    return hangs;
  }

  /** Returns how many ranks got a wrong sum. */
  public int wrongSums() {
    return wrongSums;
  }

  /**
   * Returns how many ranks named, or were named, wrongly: an innocent, or another than the others
   * named.
   */
  public int wrongCulprits() {
    return outcomes.stream()
        .mapToInt(outcome -> outcome.counts().culprits() - outcome.counts().culpritsRight())
        .sum();
  }

  /** The longest time from a fault until the last survivor knew of it. */
  public OptionalLong slowestMicros() {
    return outcomes.stream()
        .map(FaultOutcome::knownMicros)
        .flatMapToLong(OptionalLong::stream)
        .max();
  }

  /** Returns how many files and directories are where shared memory and sockets are. */
  public int entries() {
    return leftovers;
  }

  /** For how long the jobs ran. */
  public Duration elapsed() {
    return Duration.ofNanos(elapsedNanos);
  }
}
