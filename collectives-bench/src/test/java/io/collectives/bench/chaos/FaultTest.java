package io.collectives.bench.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.Fault.Phase;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FaultTest {

  @Test
  void whileJoiningSomeRanksMayNotBeStartedYet() {
    SplittableRandom random = new SplittableRandom(11);
    Set<Integer> started = new HashSet<>();
    Set<Integer> victims = new HashSet<>();
    Set<List<Integer>> orders = new HashSet<>();
    for (int i = 0; i < 200; i++) {
      Fault fault = Fault.any(Kind.KILL, Phase.JOINING, 4, 1_000, random);
      List<Integer> order = new ArrayList<>(fault.startedBefore());
      assertTrue(order.contains(fault.victim()), fault.toString());
      assertTrue(fault.delayMillis() >= 400 && fault.delayMillis() <= 1_600, fault.toString());
      order.addAll(fault.startedAfter());
      orders.add(List.copyOf(order));
      Collections.sort(order);
      assertEquals(List.of(0, 1, 2, 3), order, fault.toString());
      started.add(fault.startedBefore().size());
      victims.add(fault.victim());
    }
    assertEquals(Set.of(1, 2, 3, 4), started);
    assertEquals(Set.of(0, 1, 2, 3), victims);
    assertEquals(24, orders.size());
  }

  @Test
  void theGuiltyOneOfAPairIsTheHigher() {
    List<Integer> all = List.of(0, 1, 2, 3);
    Fault wraps = new Fault(Kind.CUT, Phase.IDLE, 3, 0, all, List.of());
    assertEquals(0, wraps.peer());
    assertEquals(3, wraps.guilty());
    assertEquals("cut between ranks 3 and 0 while no call is under way", wraps.toString());
    assertEquals(2, new Fault(Kind.RESET, Phase.IDLE, 1, 0, all, List.of()).guilty());
    assertEquals(1, new Fault(Kind.ISOLATE, Phase.IDLE, 1, 0, all, List.of()).guilty());
  }

  @Test
  void allStrangersComeInSomeRound() {
    for (int strangers : new int[] {1, 50, 10_000, 12_345}) {
      PriceSettings settings =
          new PriceSettings(
              2,
              strangers,
              100,
              Duration.ZERO,
              1,
              List.of(),
              List.of(),
              new PrintStream(PrintStream.nullOutputStream()));
      assertEquals(
          strangers,
          IntStream.range(0, settings.rounds()).map(settings::inRound).sum(),
          settings.toString());
    }
  }
}
