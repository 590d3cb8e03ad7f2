package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Explanation;
import io.collectives.WireType;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChooserTest {
  private static final double INFINITY = Double.POSITIVE_INFINITY;
  private static final Costs PLAIN = new Costs(1000, 100, 0.5, 0.25);

  /** The closed forms, by hand. */
  @Test
  void predictsClosedForms() {
    assertEquals(
        1000 + 3 * 100 + 3 * 800 * 1.25,
        PLAIN.predict(Collective.ALL_REDUCE, Chooser.EXCHANGE, 4, 800));
    assertEquals(
        2000 + 600 + 800 * (1.5 * 0.5 + 0.75 * 0.25),
        PLAIN.predict(Collective.ALL_REDUCE, Chooser.DIRECT, 4, 800));
    assertEquals(
        4000 + 400 + 800 * (1.5 * 0.5 + 0.75 * 0.25),
        PLAIN.predict(Collective.ALL_REDUCE, Chooser.HALVING_DOUBLING, 4, 800));
    assertEquals(
        6000 + 600 + 800 * (1.5 * 0.5 + 0.75 * 0.25),
        PLAIN.predict(Collective.ALL_REDUCE, Chooser.RING, 4, 800));
    assertEquals(
        2000 + 200 + 800 * 2 * 0.5,
        PLAIN.predict(Collective.BROADCAST, Chooser.HALVING_DOUBLING, 4, 800));
    assertEquals(
        2000 + 200 + 800 * 2 * 1.25,
        PLAIN.predict(Collective.ALL_REDUCE, Chooser.RECURSIVE_DOUBLING, 4, 800));
    assertEquals(
        4000 + 400 + 800 * 4 * 1.25,
        PLAIN.predict(Collective.ALL_REDUCE, Chooser.RECURSIVE_DOUBLING, 5, 800));
    assertEquals(
        4000 + 150 + 800 * (4 * 0.5 + 2 * 0.25),
        PLAIN.predict(Collective.ALL_REDUCE, Chooser.BINOMIAL_TREE, 4, 800));
    for (int candidate = 0; candidate <= Chooser.RING; candidate++) {
      assertEquals(0, PLAIN.predict(Collective.ALL_REDUCE, candidate, 1, 800));
    }
  }

  /** Whatever the size, what is chosen is within a size's width of the least prediction. */
  @Test
  void choosesTheLeastPrediction() {
    double[][] nanos = {
      {500, 2_000, 90_000, 900_000},
      {1_000, 1_500, 20_000, 300_000},
      {1_400, 1_800, 18_000, 250_000},
      {3_000, 9_000, 30_000, 240_000},
      {3_000, 9_000, 15_000, 400_000},
      {INFINITY, INFINITY, INFINITY, INFINITY}, // Not there.
      {900, 1_200},
      {1_800, 2_400, 40_000},
    };
    int[] sizes = {8, 16 << 10, 128 << 10, 1 << 20};
    Chooser chooser =
        new Chooser(
            4,
            Medium.THREADS,
            PLAIN,
            new Chooser.Measured(sizes, nanos),
            new Chooser.Frames(0.5, 0.25));
    assertEquals(Chooser.EXCHANGE, chooser.choose(Collective.ALL_REDUCE, 0));
    assertEquals(Chooser.EXCHANGE, chooser.choose(Collective.ALL_REDUCE, 1024));
    assertEquals(Chooser.RECURSIVE_DOUBLING, chooser.choose(Collective.ALL_REDUCE, 14_000));
    assertEquals(Chooser.RECURSIVE_DOUBLING, chooser.choose(Collective.ALL_REDUCE, 20_000));
    assertEquals(Chooser.HALVING_DOUBLING, chooser.choose(Collective.ALL_REDUCE, 40_000));
    assertEquals(Algorithm.doubleBinaryTree(), explain(chooser, 128 << 10).chosen());
    assertEquals(Chooser.RING, chooser.choose(Collective.ALL_REDUCE, 100 << 20));
    assertEquals(Chooser.EXCHANGE, chooser.chooseInOrder(Collective.ALL_REDUCE, 1024));
    assertEquals(Chooser.DIRECT, chooser.chooseInOrder(Collective.ALL_REDUCE, 100 << 20));
    Explanation inOrder = explain(chooser, 1 << 20, true);
    assertEquals(Algorithm.direct(), inOrder.chosen());
    assertEquals(2, inOrder.predictions().size());
    for (long bytes = 1; bytes < 1L << 40; bytes = bytes * 9 / 8 + 1) {
      Explanation explanation = explain(chooser, bytes);
      assertEquals(bytes <= 3 << 20 ? 50_000 : 25_000, explanation.frameLength());
      double least = explanation.predictions().get(0).micros();
      double chosen =
          explanation.predictions().stream()
              .filter(prediction -> prediction.algorithm().equals(explanation.chosen()))
              .findFirst()
              .orElseThrow()
              .micros();
      assertTrue(chosen <= 1.25 * least, explanation.toString());
      assertTrue(explanation.costs().measured());
    }
  }

  private static Explanation explain(Chooser chooser, long bytes) {
    return explain(chooser, bytes, false);
  }

  private static Explanation explain(Chooser chooser, long bytes, boolean inRankOrder) {
    return chooser.explain(
        bytes,
        inRankOrder,
        WireType.AS_IN_MEMORY,
        (algorithm, length, frames) -> length,
        100_000,
        7,
        List.of("shm"));
  }

  /** An exchange is measured up to a few KiB; times in cache say nothing of what is not. */
  @Test
  void whatWasMeasuredForShortPayloadsOnlyIsForThose() {
    int[] sizes = {8, 1 << 10, 64 << 10, 8 << 20};
    double[][] nanos = {
      {500, 600, 700},
      {1_000, 1_500, 5_500, 200_000},
      {1_000, 1_500, 6_000, 300_000},
      {1_000, 1_500, 6_000, 300_000},
      {1_000, 1_500, 6_000, 300_000},
    };
    Chooser.Measured measured = new Chooser.Measured(sizes, nanos);
    Chooser chooser = new Chooser(2, Medium.THREADS, PLAIN, measured, Medium.THREADS.frames);
    assertEquals(Chooser.EXCHANGE, chooser.choose(Collective.ALL_REDUCE, 8));
    assertEquals(Chooser.EXCHANGE, chooser.choose(Collective.ALL_REDUCE, 48 << 10));
    assertEquals(Chooser.DIRECT, chooser.choose(Collective.ALL_REDUCE, 128 << 10));
    assertEquals(Chooser.DIRECT, chooser.choose(Collective.ALL_REDUCE, 16 << 20));
    assertEquals(Chooser.DIRECT, chooser.choose(Collective.ALL_REDUCE, 100 << 20));
  }

  /** What it was as part of an all-reduce, by those algorithms that have such parts. */
  @Test
  void reduceScattersAndAllGathersAreChosenByWhatAllReducesTook() {
    int[] sizes = {8, 1 << 20, 8 << 20};
    double[] fast = {1, 1, 1};
    double[][] nanos = {
      {1, 1},
      {2_000, 90_000, 1_200_000},
      {1_500, 80_000, 1_300_000},
      {2_500, 85_000, 1_000_000},
      fast
    };
    Chooser.Measured measured = new Chooser.Measured(sizes, nanos);
    Chooser chooser = new Chooser(2, Medium.THREADS, PLAIN, measured, Medium.THREADS.frames);
    for (Collective part : List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
      assertEquals(Chooser.HALVING_DOUBLING, chooser.choose(part, 8));
      assertEquals(Chooser.HALVING_DOUBLING, chooser.choose(part, 1 << 19));
      assertEquals(Chooser.RING, chooser.choose(part, 100 << 20));
      assertEquals(Chooser.DIRECT, chooser.chooseInOrder(part, 100 << 20));
    }
  }

  @Test
  void broadcastsGoByTreeWhereThatIsKnownToBeFastest() {
    Chooser plain = new Chooser(8, Medium.THREADS, PLAIN, null, Medium.THREADS.frames);
    Chooser trees = new Chooser(8, Medium.SHARED_MEMORY, PLAIN, null, Medium.THREADS.frames);
    for (Collective collective : Collective.values()) {
      int chosen = plain.choose(collective, 1 << 18);
      boolean broadcast = collective == Collective.BROADCAST;
      assertEquals(
          broadcast ? Chooser.HALVING_DOUBLING : chosen, trees.choose(collective, 1 << 18));
      assertTrue(!broadcast || chosen == Chooser.RING);
    }
  }

  /** Whatever was measured by frames. */
  @Test
  void anExchangeWithoutFramesIsChosen() {
    int[] sizes = {8, 1 << 10, 64 << 10, 8 << 20};
    double[] others = {9_000, 9_500, 20_000, 400_000};
    double[][] nanos = {{40_000, 50_000, 90_000}, others, others, others, others};
    Costs costs = new Costs(3_000, 500, 0.1, 0.05);
    Chooser frames =
        new Chooser(
            2, Medium.THREADS, costs, new Chooser.Measured(sizes, nanos), Medium.THREADS.frames);
    assertEquals(Chooser.DIRECT, frames.choose(Collective.ALL_REDUCE, 8));
    Chooser mail = frames.with(new Chooser.Shortcuts(2048, Long.MAX_VALUE));
    assertEquals(Chooser.EXCHANGE, mail.choose(Collective.ALL_REDUCE, 8));
    assertEquals(Chooser.EXCHANGE, mail.choose(Collective.ALL_REDUCE, 1024));
    assertEquals(Chooser.DIRECT, mail.choose(Collective.ALL_REDUCE, 8192));
    assertEquals(
        frames.choose(Collective.REDUCE_SCATTER, 8), mail.choose(Collective.REDUCE_SCATTER, 8));
  }

  /**
   * With 4 ranks over sockets, up to 64 KiB and from 256 KiB on; explained is what was measured.
   */
  @Test
  void whoLedInTablesIsChosenUnlessAnotherIsFarAhead() {
    int[] sizes = {8, 1 << 20, 8 << 20};
    for (double ahead : new double[] {1.3, 1.5}) {
      double[] direct = {1_000, 100_000, 800_000};
      double[] others = Arrays.stream(direct).map(nanos -> ahead * nanos).toArray();
      double[][] nanos = {others, direct, others, others, others, others, others, others};
      Chooser chooser =
          new Chooser(
              4,
              Medium.SOCKETS,
              Costs.OF_SOCKETS,
              new Chooser.Measured(sizes, nanos),
              Medium.SOCKETS.frames);
      for (long bytes : new long[] {8, 1 << 10, 16 << 10, 64 << 10}) {
        assertEquals(
            ahead < 1.4 ? Chooser.BINOMIAL_TREE : Chooser.DIRECT,
            chooser.choose(Collective.ALL_REDUCE, bytes));
      }
      for (long bytes : new long[] {256 << 10, 1 << 20, 100 << 20}) {
        assertEquals(
            ahead < 1.4 ? Chooser.HALVING_DOUBLING : Chooser.DIRECT,
            chooser.choose(Collective.ALL_REDUCE, bytes));
        assertEquals(Algorithm.direct(), explain(chooser, bytes).predictions().get(0).algorithm());
      }
    }
  }

  /** Measured up to 1 MiB, it is for 1 MiB, too. */
  @Test
  void aTreeIsChosenAtTheLastOfItsSizes() {
    int[] sizes = {8, 256 << 10, 1 << 20, 8 << 20};
    double[] others = {1_000, 25_000, 100_000, 800_000};
    double[] tree = {1_000, 26_000, 105_000};
    double[][] nanos = {tree, others, others, others, others, tree, tree, tree};
    Chooser chooser =
        new Chooser(
            8,
            Medium.SOCKETS,
            Costs.OF_SOCKETS,
            new Chooser.Measured(sizes, nanos),
            Medium.SOCKETS.frames);
    assertEquals(Chooser.BINOMIAL_TREE, chooser.choose(Collective.ALL_REDUCE, 1 << 20));
    assertEquals(Chooser.HALVING_DOUBLING, chooser.choose(Collective.ALL_REDUCE, 2 << 20));
  }

  @Test
  void twoServersLeadBetweenThreadsThatOutnumberProcessors() {
    int[] sizes = {8, 1 << 20, 8 << 20};
    for (double ahead : new double[] {1.3, 1.6}) {
      double[] tree = {1_000, 100_000, 800_000};
      double[] others = Arrays.stream(tree).map(nanos -> ahead * nanos).toArray();
      double[][] nanos = {others, others, others, others, others, others, others, tree};
      Chooser.Measured measured = new Chooser.Measured(sizes, nanos);
      Chooser chooser = new Chooser(8, Medium.THREADS, PLAIN, measured, Medium.THREADS.frames);
      for (long bytes : new long[] {64 << 10, 256 << 10, 512 << 10}) {
        assertEquals(
            ahead < 1.5 ? Chooser.TWO_SERVERS : Chooser.BINOMIAL_TREE,
            chooser.choose(Collective.ALL_REDUCE, bytes));
      }
      for (long bytes : new long[] {8, 16 << 10, 1 << 20}) {
        assertEquals(Chooser.BINOMIAL_TREE, chooser.choose(Collective.ALL_REDUCE, bytes));
      }
    }
  }

  /** But for what goes without frames anyway, and where a rank would have too many peers. */
  @Test
  void whatAllRanksReachIsReducedDirectly() {
    Chooser.Shortcuts lends = new Chooser.Shortcuts(2048, 0);
    int[] sizes = {8, 1 << 10, 64 << 10, 8 << 20};
    double[] slow = {9_000, 9_500, 90_000, 900_000};
    double[] fast = {1_000, 1_500, 20_000, 400_000};
    double[][] nanos = {slow, slow, fast, fast, fast, fast, fast, fast};
    Chooser arrays =
        new Chooser(
            4,
            Medium.THREADS,
            Costs.BETWEEN_PROCESSES,
            new Chooser.Measured(sizes, nanos),
            Medium.THREADS.frames);
    assertEquals(Chooser.HALVING_DOUBLING, arrays.choose(Collective.ALL_REDUCE, 1 << 20));
    Chooser chooser = arrays.with(lends);
    assertEquals(Chooser.EXCHANGE, chooser.choose(Collective.ALL_REDUCE, 1024));
    assertEquals(Chooser.DIRECT, chooser.choose(Collective.ALL_REDUCE, 4096));
    assertEquals(Chooser.DIRECT, chooser.choose(Collective.ALL_REDUCE, 1 << 20));
    assertEquals(Chooser.DIRECT, chooser.choose(Collective.ALL_REDUCE, 1 << 30));
    Chooser threads = arrays.with(new Chooser.Shortcuts(2048, 1 << 20));
    assertEquals(
        arrays.choose(Collective.ALL_REDUCE, 512 << 10),
        threads.choose(Collective.ALL_REDUCE, 512 << 10));
    assertEquals(Chooser.DIRECT, threads.choose(Collective.ALL_REDUCE, 1 << 20));
    assertEquals(Chooser.DIRECT, threads.choose(Collective.ALL_REDUCE, 100 << 20));
    for (Collective collective : Collective.values()) {
      if (!isOfShort(collective)) {
        assertEquals(arrays.choose(collective, 1 << 20), chooser.choose(collective, 1 << 20));
      }
    }
    Chooser large = new Chooser(65, Medium.SHARED_MEMORY);
    assertEquals(
        large.choose(Collective.ALL_REDUCE, 1 << 20),
        large.with(lends).choose(Collective.ALL_REDUCE, 1 << 20));
  }

  /** A rank of a large group has few peers. */
  @Test
  void largeGroupsHaveFewPeers() {
    List<Algorithm> few =
        List.of(
            Algorithm.recursiveDoubling(),
            Algorithm.binomialTree(),
            Algorithm.halvingDoubling(),
            Algorithm.ring());
    for (int ranks : new int[] {65, 4096}) {
      Chooser chooser = new Chooser(ranks, Medium.SOCKETS);
      for (Collective collective : Collective.values()) {
        for (long bytes = 1; bytes < 1L << 40; bytes *= 3) {
          int chosen = chooser.choose(collective, bytes);
          assertTrue(isOfShort(collective) || chosen < Chooser.RECURSIVE_DOUBLING);
          assertTrue(few.contains(Chooser.candidates(ranks).get(chosen)));
          int inOrder = chooser.chooseInOrder(collective, bytes);
          boolean meets = inOrder == Chooser.EXCHANGE || inOrder == Chooser.DIRECT;
          assertTrue(meets || collective == Collective.BROADCAST); // Which adds nothing.
        }
      }
    }
    Chooser large = new Chooser(65, Medium.SOCKETS);
    assertEquals(Chooser.BINOMIAL_TREE, large.choose(Collective.ALL_REDUCE, 8));
    assertEquals(Chooser.HALVING_DOUBLING, large.choose(Collective.ALL_REDUCE, 1 << 20));
  }

  /** As in tables of all algorithms; what they were is not to be forgotten in a new group. */
  @Test
  void whatIsNotMeasuredIsChosenByWhatTablesTold() {
    for (int ranks : new int[] {4, 8}) {
      Chooser chooser = new Chooser(ranks, Medium.SOCKETS);
      for (long bytes : new long[] {8, 1 << 10, 16 << 10, 64 << 10}) {
        assertEquals(Chooser.BINOMIAL_TREE, chooser.choose(Collective.ALL_REDUCE, bytes));
      }
      for (long bytes : new long[] {256 << 10, 1 << 20, 16 << 20, 100 << 20}) {
        assertEquals(Chooser.HALVING_DOUBLING, chooser.choose(Collective.ALL_REDUCE, bytes));
      }
      Chooser memory = new Chooser(ranks, Medium.SHARED_MEMORY);
      assertEquals(Chooser.EXCHANGE, memory.choose(Collective.ALL_REDUCE, 8));
      assertEquals(Chooser.RING, memory.choose(Collective.ALL_REDUCE, 100 << 20));
    }
  }

  /** Whether the algorithms of short payloads are for it. */
  private static boolean isOfShort(Collective collective) {
    return collective == Collective.ALL_REDUCE || collective == Collective.BARRIER;
  }

  /** An exchange would take n(n-1) messages where they cost something. */
  @Test
  void barriersGoAsTheShortestAllReducesDo() {
    for (int ranks : new int[] {2, 3, 4, 8, 65}) {
      for (Medium medium : Medium.values()) {
        Chooser chooser = new Chooser(ranks, medium);
        assertEquals(
            chooser.choose(Collective.ALL_REDUCE, 8), chooser.choose(Collective.BARRIER, 0));
      }
    }
    assertEquals(
        Chooser.BINOMIAL_TREE, new Chooser(4, Medium.SOCKETS).choose(Collective.BARRIER, 0));
  }
}
