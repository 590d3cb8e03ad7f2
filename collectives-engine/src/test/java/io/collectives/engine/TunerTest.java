package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.Collectives;
import io.collectives.Communicator;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What becomes of the times that were measured. */
@Tag("once")
class TunerTest {
  private static final double INFINITY = Double.POSITIVE_INFINITY;
  private static final int MIB = 1 << 20;

  @Test
  void ranksOfAJvmTakeAnEighthOfItsFreeHeap() {
    assertEquals(32 * MIB, Tuner.longest(256L * MIB, 1));
    assertEquals(16 * MIB, Tuner.longest(256L * MIB - 1, 1));
    assertEquals(32 * MIB, Tuner.longest(2048L * MIB, 8));
    assertEquals(16 * MIB, Tuner.longest(2048L * MIB, 9));
    assertEquals(8 * MIB, Tuner.longest(2048L * MIB, 100));
    assertEquals(8 * MIB, Tuner.longest(0, 1));
  }

  /** Those for short payloads and those that are not there are none. */
  @Test
  void finalistsAreTheFastestThreeThatAreNotFarBehind() {
    double[][] nanos = {{1, 1}, {1, 1, 14}, {1, 1, 12}, {1, 1, 11}, {INFINITY, 0, INFINITY}};
    assertEquals(List.of(3, 2, 1), Tuner.finalists(nanos, 2));
    nanos[4] = new double[] {9, 9, 10};
    assertEquals(List.of(4, 3, 2), Tuner.finalists(nanos, 2));
    nanos[4][2] = 8;
    assertEquals(List.of(4, 3), Tuner.finalists(nanos, 2));
  }

  /** However slow everything becomes in the meantime. */
  @Test
  void whoWasLeftOutStaysBehindAndSomebodyIsLeft() {
    int[] size = {0, 0, 0, 1, 1};
    double[] behind = new double[5];
    Tuner.leaveOut(size, new double[] {10, 25, 19, 100, 190}, 2, behind);
    assertArrayEquals(new double[] {0, 2.5, 0, 0, 0}, behind);
    Tuner.leaveOut(size, new double[] {60, 25, 50, 100, 150}, 1.4, behind);
    assertArrayEquals(new double[] {0, 2.5, 0, 0, 1.5}, behind);
    Tuner.leaveOut(size, new double[] {60, 25, 50, 900, 150}, 1.2, behind);
    assertArrayEquals(new double[] {0, 2.5, 0, 0, 1.5}, behind);
    double[] nanos = {60, 25, 50, 900, 150};
    Tuner.tellLeftOut(size, nanos, behind);
    assertArrayEquals(new double[] {60, 125, 50, 900, 1350}, nanos);
  }

  /** Whether at the least size, too, or not; who is not there stays so. */
  @Test
  void whoWasLeftOutOfShortPayloadsIsAsFarBehindAsAtTheNext() {
    double[][] nanos = {
      {10, 20, 40},
      {50, INFINITY, INFINITY, 100, 7},
      {INFINITY, INFINITY, INFINITY, 400, 8},
      {INFINITY, 28, 40, 110, 8},
      {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY},
    };
    Tuner.tellShorter(nanos, 4);
    assertArrayEquals(new double[] {10, 20, 40}, nanos[0]);
    assertArrayEquals(new double[] {50, 26, 52, 100, 7}, nanos[1], 1e-9);
    assertArrayEquals(new double[] {40, 80, 160, 400, 8}, nanos[2], 1e-9);
    assertArrayEquals(new double[] {14, 28, 40, 110, 8}, nanos[3], 1e-9);
    assertEquals(INFINITY, nanos[4][0]);
  }

  @Test
  void whatSaysThreeTimesInFourTheSameIsBelieved() {
    double[] one = {10, 20, 30, 40};
    assertTrue(Tuner.agree(one, new double[] {15, 14, 30, 40}));
    assertTrue(Tuner.agree(one, new double[] {100, 14, 30, 40}));
    assertFalse(Tuner.agree(one, new double[] {100, 13, 30, 40}));
    assertTrue(Tuner.agree(one, new double[] {10, 20, 30, Double.NaN}));
    assertFalse(Tuner.agree(one, new double[] {10, 20, Double.NaN, Double.NaN}));
  }

  @Test
  void aGroupThatTakesTheSameInEachTurnIsTuned() throws Exception {
    assertEquals(List.of(true, true), areTuned(() -> () -> 1_000_000));
  }

  /** As where compilers are at work in one turn, and not in the next. */
  @Test
  void aGroupThatTakesAnotherTimeInEachTurnIsNot() throws Exception {
    Supplier<LongSupplier> ticks =
        () -> {
          Random random = new Random(1);
          return () -> (long) (1_000_000 * Math.pow(100, random.nextDouble() - 0.5));
        };
    assertEquals(List.of(false, false), areTuned(ticks));
  }

  /**
   * Whether each of two ranks is, by a clock that goes alike on both.
   *
   * @param ticks how many nanoseconds later it is whenever the clock is read
   */
  private static List<Boolean> areTuned(Supplier<LongSupplier> ticks) throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try {
      List<Future<Boolean>> ends = new ArrayList<>();
      for (Communicator rank : Collectives.inProcess(2)) {
        ends.add(threads.submit(() -> isTuned(rank, ticks.get())));
      }
      List<Boolean> tuned = new ArrayList<>();
      for (Future<Boolean> end : ends) {
        tuned.add(end.get(100, TimeUnit.SECONDS));
      }
      return tuned;
    } finally {
      threads.shutdownNow();
    }
  }

  private static boolean isTuned(Communicator rank, LongSupplier ticks) {
    AtomicLong now = new AtomicLong();
    try (rank) {
      ((EngineCommunicator) rank).tune(() -> now.addAndGet(ticks.getAsLong()));
      return rank.explain(0).costs().measured();
    }
  }

  @Test
  void whoWasBehindIsNotAheadWhereItWasNotMeasured() {
    double[][] nanos = {
      {1, 1},
      {1, 13, INFINITY},
      {1, 12, 30},
      {1, 10, 50},
      {INFINITY, INFINITY, INFINITY},
    };
    Tuner.tell(nanos, 2, 4);
    assertArrayEquals(new double[] {1, 1}, nanos[0]);
    assertEquals(5 * 13, nanos[1][2]);
    assertEquals(30, nanos[2][2]);
    assertEquals(50, nanos[3][2]);
    assertEquals(INFINITY, nanos[4][2]);
  }

  @Test
  void whatNobodyHadTimeForGrowsAsBytesDo() {
    double[][] nanos = {{1, 12, INFINITY}, {1, 10, INFINITY}, {1, 1}};
    Tuner.tell(nanos, 2, 4);
    assertEquals(48, nanos[0][2]);
    assertEquals(40, nanos[1][2]);
  }

  /** How many times as long as the fastest: of a size twice, of its neighbours once. */
  @Test
  void whatItWasWorthAtTheNextSizesCounts() {
    double[][] nanos = {
      {10, 20, 40},
      {20, 20, 160},
      {160, 20},
      {INFINITY, INFINITY, INFINITY},
    };
    double[][] smoothed = Tuner.smoothed(nanos);
    assertArrayEquals(new double[] {10, 20, 40}, smoothed[0], 1e-9);
    assertEquals(10 * Math.pow(2 * 2 * 2 * 1, 0.25), smoothed[1][0], 1e-9);
    assertEquals(20 * Math.pow(2 * 1 * 1 * 4, 0.25), smoothed[1][1], 1e-9);
    assertEquals(40 * Math.pow(1 * 4 * 4 * 4, 0.25), smoothed[1][2], 1e-9);
    assertEquals(10 * Math.pow(16.0 * 16 * 16 * 1, 0.25), smoothed[2][0], 1e-9);
    assertEquals(2, smoothed[2].length);
    assertEquals(INFINITY, smoothed[3][1]);
  }

  /** What was fastest in cache is not so beyond, and what was fastest at 8 MiB not at 100 MiB. */
  @Test
  void theGreatestSizeDecidesOfLongerOnes() {
    int[] sizes = {8, MIB, 8 * MIB, 32 * MIB};
    double[][] nanos = {
      {500, 90_000_000},
      {1_000, 80_000, 1_300_000, INFINITY},
      {1_000, 90_000, 1_200_000, 5_000_000},
      {1_000, 100_000, 1_000_000, 7_000_000},
      {1_000, 100_000, 1_400_000, INFINITY},
    };
    Tuner.tell(nanos, 3, 4);
    Chooser chooser =
        new Chooser(
            2,
            Medium.THREADS,
            Costs.OF_SOCKETS,
            new Chooser.Measured(sizes, nanos),
            Medium.THREADS.frames);
    assertEquals(Chooser.DIRECT, chooser.choose(Collective.ALL_REDUCE, MIB));
    assertEquals(Chooser.RING, chooser.choose(Collective.ALL_REDUCE, 8 * MIB));
    assertEquals(Chooser.HALVING_DOUBLING, chooser.choose(Collective.ALL_REDUCE, 32 * MIB));
    assertEquals(Chooser.HALVING_DOUBLING, chooser.choose(Collective.ALL_REDUCE, 100 * MIB));
    assertEquals(Chooser.DIRECT, chooser.chooseInOrder(Collective.ALL_REDUCE, 100 * MIB));
    assertTrue(chooser.isMeasured());
  }
}
