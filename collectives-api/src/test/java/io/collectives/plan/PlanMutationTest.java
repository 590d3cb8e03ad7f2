package io.collectives.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Takes plans that are right, changes them a little at random, and asks both the verifier and a
 * second judge, who counts contributions with maps of integers. They must agree. The seed of a
 * failure is in its message.
 */
@Tag("once")
@Execution(ExecutionMode.CONCURRENT)
class PlanMutationTest {
  private static final int MUTANTS = 10_000;
  private static final int FRAMES = 2;

  /** More than 64 ranks have too many pairs for a judge who counts with maps. */
  private static final int ALL_BUT_ALL_TO_ALL = Collective.ALL_TO_ALL.ordinal();

  @Test
  void verifierAndSecondJudgeAgreeOnExactSets() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    int rejected = 0;
    for (int i = 0; i < MUTANTS; i++) {
      TablePlan mutant = mutant(random, random.nextInt(2, 7));
      String ours = verdict(mutant, seed);
      String theirs = new SecondJudge(mutant, true).verdict();
      assertEquals(theirs == null, ours == null, () -> say(seed, mutant, ours, theirs));
      rejected += ours == null ? 0 : 1;
    }
    int some = rejected;
    assertTrue(
        some > MUTANTS / 2 && some < MUTANTS, () -> some + " mutants rejected, seed " + seed);
  }

  @Test
  void verifierAndSecondJudgeAgreeOnTags() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 10; i++) {
      TablePlan mutant = mutant(random, random.nextInt(65, 72));
      String ours = verdict(mutant, seed);
      String theirs = new SecondJudge(mutant, false).verdict();
      assertEquals(theirs == null, ours == null, () -> say(seed, mutant, ours, theirs));
    }
  }

  @Test
  void secondJudgeAcceptsWhatIsRight() {
    SplittableRandom random = new SplittableRandom(1);
    for (int n = 2; n < 10; n++) {
      for (int i = 0; i < 20; i++) {
        assertEquals(null, new SecondJudge(right(random, n), true).verdict());
      }
    }
  }

  private static String say(long seed, Plan plan, @Nullable String ours, @Nullable String theirs) {
    return "seed " + seed + ": verifier " + ours + ", second judge " + theirs + ", " + plan;
  }

  private static @Nullable String verdict(Plan plan, long seed) {
    try {
      PlanVerifier.verify(plan, FRAMES, seed);
      return null;
    } catch (InvalidPlanException e) {
      return e.getMessage();
    }
  }

  private static TablePlan right(SplittableRandom random, int n) {
    return switch (random.nextInt(18)) {
      case 0 -> TablePlan.ring(n);
      case 1 -> TablePlan.twice(TablePlan.ring(n));
      case 2 -> TablePlan.star(n, 3);
      case 3 -> exchange(n, n);
      case 4 -> exchange(n, random.nextInt(1, n + 1));
      case 12, 13 ->
          TablePlan.copyOf(DirectPlans.exchange(PlanRequest.of(Collective.ALL_REDUCE, n)));
      case 14, 15 -> {
        int servers = random.nextInt(1, n);
        yield TablePlan.served(n - servers, servers);
      }
      case 16, 17 -> exchanges(n);
      case 5 -> TablePlan.copyOf(Dissemination.barrier(n));
      default -> {
        Collective[] all = Collective.values();
        Collective any = all[random.nextInt(n > Long.SIZE ? ALL_BUT_ALL_TO_ALL : all.length)];
        int root = any.rooted() ? random.nextInt(n) : 0;
        yield TablePlan.copyOf(DirectPlans.of(new PlanRequest(any, n, root)));
      }
    };
  }

  private static TablePlan exchange(int ranks, int owners) {
    return TablePlan.copyOf(
        Plan.of(
            Collective.ALL_REDUCE,
            ranks,
            owners,
            DirectExchange.reduceScatter(ranks, owners)
                .then(DirectExchange.allGather(ranks, owners))));
  }

  /**
   * Recursive doubling of as many ranks as are a power of two; the others give theirs to them first
   * and get the result last.
   */
  private static TablePlan exchanges(int ranks) {
    int core = Integer.highestOneBit(ranks);
    List<List<Transfer>> rounds = new ArrayList<>();
    List<Transfer> in = new ArrayList<>();
    List<Transfer> out = new ArrayList<>();
    for (int rank = core; rank < ranks; rank++) {
      in.add(new Transfer(rank, rank - core, 0, 1, Effect.REDUCE));
      out.add(new Transfer(rank - core, rank, 0, 1, Effect.REPLACE));
    }
    rounds.add(in);
    for (int distance = 1; distance < core; distance *= 2) {
      List<Transfer> round = new ArrayList<>();
      for (int rank = 0; rank < core; rank++) {
        round.add(new Transfer(rank, rank ^ distance, 0, 1, Effect.REDUCE));
      }
      rounds.add(round);
    }
    rounds.add(out);
    return new TablePlan(Collective.ALL_REDUCE, ranks, 1, new ArrayList<>(List.of(rounds)));
  }

  private static TablePlan mutant(SplittableRandom random, int n) {
    TablePlan plan = right(random, n);
    TablePlan original = TablePlan.copyOf(plan);
    do {
      mutate(plan, random);
    } while (plan.equals(original));
    assertNotEquals(original, plan);
    return plan;
  }

  private static void mutate(TablePlan plan, SplittableRandom random) {
    List<List<Transfer>> rounds = plan.table().get(random.nextInt(plan.lanes()));
    List<Transfer> round = rounds.get(random.nextInt(rounds.size()));
    if (round.isEmpty()) {
      return;
    }
    int at = random.nextInt(round.size());
    Transfer t = round.get(at);
    int rank = random.nextInt(-1, plan.ranks() + 1);
    int chunk = random.nextInt(-1, plan.chunks() + 1);
    switch (random.nextInt(10)) {
      case 0 ->
          round.set(at, new Transfer(rank, t.to(), t.firstChunk(), t.chunkCount(), t.effect()));
      case 1 ->
          round.set(at, new Transfer(t.from(), rank, t.firstChunk(), t.chunkCount(), t.effect()));
      case 2 -> round.set(at, new Transfer(t.from(), t.to(), chunk, t.chunkCount(), t.effect()));
      case 3 -> round.set(at, new Transfer(t.from(), t.to(), t.firstChunk(), chunk, t.effect()));
      case 4 -> {
        Effect other = t.effect() == Effect.REDUCE ? Effect.REPLACE : Effect.REDUCE;
        round.set(at, new Transfer(t.from(), t.to(), t.firstChunk(), t.chunkCount(), other));
      }
      case 5 -> round.remove(at);
      case 6 -> round.add(random.nextInt(round.size() + 1), t);
      case 7 -> rounds.get(random.nextInt(rounds.size())).add(round.remove(at));
      case 8 -> Collections.swap(rounds, 0, random.nextInt(rounds.size()));
      default -> Collections.swap(round, at, random.nextInt(round.size()));
    }
  }

  /**
   * Judges a plan by counting, for each chunk of each rank, how often it holds each contribution.
   * Shares no code and no representation with the verifier.
   */
  private static final class SecondJudge {
    private final TablePlan plan;

    /** If true, a contribution must not be held twice even where a later replacement mends it. */
    private final boolean strict;

    private final boolean barrier;
    private Map<List<Integer>, int[]> held = new HashMap<>();

    /** The sums, written down: brackets around two operands, ' behind what was rounded. */
    private Map<List<Integer>, String> sums = new HashMap<>();

    private final Map<Integer, Integer> laneOfChunk = new HashMap<>();
    private final Map<Integer, Integer> completions = new HashMap<>();
    private final Set<Integer> together = new HashSet<>();
    private final Map<Integer, Set<String>> replacements = new HashMap<>();

    SecondJudge(TablePlan plan, boolean strict) {
      this.plan = plan;
      this.strict = strict;
      barrier = plan.collective() == Collective.BARRIER;
      for (int rank = 0; rank < plan.ranks(); rank++) {
        for (int chunk = 0; chunk < plan.chunks(); chunk++) {
          int[] counts = new int[plan.ranks()];
          counts[rank] = contributors(chunk).contains(rank) ? 1 : 0;
          held.put(List.of(rank, chunk), counts);
          sums.put(List.of(rank, chunk), "x" + rank);
        }
      }
    }

    private int part(int chunk) {
      return (int) ((long) chunk * plan.ranks() / plan.chunks());
    }

    private Set<Integer> contributors(int chunk) {
      return switch (plan.collective()) {
        case ALL_REDUCE -> workers();
        case REDUCE_SCATTER, REDUCE, BARRIER -> all();
        case BROADCAST, SCATTER -> Set.of(plan.root());
        case ALL_GATHER, GATHER, ALL_TO_ALL -> Set.of(part(chunk));
      };
    }

    private Set<Integer> receivers(int chunk) {
      return switch (plan.collective()) {
        case ALL_REDUCE -> workers();
        case ALL_GATHER, BROADCAST, BARRIER -> all();
        case REDUCE, GATHER -> Set.of(plan.root());
        case REDUCE_SCATTER, SCATTER -> Set.of(part(chunk));
        case ALL_TO_ALL -> {
          int ofSender = plan.chunks() / plan.ranks();
          yield Set.of((int) ((long) chunk % ofSender * plan.ranks() / ofSender));
        }
      };
    }

    private Set<Integer> workers() {
      return IntStream.range(0, plan.contributors()).boxed().collect(Collectors.toSet());
    }

    private Set<Integer> all() {
      return IntStream.range(0, plan.ranks()).boxed().collect(Collectors.toSet());
    }

    @Nullable String verdict() {
      for (int lane = 0; lane < plan.lanes(); lane++) {
        for (List<Transfer> round : plan.table().get(lane)) {
          String fault = shape(lane, round);
          if (fault == null) {
            fault = move(round);
          }
          if (fault != null) {
            return fault;
          }
        }
      }
      for (int chunk = 0; chunk < plan.chunks(); chunk++) {
        for (int rank : receivers(chunk)) {
          if (!complete(held.get(List.of(rank, chunk)), chunk)) {
            return "incomplete at the end";
          }
        }
      }
      for (int chunk = 0; chunk < plan.chunks(); chunk++) {
        if (completions.getOrDefault(chunk, 0) > 1) {
          if (together.contains(chunk)) {
            return "completed by several together with others";
          }
          Set<String> different = new HashSet<>(replacements.getOrDefault(chunk, Set.of()));
          for (int rank : receivers(chunk)) {
            different.add(sums.get(List.of(rank, chunk)));
          }
          if (different.size() > 1) {
            return "different sums " + different;
          }
        }
      }
      return null;
    }

    /** Writes down the sums after a round, none of whose contributions comes twice. */
    private void add(List<Transfer> round) {
      Map<List<Integer>, String> next = new HashMap<>(sums);
      Map<List<Integer>, Integer> reductions = new HashMap<>();
      Set<List<Integer>> sent = new HashSet<>();
      for (Transfer t : round) {
        for (int chunk : chunks(t)) {
          sent.add(List.of(t.from(), chunk));
          if (t.effect() == Effect.REDUCE) {
            reductions.merge(List.of(t.to(), chunk), 1, Integer::sum);
          }
        }
      }
      for (Transfer t : round) {
        for (int chunk : chunks(t)) {
          List<Integer> to = List.of(t.to(), chunk);
          String carried = sums.get(List.of(t.from(), chunk));
          if (t.effect() == Effect.REPLACE) {
            replacements.computeIfAbsent(chunk, c -> new HashSet<>()).add(carried);
            next.put(to, carried);
          } else if (reductions.get(to) == plan.ranks() - 1) {
            String inOrder = "x0'";
            for (int rank = 1; rank < plan.ranks(); rank++) {
              inOrder = "(" + inOrder + "+x" + rank + "')";
            }
            next.put(to, inOrder);
          } else if (!sent.contains(to)) {
            next.put(to, "(" + next.get(to) + "+" + carried + "')");
          } else if (t.from() < t.to()) {
            next.put(to, "(" + carried + "'+" + next.get(to) + "')");
          } else {
            next.put(to, "(" + next.get(to) + "'+" + carried + "')");
          }
        }
      }
      sums = next;
    }

    private @Nullable String shape(int lane, List<Transfer> round) {
      Map<List<Integer>, List<Effect>> effects = new HashMap<>();
      Map<List<Integer>, Integer> frames = new HashMap<>();
      for (Transfer t : round) {
        Set<Integer> both = new HashSet<>(List.of(t.from(), t.to()));
        if (both.size() == 1 || Collections.min(both) < 0) {
          return "bad ranks";
        }
        if (Collections.max(both) > plan.ranks() - 1 || t.chunkCount() <= 0) {
          return "bad rank or count";
        }
        frames.merge(List.of(t.from(), t.to()), 1, Integer::sum);
        for (int chunk : chunks(t)) {
          if (chunk < 0 || chunk >= plan.chunks()) {
            return "bad chunk";
          }
          if (laneOfChunk.computeIfAbsent(chunk, c -> lane) != lane) {
            return "two lanes";
          }
          effects.computeIfAbsent(List.of(t.to(), chunk), c -> new ArrayList<>()).add(t.effect());
        }
      }
      for (List<Effect> met : effects.values()) {
        if (met.contains(Effect.REPLACE) && met.size() > 1) {
          return "collision";
        }
      }
      return frames.values().stream().anyMatch(count -> count > FRAMES) ? "frames" : null;
    }

    private @Nullable String move(List<Transfer> round) {
      Map<List<Integer>, int[]> next = new HashMap<>();
      held.forEach((cell, counts) -> next.put(cell, counts.clone()));
      for (Transfer t : round) {
        for (int chunk : chunks(t)) {
          int[] carried = held.get(List.of(t.from(), chunk));
          int[] there = next.get(List.of(t.to(), chunk));
          if (!barrier && IntStream.of(carried).sum() == 0) {
            return "sends nothing";
          }
          if (t.effect() == Effect.REPLACE) {
            if (!complete(carried, chunk)) {
              return "incomplete replacement";
            }
            next.put(List.of(t.to(), chunk), carried.clone());
            continue;
          }
          boolean works = workers().contains(t.to());
          if (!barrier && works && IntStream.of(there).sum() == 0) {
            return "reduces with nothing";
          }
          for (int i = 0; i < there.length; i++) {
            there[i] += carried[i];
            if (strict && !barrier && there[i] > 1) {
              return "twice";
            }
          }
          boolean maySeveral =
              plan.collective() == Collective.ALL_REDUCE && workers().equals(all());
          if (!barrier && completions.containsKey(chunk) && !maySeveral) {
            return "reduced after it was complete";
          }
          if (!barrier && complete(there, chunk)) {
            completions.merge(chunk, 1, Integer::sum);
          }
          if (t.chunkCount() > 1) {
            together.add(chunk);
          }
        }
      }
      if (!barrier) {
        add(round);
      }
      held = next;
      return null;
    }

    private boolean complete(int[] counts, int chunk) {
      Set<Integer> contributors = contributors(chunk);
      for (int rank = 0; rank < counts.length; rank++) {
        int needed = contributors.contains(rank) ? 1 : 0;
        if (barrier ? counts[rank] < needed : counts[rank] != needed) {
          return false;
        }
      }
      return true;
    }

    private static List<Integer> chunks(Transfer t) {
      List<Integer> list = new ArrayList<>();
      for (int i = 0; i < t.chunkCount(); i++) {
        list.add(t.firstChunk() + i);
      }
      return list;
    }
  }
}
