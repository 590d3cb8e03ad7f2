package io.collectives.engine.run;

import io.collectives.AbortedException;
import io.collectives.CallTimeoutException;
import io.collectives.CollectiveException;
import io.collectives.RankFailedException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * A seeded run of a small job on a simulated network and clock, on one thread. There are two kinds
 * of jobs: {@link TrainingSimulation}, whose ranks go on after failures, and {@link
 * ScriptedSimulation}, whose ranks make any calls in any groups and leave as soon as they are done.
 *
 * <p>Whatever the job: it ends within a bounded time; results are right; memory that a user has got
 * back is not written to; an error names a rank that was at fault; and a seed tells the same story
 * each time.
 */
abstract class Simulation {
  static final long MILLI = 1_000_000L;
  static final long SECOND = 1_000 * MILLI;
  static final long SILENCE = 5 * SECOND;

  /** The thousandths by which the clock of a rank is wrong at most. */
  private static final int MOST_SKEW = 30;

  private static final long LONGEST_JUMP = 150 * MILLI;
  private static final long LONGEST = 300 * SECOND;
  private static final int LONGEST_EVENTS = 3_000_000;

  final Dice random;
  final int size;
  final SimulatedPrograms programs;
  final List<String> warnings = new ArrayList<>();

  /** The time that passes, which no rank sees. */
  long now = 1;

  private final String name;
  private final LongSupplier[] clocks;
  private final List<String> story = new ArrayList<>();
  private boolean tellsStory;
  private int events;
  private long trace = 17;

  Simulation(String name, Dice random, int size, SimulatedPrograms programs) {
    this.name = name;
    this.random = random;
    this.size = size;
    this.programs = programs;
    this.clocks = new LongSupplier[size];
    boolean differ = random.nextBoolean();
    for (int rank = 0; rank < size; rank++) {
      long offset = differ ? random.nextLong() >> 4 : 0;
      long skew = differ ? random.nextInt(2 * MOST_SKEW + 1) - MOST_SKEW : 0;
      clocks[rank] = () -> offset + now + now / 1000 * skew;
    }
  }

  /** The run of a seed, which decides everything. */
  static Simulation of(long seed, SimulatedPrograms programs) {
    Dice random = new Dice(seed);
    String name = "seed " + seed;
    return random.nextInt(5) < 2
        ? TrainingSimulation.of(name, random, programs)
        : ScriptedSimulation.of(name, random, programs);
  }

  /** Returns whether no rank does anything any more, and nothing is under way. */
  abstract boolean isOver();

  /** Lets faults happen. */
  abstract void turn();

  /** Lets a rank do what it can do now. Returns how much that was; 0 also if it does not run. */
  abstract int step(int rank);

  /** Returns where a rank is in its job. */
  abstract int state(int rank);

  /** From now on {@link #tell} is to hear of all that arrives. */
  abstract void listen();

  /** Returns when something arrives somewhere, or {@link Long#MAX_VALUE}. */
  abstract long nextArrival();

  /** Checks that all went as it should. */
  abstract void check();

  /** Tells what the job is, what was done to it, and what became of each rank. */
  abstract String describe();

  /** Returns the sort of the run, of which there are to be enough. */
  abstract String kind();

  /** Remembers what happens, for {@link #story}. */
  final Simulation tellingStory() {
    tellsStory = true;
    listen();
    return this;
  }

  final List<String> story() {
    return story;
  }

  final void tell(String what) {
    if (tellsStory) {
      story.add(now / 1000 + " us: " + what);
    }
  }

  final boolean tellsStory() {
    return tellsStory;
  }

  /** The clock of a rank. */
  final LongSupplier clock(int rank) {
    return clocks[rank];
  }

  final int events() {
    return events;
  }

  final void fail(String what) {
    throw new AssertionError(name + " (" + kind() + "): " + what + "\n" + describe());
  }

  /** Runs to the end, checks everything, and returns a number that stands for all that happened. */
  final long run() {
    int idle = 0;
    while (!isOver()) {
      if (events++ > LONGEST_EVENTS || now > LONGEST) {
        fail("a hang at " + now / MILLI + " ms");
      }
      turn();
      idle = take(random.nextInt(size)) > 0 ? 0 : idle + 1;
      if (idle > size) {
        idle = 0;
        if (nobodyMoves()) {
          now = Math.max(now, Math.min(nextArrival(), now + LONGEST_JUMP));
        }
      }
    }
    check();
    return trace;
  }

  private boolean nobodyMoves() {
    int work = 0;
    for (int rank = 0; rank < size; rank++) {
      work += take(rank);
    }
    return work == 0;
  }

  private int take(int rank) {
    now += random.nextInt(20_000);
    int work = step(rank);
    trace = ((trace * 31 + rank) * 31 + work) * 31 + state(rank);
    trace = trace * 31 + now;
    return work;
  }

  /** The rank that an error names, if it says so by more than its words; else -1. */
  static int culprit(CollectiveException error) {
    if (error instanceof RankFailedException lost) {
      return lost.worldRank();
    }
    if (error instanceof AbortedException aborted) {
      return aborted.worldRank();
    }
    if (error instanceof CallTimeoutException late) {
      return late.worldRank();
    }
    return -1;
  }
}
