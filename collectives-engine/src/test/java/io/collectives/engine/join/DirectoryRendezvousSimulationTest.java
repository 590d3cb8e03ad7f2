package io.collectives.engine.join;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JoinException;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Jobs that join in a directory that is a map, on a clock of their own: schedules drawn from a
 * seed, in which ranks come late, twice or never, are killed or stopped between any two of their
 * steps, and come back, beside what earlier runs and others have left.
 *
 * <p>Each rank is a thread, of which one runs at a time: it hands on when it waits, and between two
 * operations on files when the seed says so.
 *
 * <p>More of them: {@code -Dcollectives.simulations=100000 -Dcollectives.firstSimulation=250}.
 */
@Tag("once")
@Timeout(240)
final class DirectoryRendezvousSimulationTest {
  private static final int SIMULATIONS = Integer.getInteger("collectives.simulations", 250);

  /** The number of simulated deaths, of which one in ten found a fault that was put back. */
  private static final int LONE_DEATHS = Math.max(SIMULATIONS / 3, 1);

  private static final int FIRST = Integer.getInteger("collectives.firstSimulation", 0);

  /** Far more than a schedule takes that gets on. */
  private static final long MOST_STEPS = 1_000_000;

  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
  private static final Path DIRECTORY = Path.of("/simulated");

  /**
   * The time by which a rank may end later than its limit: it lingers until the others have read
   * why.
   */
  private static final long LATE_NANOS = TimeUnit.SECONDS.toNanos(1) + 100 * MILLI;

  @Test
  void allMeetOrEachKnowsInTimeWhyNot() throws Exception {
    for (int seed = FIRST; seed < FIRST + SIMULATIONS; seed++) {
      run(seed, new Simulation(seed));
    }
  }

  /**
   * A rank dies before any of its operations: all who were there name it within the limit of
   * silence, long before their time is over, or another process takes its place and all join.
   */
  @Test
  void aLoneDeathIsFoundInTime() throws Exception {
    int known = 0;
    int replaced = 0;
    for (int seed = FIRST; seed < FIRST + LONE_DEATHS; seed++) {
      LoneDeath simulation = new LoneDeath(seed);
      run(seed, simulation);
      known += simulation.isKnown ? 1 : 0;
      replaced += simulation.isReplaced ? 1 : 0;
    }
    assertTrue(known >= LONE_DEATHS / 6, known + " deaths of ranks that others knew");
    assertTrue(replaced >= LONE_DEATHS / 10, replaced + " deaths of ranks that were replaced");
  }

  /** Seeds that have found a fault once, or that a fault was put back for, find nothing. */
  @ParameterizedTest
  @ValueSource(longs = {45, 141, 1587, 2291})
  void pastSeeds(long seed) throws Exception {
    run(seed, new Simulation(seed));
  }

  private static void run(long seed, Simulation simulation) throws Exception {
    try {
      simulation.run();
    } catch (RuntimeException | Error e) {
      throw new AssertionError(
          "schedule " + seed + ", -Dcollectives.firstSimulation=" + seed + "\n" + simulation.story,
          e);
    }
  }

  /** The end of a process that is killed. */
  private static final class Killed extends Error {
    private static final long serialVersionUID = 1;

    Killed() {
      super("killed", null, false, false);
    }
  }

  /** A schedule. */
  private static class Simulation {
    final Random random;
    final StringBuilder story = new StringBuilder();
    final Map<Path, byte[]> files = new TreeMap<>();
    final List<Rank> ranks = new ArrayList<>();
    final Set<Integer> absent = new HashSet<>();
    int size;
    boolean calm;
    Duration timeout;
    Duration silence;
    final long began;
    final Semaphore idle = new Semaphore(0);
    long now;
    long steps;

    Simulation(long seed) {
      random = new Random(seed * 0x9E3779B97F4A7C15L + 7);
      size = 2 + random.nextInt(3);
      calm = random.nextInt(3) == 0;
      timeout = Duration.ofMillis(500 + random.nextInt(1_500));
      silence = Duration.ofMillis(200 + random.nextInt(600));
      now = random.nextBoolean() ? Long.MAX_VALUE - 300 * MILLI : random.nextLong(); // It wraps.
      began = now;
    }

    final void run() throws Exception {
      begin();
      for (Rank next = next(); next != null; next = next()) {
        now = next.wakesAt - now > 0 ? next.wakesAt : now;
        assertTrue(steps++ < MOST_STEPS, "nothing gets on any more");
        next.turn.release();
        assertTrue(idle.tryAcquire(30, TimeUnit.SECONDS), "a rank hands on");
      }
      check();
    }

    /** Starts the ranks. */
    void begin() {
      for (int rank = 0; rank < size; rank++) {
        if (random.nextInt(8) == 0) {
          absent.add(rank);
          continue;
        }
        long delay = random.nextLong(timeout.toNanos() / (calm ? 4 : 1));
        if (!calm && !ranks.isEmpty() && random.nextInt(3) == 0) {
          // When somebody's time is just about to be over, so that both are decided at once.
          long end = ranks.get(random.nextInt(ranks.size())).begunAt - now + timeout.toNanos();
          delay = Math.max(end - random.nextLong(60 * MILLI), 0);
        }
        start(rank, rank, delay);
        if (!calm && random.nextInt(10) == 0) {
          start(rank, size + rank, random.nextLong(timeout.toNanos()));
        }
      }
      if (random.nextInt(3) == 0) {
        leave("run", random.nextInt(4));
        leave("0123456789abcdef0123456789abcdef.place-1", random.nextInt(4));
        leave("0123456789abcdef0123456789abcdef.verdict", 1 + random.nextInt(3));
      }
    }

    private @Nullable Rank next() {
      Rank first = null;
      for (Rank rank : ranks) {
        if (!rank.over && (first == null || rank.wakesAt - first.wakesAt < 0)) {
          first = rank;
        }
      }
      return first;
    }

    /** Notes that a rank has died just now. */
    void died(Rank rank) {
      tell(rank + " dies");
    }

    final Rank start(int rank, int process, long delay) {
      Rank party = new Rank(this, rank, process, delay);
      ranks.add(party);
      if (!calm && random.nextInt(6) == 0) {
        party.killedAt = party.begunAt + random.nextLong(timeout.toNanos());
        if (random.nextBoolean() && process < 6 * size) {
          start(rank, process + 2 * size, delay + random.nextLong(2 * timeout.toNanos()));
        }
      }
      if (!calm && random.nextInt(6) == 0) {
        party.stopsAt = party.begunAt + random.nextLong(timeout.toNanos());
      }
      return party;
    }

    /** Makes a file that a run that is over, or anybody, has left. */
    private void leave(String name, int kind) {
      String text =
          switch (kind) {
            case 0 ->
                "version=1\njob=job\nrank="
                    + (name.equals("run") ? 0 : 1)
                    + "\nsize="
                    + size
                    + "\ntransport=tcp\naddress=old\nwhereabouts=old\nticket=old\n"
                    + "run=0123456789abcdef0123456789abcdef\nend\n";
            case 1 -> "state=failed\nreason=old\nend\n";
            case 2 -> "x".repeat(5_000);
            default -> "cut";
          };
      files.put(
          DIRECTORY.resolve("collectives-job-5e8c9902207afaeb." + name),
          text.getBytes(StandardCharsets.UTF_8));
    }

    void tell(String what) {
      story.append((now - began) / MILLI).append(" ms: ").append(what).append('\n');
    }

    // ---------------------------------------------------------------- what must hold

    void check() {
      boolean met = checkEnds();
      if (calm) {
        assertEquals(absent.isEmpty(), met, "those who came in time");
        for (Rank rank : ranks) {
          assertEquals(met, rank.roster != null, rank + ": " + rank.failure);
          if (!met) {
            String why = String.valueOf(rank.failure.getMessage());
            for (int other : absent) {
              assertTrue(
                  why.matches(
                          "(?s).* missing of " + size + ": ranks? [-0-9, ]*\\b" + other + "\\b.*")
                      || why.contains("-"),
                  () -> why + "\nabsent: " + absent);
            }
          }
        }
      }
    }

    /** Checks what must hold in any schedule, and returns whether any ranks have joined. */
    final boolean checkEnds() {
      Map<JobEpoch, Roster> rosters = new HashMap<>();
      boolean met = false;
      for (Rank rank : ranks) {
        if (rank.died) {
          continue;
        }
        assertTrue(
            rank.endedAt - rank.begunAt <= timeout.toNanos() + LATE_NANOS + rank.stoppedNanos,
            () -> rank + " took " + (rank.endedAt - rank.begunAt) / MILLI + " ms");
        Roster roster = rank.roster;
        if (roster != null) {
          met = true;
          Roster first = rosters.putIfAbsent(roster.epoch(), roster);
          assertTrue(first == null || first.equals(roster), "two rosters of one epoch");
          assertEquals(size, roster.addresses().size());
          assertEquals(rank.me.address(), roster.addresses().get(rank.me.rank()), rank + "");
          for (int place = 0; place < size; place++) {
            int process = Integer.parseInt(roster.addresses().get(place).substring(3));
            assertEquals(place, process % size, () -> "who is where in " + roster);
          }
        } else {
          assertTrue(rank.failure instanceof JoinException, rank + " ends by " + rank.failure);
          String why = String.valueOf(rank.failure.getMessage());
          assertTrue(why.contains("rank") || why.contains("removed or damaged"), why);
        }
      }
      for (Rank rank : ranks) {
        // Who is stopped when the others meet may come when their files have gone.
        for (Roster roster : rosters.values()) {
          if (roster.addresses().contains(rank.me.address())
              && !rank.died
              && rank.stoppedNanos == 0) {
            assertEquals(
                roster, rank.roster, () -> rank + " had its place in a run that others completed");
          }
        }
      }
      assertTrue(!calm || rosters.size() <= 1, "one run is completed");
      return met;
    }
  }

  /** A schedule in which nothing goes wrong but that one rank dies. */
  private static final class LoneDeath extends Simulation {
    private final int victim;

    /** If true, another process of the rank comes soon after its death, and all come in time. */
    private final boolean mayBeReplaced;

    private @Nullable Rank dead;
    private @Nullable Rank replacement;

    /** Tells in the end whether others must have known that the dead rank was there. */
    boolean isKnown;

    /** Tells in the end whether another process has taken the place of the dead rank. */
    boolean isReplaced;

    LoneDeath(long seed) {
      super(seed);
      calm = true;
      silence = Duration.ofMillis(400 + random.nextInt(600));
      timeout = silence.multipliedBy(12);
      size = 3 + random.nextInt(2);
      victim = random.nextInt(size);
      mayBeReplaced = random.nextInt(3) == 0;
    }

    @Override
    void begin() {
      long limit = silence.toNanos();
      // So that the others wait when the victim dies.
      int late = random.nextInt(4) == 0 ? -1 : (victim + 1 + random.nextInt(size - 1)) % size;
      for (int rank = 0; rank < size; rank++) {
        long delay = random.nextLong(2 * limit);
        if (rank == late) {
          if (!mayBeReplaced && random.nextBoolean()) {
            absent.add(rank);
            continue;
          }
          delay = 2 * limit + random.nextLong(6 * limit);
        }
        Rank party = start(rank, rank, delay);
        if (rank == victim) {
          if (random.nextBoolean()) {
            party.operationsLeft = random.nextInt(1 << 1 + random.nextInt(9));
          } else {
            party.killedAt = party.begunAt + random.nextLong(3 * limit);
          }
        }
      }
    }

    @Override
    void died(Rank rank) {
      super.died(rank);
      dead = rank;
      if (mayBeReplaced) {
        replacement = start(victim, size + victim, random.nextLong(silence.toNanos() / 4));
      }
    }

    @Override
    void check() {
      boolean met = checkEnds();
      Rank dead = this.dead;
      boolean isCompleted =
          met
              && dead != null
              && ranks.stream()
                  .anyMatch(
                      rank ->
                          rank.roster != null
                              && rank.roster.addresses().contains(dead.me.address()));
      if (dead == null || isCompleted) {
        assertEquals(absent.isEmpty(), met, "those who came in time");
        return;
      }
      if (replacement != null) {
        isReplaced = true;
        for (Rank rank : ranks) {
          assertTrue(rank == dead || rank.roster != null, () -> rank + ": " + rank.failure);
        }
        return;
      }
      isKnown =
          victim == 0 ? ranks.stream().anyMatch(rank -> rank.beatsHeard.size() > 1) : dead.sits;
      long limit = silence.toNanos();
      for (Rank rank : ranks) {
        // Who came later need not have been in the run that failed.
        if (rank == dead || !isKnown || rank.begunAt - dead.endedAt > limit / 2) {
          continue;
        }
        String why = String.valueOf(rank.failure);
        assertTrue(
            why.contains(Announcements.name(dead.me) + " ") && why.contains(" was lost: "),
            () -> rank + " does not name " + dead + ": " + why);
        long took = rank.endedAt - dead.endedAt;
        assertTrue(
            took <= limit + limit / 4 + 200 * MILLI,
            () -> rank + " ends " + took / MILLI + " ms after the death of " + dead + ": " + why);
      }
    }
  }

  /** A process, and all that it knows of the world. */
  private static final class Rank implements Surroundings {
    final Simulation world;
    final Announcement me;
    final Semaphore turn = new Semaphore(0);
    final long begunAt;
    long wakesAt;
    long killedAt;
    long stopsAt;
    long stoppedNanos;
    long endedAt;

    /** The number of operations on files after which it dies. */
    int operationsLeft = Integer.MAX_VALUE;

    boolean over;
    boolean died;

    /** If true, it has taken its place in a run. */
    boolean sits;

    /** The beats of rank 0 that it has read; it knows that rank 0 lives when there are two. */
    final Set<String> beatsHeard = new HashSet<>();

    @Nullable Roster roster;
    @Nullable Throwable failure;

    Rank(Simulation world, int rank, int process, long delay) {
      this.world = world;
      this.me =
          new Announcement(
              "job",
              rank,
              world.size,
              Rendezvous.PROTOCOL_VERSION,
              "tcp",
              "at-" + process,
              "p" + process);
      this.begunAt = world.now + delay;
      this.wakesAt = begunAt;
      long never = begunAt + Duration.ofDays(1).toNanos();
      this.killedAt = never;
      this.stopsAt = never;
      Thread thread = new Thread(this::live, "simulated rank " + rank);
      thread.setDaemon(true);
      thread.start();
    }

    private void live() {
      turn.acquireUninterruptibly();
      world.tell(this + " begins");
      try {
        RendezvousRound round =
            me.rank() == 0
                ? new Leader(this, DIRECTORY, me, world.timeout, world.silence)
                : new Follower(this, DIRECTORY, me, world.timeout, world.silence);
        roster = round.meet();
        world.tell(this + " has met");
      } catch (Killed e) {
        world.died(this);
      } catch (Throwable e) {
        failure = e;
        world.tell(this + " gives up: " + e.getMessage());
      }
      over = true;
      endedAt = world.now;
      world.idle.release();
    }

    /** Lets others run until a time. */
    private void handOn(long nanos) {
      wakesAt = world.now + nanos;
      if (wakesAt - stopsAt >= 0) {
        long stopped = world.random.nextLong(2 * world.silence.toNanos());
        stoppedNanos += stopped;
        wakesAt += stopped;
        stopsAt = wakesAt + Duration.ofDays(1).toNanos();
        world.tell(this + " is stopped for " + stopped / MILLI + " ms");
      }
      world.idle.release();
      turn.acquireUninterruptibly();
      if (world.now - killedAt >= 0) {
        died = true;
        throw new Killed();
      }
    }

    /** Comes before each operation on files; who is dead does none, not even to clear up. */
    private void step() {
      if (died || operationsLeft-- == 0) {
        died = true;
        throw new Killed();
      }
      if (world.random.nextInt(20) == 0) {
        handOn(world.random.nextLong(2 * MILLI));
      }
    }

    @Override
    public String toString() {
      return "rank " + me.rank() + " at " + me.address();
    }

    @Override
    public long nanoTime() {
      return world.now;
    }

    @Override
    public void pause(long nanos) {
      if (died) {
        throw new Killed();
      }
      handOn(nanos);
    }

    @Override
    public boolean isClosed() {
      return false;
    }

    @Override
    public boolean isInterrupted() {
      return false;
    }

    @Override
    public byte @Nullable [] read(Path file) throws IOException {
      step();
      byte[] bytes = world.files.get(file);
      if (bytes != null && file.toString().endsWith(".seen")) {
        beatsHeard.add(new String(bytes, StandardCharsets.UTF_8));
      }
      return bytes == null ? null : Arrays.copyOf(bytes, Math.min(bytes.length, Note.LONGEST + 1));
    }

    @Override
    public boolean exists(Path file) {
      step();
      return world.files.containsKey(file);
    }

    @Override
    public boolean create(Path file, byte[] bytes) {
      step();
      boolean isNew = world.files.putIfAbsent(file, bytes) == null;
      sits |= isNew && file.toString().endsWith(".place-" + me.rank());
      return isNew;
    }

    @Override
    public void replace(Path file, byte[] bytes) {
      step();
      world.files.put(file, bytes);
    }

    @Override
    public boolean delete(Path file) {
      step();
      return world.files.remove(file) != null;
    }

    @Override
    public List<Path> list(String prefix) {
      step();
      return world.files.keySet().stream()
          .filter(file -> file.getFileName().toString().startsWith(prefix))
          .toList();
    }
  }
}
