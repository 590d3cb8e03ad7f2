package io.collectives.bench.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.Fault.Phase;
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
      Fault fault = Fault.any(Kind.KILL, Phase.JOINING, 4, List.of(), 1_000, random);
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

  /** Ranks that are neighbours across hosts talk by TCP, and on one host by what has no packets. */
  @Test
  void onlyWhatTalksByTcpIsCut() {
    assertEquals(List.of(0, 1, 2, 3), Site.tcp().victims(Kind.CUT, 4));
    assertEquals(List.of(0, 1, 2, 3), Site.tcp().victims(Kind.ISOLATE, 4));
    for (String name : List.of("shm", "unix", "auto")) {
      Site site = new Site(name, 1, null);
      assertEquals(List.of(0, 1, 2, 3), site.victims(Kind.STOP, 4));
      assertEquals(List.of(), site.victims(Kind.RESET, 4));
      assertEquals(List.of(), site.victims(Kind.CUT, 4));
      assertEquals(List.of(), site.victims(Kind.ISOLATE, 4));
    }
    Site mixed = new Site("auto", 2, null);
    assertEquals(List.of(1, 3), mixed.victims(Kind.RESET, 4));
    assertEquals(List.of(2, 4), mixed.victims(Kind.CUT, 5));
    assertEquals("chaos-1", mixed.variables(2, 4).get("COLLECTIVES_HOST"));
    assertEquals("chaos-0", mixed.variables(1, 4).get("COLLECTIVES_HOST"));
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 50; i++) {
      Fault fault = Fault.any(Kind.CUT, Phase.IDLE, 4, mixed.victims(Kind.CUT, 4), 0, random);
      assertTrue(fault.victim() == 1 || fault.victim() == 3, fault.toString());
    }
  }

  @Test
  void allIntrudersComeInSomeRound() {
    for (int intruders : new int[] {1, 50, 10_000, 12_345}) {
      PriceSettings settings =
          new PriceSettings(2, intruders, 100, Duration.ZERO, 1, List.of(), List.of());
      assertEquals(
          intruders,
          IntStream.range(0, settings.rounds()).map(settings::inRound).sum(),
          settings.toString());
    }
  }
}
