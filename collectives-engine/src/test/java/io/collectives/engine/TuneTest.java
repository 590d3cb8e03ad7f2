package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

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

/** Groups that measure themselves by clocks that are not real. */
@Tag("once")
class TuneTest {

  @Test
  void aGroupThatTakesTheSameInEachTurnIsTuned() throws Exception {
    assertEquals(List.of(true, true), areTuned(() -> () -> 1_000_000));
  }

  /**
   * Times are not believed that differ as where compilers are at work in one turn, and not in the
   * next.
   */
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
   * Returns whether each of two ranks is tuned, by a clock that goes alike on both.
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
      return rank.explain(0).tuned();
    }
  }
}
