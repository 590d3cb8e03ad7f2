package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Thousands of schedules with faults; see {@link Simulation}. More of them, on all processors, and
 * from another seed on: {@code -Dcollectives.simulations=1000000
 * -Dcollectives.firstSimulation=5000}.
 *
 * <p>What was broken on purpose, and seen to fail here or (e) in {@link EngineTest} first:
 *
 * <ol>
 *   <li>a loss is blamed on the rank that reports it (e)
 *   <li>nobody looks at deadlines (e)
 *   <li>at a deadline the neighbour is blamed (e)
 *   <li>a silent peer is never given up (e)
 *   <li>no heartbeats (e)
 *   <li>a rank that was itself stopped blames the others (e)
 *   <li>peers of a plan are watched only once they have spoken (e)
 *   <li>a failure is not passed on (e)
 *   <li>a rank that was told before it called does not tell those who wait for it (e)
 *   <li>a rank leaves without a word (e)
 *   <li>a member that died between calls is forgotten at the next one (e)
 *   <li>memory of a failed call is read as if it were valid
 *   <li>a frame that was spoiled by that is dropped silently
 *   <li>a sum is put into memory of a failed call, which its user has got back
 *   <li>an error while summing is swallowed
 *   <li>calls that wait for their turn survive their group (e)
 *   <li>frames that come before the call are lost (e)
 *   <li>ranks that make different calls are not noticed (e)
 *   <li>survivors resume at the last call that any of them completed
 *   <li>failed calls count as completed
 *   <li>the leader does not wait for all reports
 *   <li>the leader decides before all have accepted
 *   <li>a later leader ignores what was accepted
 *   <li>the decision is not sent
 *   <li>a decision is not passed on to those who had taken another one for their leader
 *   <li>the smaller part of a split network goes on, or decides what was proposed before it split
 *   <li>deaths during the agreement are not heard of
 *   <li>nobody gives up a leader that does not lead
 *   <li>the epoch of who connects is not looked at: frames of the first run of a job come into the
 *       second, are summed or, more often, cannot be in the plan's next place
 *   <li>the fingerprint of a frame is not looked at
 *   <li>a frame of a call that has ended is dropped silently
 *   <li>a frame of a group that was not made is taken for one of another group
 *   <li>the same of the news that a group has failed
 *   <li>the same of the word in what call a peer waits
 *   <li>the silence of a peer counts from the beginning of time, not from when it was first needed,
 *       which a late joiner does not survive
 *   <li>a sum is put into memory that was leased by a rank whose call has failed
 *   <li>what was read of memory that was taken back is taken for valid
 *   <li>what a check finds is not passed on
 *   <li>nobody waits for echoes
 * </ol>
 *
 * <p>Planted again on 26 November 2026, numbers 7, 8 and 9 were found no more, because other
 * messages make up for them a moment later; 25 is found by {@link ConsensusTest}.
 *
 * <p>The epoch in a handshake, and proofs of admission, are checked by the transport and tested
 * there. Here the simulated network stands for it; what is shown is that the engine needs it, as
 * frames of an earlier run of the job are like those of this one in all else.
 */
@Tag("once")
class SimulationTest {
  private static final long DEFAULT_SEEDS = 5_000;
  private static final long SEEDS = Long.getLong("collectives.simulations", DEFAULT_SEEDS);
  private static final long FIRST_SEED = Long.getLong("collectives.firstSimulation", 0);

  /** Test classes run side by side, so the usual number of seeds has one thread. */
  private static final int THREADS =
      Integer.getInteger(
          "collectives.simulationThreads",
          SEEDS > DEFAULT_SEEDS ? Runtime.getRuntime().availableProcessors() : 1);

  @Test
  @Timeout(value = 25, unit = TimeUnit.MINUTES) // A million take less than 20.
  void noScheduleHangsOrSumsWrong() throws InterruptedException {
    Map<String, Integer> kinds = Campaign.run(FIRST_SEED, SEEDS, THREADS);
    if (SEEDS >= DEFAULT_SEEDS) {
      for (TrainingSimulation.Fault fault : TrainingSimulation.Fault.values()) {
        assertTrue(count(kinds, "training, " + fault) > SEEDS / 400, fault + " in " + kinds);
      }
      for (ScriptedSimulation.Fault fault : ScriptedSimulation.Fault.values()) {
        boolean strikes = fault != ScriptedSimulation.Fault.NONE;
        String kind = "scripted, " + fault + (strikes ? " strikes" : "");
        assertTrue(count(kinds, kind) > SEEDS / 400, fault + " in " + kinds);
      }
      assertTrue(count(kinds, "training, LATE_JOINER and another joins") > SEEDS / 400, "" + kinds);
    }
  }

  /** Returns how many runs there were of a kind, or of one that says more. */
  private static int count(Map<String, Integer> kinds, String kind) {
    return kinds.entrySet().stream()
        .filter(entry -> entry.getKey().equals(kind) || entry.getKey().startsWith(kind + " "))
        .mapToInt(Map.Entry::getValue)
        .sum();
  }

  /** Seeds that have found something once. */
  static LongStream pastSeeds() throws IOException {
    try (InputStream in = SimulationTest.class.getResourceAsStream("past-simulations.txt")) {
      String text = new String(Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
      return text.lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .mapToLong(line -> Long.parseLong(line.split("\\s+")[0]));
    }
  }

  @Test
  void pastFailuresStayMended() throws IOException {
    SimulatedPrograms programs = new SimulatedPrograms();
    pastSeeds().forEach(seed -> Simulation.of(seed, programs).run());
  }

  /** Prints what happens in the simulation of a seed; see {@link Campaign#replay}. */
  @Test
  @EnabledIfSystemProperty(named = "collectives.simulation.seed", matches = "\\d+")
  void replay() {
    long seed = Long.getLong("collectives.simulation.seed");
    Simulation simulation = Simulation.of(seed, new SimulatedPrograms()).tellingStory();
    try {
      simulation.run();
    } finally {
      System.out.println(simulation.kind() + "\n" + simulation.describe());
      simulation.story().forEach(System.out::println);
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 2", "1, 3"})
  void aDeathAtAnyEventIsSurvived(long seed, int size) {
    SimulatedPrograms programs = new SimulatedPrograms();
    Simulation whole = TrainingSimulation.ofKill(seed, size, 0, Integer.MAX_VALUE, programs);
    whole.run();
    for (int victim = 0; victim < size; victim++) {
      for (int event = 0; event < whole.events(); event++) {
        TrainingSimulation.ofKill(seed, size, victim, event, programs).run();
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"1, 2", "2, 2", "0, 3", "0, 4"})
  @Tag("long")
  @Timeout(300)
  void aDeathAtAnyEventOfALongerJobIsSurvived(long seed, int size) {
    aDeathAtAnyEventIsSurvived(seed, size);
  }

  @Test
  void aSeedTellsTheSameStoryAgain() {
    SimulatedPrograms used = new SimulatedPrograms();
    for (long seed = 0; seed < 50; seed++) {
      assertEquals(
          Simulation.of(seed, used).run(),
          Simulation.of(seed, new SimulatedPrograms()).run(),
          "seed " + seed);
    }
  }

  /** Many groups, one after the other, leave nothing behind, whoever closes them first. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void closedGroupsAreForgotten(boolean barrier) {
    int ranks = 3;
    Bench bench = new Bench(ranks, Algorithm.ring());
    Dice random = new Dice(1);
    List<Integer> order = new ArrayList<>(List.of(0, 1, 2));
    for (int made = 0; made < 3_000; made++) {
      List<Group> groups = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        groups.add(new Group(100 + made, new int[] {0, 1, 2}, rank, null));
        bench.engines.get(rank).add(groups.get(rank));
      }
      Collections.shuffle(order, random);
      List<Call> calls = new ArrayList<>();
      for (int rank : order) {
        Program program = barrier ? bench.barriers.get(rank) : bench.programs.get(rank);
        Memory memory = Memories.of(Payload.of(new int[barrier ? 0 : 1]));
        calls.add(bench.submit(rank, groups.get(rank), program, memory, memory, ReduceOp.SUM));
      }
      bench.settle();
      for (int i = 0; i < ranks; i++) {
        assertTrue(calls.get(i).isDone() && calls.get(i).error() == null, "group " + made);
        bench.engines.get(order.get(i)).recycle(calls.get(i));
      }
      for (int rank : order) {
        bench.engines.get(rank).leave(groups.get(rank));
        if (random.nextBoolean()) {
          bench.settle();
        }
      }
      bench.settle();
      for (Engine engine : bench.engines) {
        Books books = Books.of(engine);
        assertTrue(books.hold(1), "after group " + made + " an engine holds " + books);
      }
    }
  }
}
