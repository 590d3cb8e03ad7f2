package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.CommunicatorClosedException;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.Survivors;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The contract of failures, whatever the algorithm and transport. Extend this class with a method
 * that opens ranks.
 *
 * <p>Every rank has a thread of its own; a test that hangs fails and shows where each rank is. No
 * test waits for a time: no call ends by its deadline here, because that is longer than the tests
 * may take.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class FailureContractTest extends JobTest {
  private static final int PAYLOADS = 12;
  private static final int COUNT = 5000;

  /** For subclasses. */
  protected FailureContractTest() {}

  @Override
  protected abstract List<Communicator> open(int ranks, CallSettings calls) throws Exception;

  @Override
  protected abstract Algorithm algorithm(int ranks);

  private List<Communicator> ranks(int ranks) throws Exception {
    return job(
        ranks,
        CallSettings.defaults()
            .withAlgorithm(algorithm(ranks))
            .withFrameLength(1024)
            .withTimeout(Duration.ofSeconds(80)));
  }

  private static Payload input(int rank, int payload) {
    long[] values = new long[COUNT];
    Arrays.setAll(values, i -> 1_000_000L * (rank + 1) + 1000L * payload + i);
    return Payload.of(values);
  }

  private static long[] sum(Communicator group, int payload) {
    long[] sum = new long[COUNT];
    for (int member = 0; member < group.size(); member++) {
      int rank = group.worldRank(member);
      Arrays.setAll(sum, i -> sum[i] + 1_000_000L * (rank + 1) + 1000L * payload + i);
    }
    return sum;
  }

  /**
   * Sums all payloads from one on, several at once, and goes on with the survivors for as long as
   * it takes.
   *
   * @return the group in which it came to the end
   */
  private static Communicator train(
      Communicator start, long[][] results, @Nullable Runnable midway) {
    Communicator group = start;
    long base = 0;
    while (true) {
      try {
        sumAll(group, start.rank(), (int) base, results, midway);
        return group;
      } catch (RankFailedException | AbortedException e) {
        Survivors survivors = group.shrink();
        base += survivors.resumeAt();
        group = survivors.group();
      }
    }
  }

  private static void sumAll(
      Communicator group, int rank, int first, long[][] results, @Nullable Runnable midway) {
    List<CollectiveHandle> handles = new ArrayList<>();
    for (int payload = first; payload < PAYLOADS; payload++) {
      if (midway != null && payload == PAYLOADS / 2) {
        midway.run();
      }
      handles.add(
          group
              .async()
              .allReduce(input(rank, payload), Payload.of(results[payload]), ReduceOp.SUM));
    }
    handles.forEach(CollectiveHandle::await);
    group.barrier();
  }

  /** Survivors of a death in the middle of calls go on, and lose nothing. */
  @ParameterizedTest(name = "{0} ranks, rank {1} dies")
  @MethodSource("ranksAndOne")
  void survivorsGoOnAndLoseNothing(int ranks, int dead) throws Exception {
    long[][][] results = new long[ranks][PAYLOADS][COUNT];
    Communicator[] ends = new Communicator[ranks];
    List<@Nullable Throwable> outcomes =
        RankThreads.outcomes(
            ranks(ranks),
            world -> {
              Runnable death = world.rank() == dead ? world::close : null;
              ends[world.rank()] = train(world, results[world.rank()], death);
            });
    for (int rank = 0; rank < ranks; rank++) {
      if (rank == dead) {
        assertInstanceOf(CommunicatorClosedException.class, outcomes.get(rank));
        continue;
      }
      assertEquals(null, outcomes.get(rank), "rank " + rank);
      assertEquals(ranks - 1, ends[rank].size());
      int first = dead == 0 ? 1 : 0;
      for (int payload = 0; payload < PAYLOADS; payload++) {
        assertArrayEquals(results[first][payload], results[rank][payload]);
      }
      assertArrayEquals(sum(ends[rank], PAYLOADS - 1), results[rank][PAYLOADS - 1]);
    }
  }

  static Stream<Object[]> ranksAndOne() {
    return Kit.cases(
        3,
        List.of(
            new Object[] {2, 1},
            new Object[] {3, 2},
            new Object[] {4, 0},
            new Object[] {2, 0},
            new Object[] {3, 0},
            new Object[] {4, 3},
            new Object[] {7, 0},
            new Object[] {7, 6}));
  }

  /** Two die one after the other, the second while the others deal with the first. */
  @Test
  void aSecondDeathMeanwhileIsSurvived() throws Exception {
    int ranks = 5;
    long[][][] results = new long[ranks][PAYLOADS][COUNT];
    Communicator[] ends = new Communicator[ranks];
    RankThreads.run(
        ranks(ranks),
        world -> {
          long[][] mine = results[world.rank()];
          if (world.rank() == 0) {
            assertThrows(CollectiveException.class, () -> sumAll(world, 0, 0, mine, world::close));
          } else if (world.rank() == 1) {
            // It leaves where the others expect it to lead them.
            assertThrows(RankFailedException.class, () -> sumAll(world, 1, 0, mine, null));
            world.close();
          } else {
            ends[world.rank()] = train(world, mine, null);
          }
        });
    for (int rank = 2; rank < ranks; rank++) {
      assertEquals(3, ends[rank].size());
      for (int payload = 0; payload < PAYLOADS; payload++) {
        assertArrayEquals(results[2][payload], results[rank][payload]);
      }
    }
  }

  /** All agree on who is lost and on where to go on. */
  @Test
  void survivorsAgree() throws Exception {
    int ranks = 4;
    Survivors[] agreed = new Survivors[ranks];
    CyclicBarrier afterTwo = new CyclicBarrier(ranks);
    RankThreads.run(
        ranks(ranks),
        world -> {
          assertEquals(0, world.nextSequence());
          world.allReduce(new float[100], ReduceOp.SUM);
          world.barrier();
          assertEquals(2, world.nextSequence());
          afterTwo.await();
          if (world.rank() == 1) {
            world.close();
            return;
          }
          RankFailedException error =
              assertThrows(
                  RankFailedException.class, () -> world.allReduce(new float[100], ReduceOp.SUM));
          assertEquals(1, error.worldRank());
          assertEquals(RankFailedException.Verdict.DEAD, error.verdict());
          agreed[world.rank()] = world.shrink();
        });
    for (int rank : new int[] {0, 2, 3}) {
      assertEquals(List.of(1), agreed[rank].lost());
      assertEquals(2, agreed[rank].resumeAt());
      assertEquals(3, agreed[rank].group().size());
      assertEquals(rank == 0 ? 0 : rank - 1, agreed[rank].group().rank());
      assertEquals(rank, agreed[rank].group().worldRank(agreed[rank].group().rank()));
    }
  }

  /** All ranks name the rank that aborts, and can go on. */
  @Test
  void anAbortEndsTheCallsOfAll() throws Exception {
    int ranks = 4;
    RankThreads.run(
        ranks(ranks),
        world -> {
          if (world.rank() == 2) {
            world.abort("the loss is not a number");
          }
          AbortedException error =
              assertThrows(
                  AbortedException.class, () -> world.allReduce(new float[COUNT], ReduceOp.SUM));
          assertEquals(2, error.worldRank());
          assertTrue(Kit.message(error).contains("the loss is not a number"), error.getMessage());
          Survivors all = world.shrink();
          assertEquals(List.of(), all.lost());
          assertEquals(0, all.resumeAt());
          long[] ones = new long[7];
          Arrays.fill(ones, 1);
          all.group().allReduce(ones, ReduceOp.SUM);
          assertEquals(ranks, ones[3]);
        });
  }

  /** An interrupted thread gives up for all, and stays interrupted. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anInterruptEndsTheCallsOfAll(boolean asynchronous) throws Exception {
    int ranks = 3;
    Thread[] threads = new Thread[ranks];
    CountDownLatch ready = new CountDownLatch(ranks - 1);
    CountDownLatch ended = new CountDownLatch(ranks - 1);
    RankThreads.run(
        ranks(ranks),
        world -> {
          int rank = world.rank();
          if (rank == 0) {
            // It makes no call, so the others wait, or are about to.
            ready.await();
            Objects.requireNonNull(threads[1]).interrupt();
            ended.await();
          } else {
            threads[rank] = Thread.currentThread();
            ready.countDown();
            AbortedException error =
                assertThrows(
                    AbortedException.class,
                    () -> {
                      if (asynchronous) {
                        world.async().allReduce(new float[COUNT], ReduceOp.SUM).await();
                      } else {
                        world.allReduce(new float[COUNT], ReduceOp.SUM);
                      }
                    });
            assertEquals(1, error.worldRank());
            assertTrue(Kit.message(error).contains("interrupted"), error.getMessage());
            ended.countDown();
          }
          assertEquals(rank == 1, Thread.interrupted());
          Survivors all = world.shrink();
          assertEquals(ranks, all.group().size());
          all.group().barrier();
        });
  }

  /** Shrinking a group that works aborts it first, so that nobody is left behind in a call. */
  @Test
  void shrinkingAWorkingGroupAbortsIt() throws Exception {
    RankThreads.run(
        ranks(3),
        world -> {
          if (world.rank() == 1) {
            assertThrows(
                AbortedException.class, () -> world.allReduce(new float[COUNT], ReduceOp.SUM));
          }
          Survivors all = world.shrink();
          assertEquals(3, all.group().size());
          all.group().barrier();
          // Asking again gives the same answer.
          assertEquals(all.resumeAt(), world.shrink().resumeAt());
        });
  }

  /** A rank that does not come in time is left out, and learns it. */
  @Test
  void whoDoesNotComeIsLeftOut() throws Exception {
    int ranks = 4;
    CountDownLatch shrunk = new CountDownLatch(ranks - 1);
    List<Communicator> worlds = ranks(ranks);
    // All are linked then, so that the limit is for what they say and not for handshakes.
    RankThreads.run(
        worlds, world -> world.using(Algorithm.direct()).allReduce(new long[ranks], ReduceOp.SUM));
    RankThreads.run(
        worlds,
        world -> {
          if (world.rank() == 0) {
            shrunk.await();
            RankFailedException error =
                assertThrows(RankFailedException.class, () -> world.shrink());
            assertEquals(0, error.worldRank());
            return;
          }
          try {
            Survivors left = world.within(Duration.ofSeconds(2)).shrink();
            assertEquals(List.of(0), left.lost());
            long[] ones = {1};
            left.group().allReduce(ones, ReduceOp.SUM);
            assertEquals(ranks - 1, ones[0]);
          } finally {
            shrunk.countDown();
          }
        });
  }

  /** A job of one rank has nobody to wait for. */
  @Test
  void aGroupOfOneShrinksToItself() throws Exception {
    Communicator world = ranks(1).get(0);
    world.abort("planted");
    assertThrows(AbortedException.class, () -> world.barrier());
    Survivors alone = world.shrink();
    assertEquals(1, alone.group().size());
    alone.group().barrier();
  }
}
