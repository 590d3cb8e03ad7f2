package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CallTimeoutException;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.CommunicatorClosedException;
import io.collectives.ElementType;
import io.collectives.Mesh;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UserOp;
import io.collectives.WireType;
import io.collectives.testkit.TestPayload.Memory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The contract of a call, whatever its algorithm and transport: the threads that may make it, its
 * end, and its failures. Extend this class with a method that opens ranks. The calls are
 * all-reduces; {@link CollectivesContractTest} has the other collectives.
 *
 * <p>Frames are tiny, so that small payloads already have many slabs and bugs are loud.
 *
 * <p>Every rank has a thread of its own; a test that hangs fails and shows where each rank is. No
 * test waits for a time, except for the deadlines that it tests.
 *
 * <p>One class because it is one contract: a transport that passes it runs all of its tests.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class CallContractTest extends JobTest {
  private static final int PRIME = 1009;
  private static final int OTHER_PRIME = 1013;
  private static final Duration DEADLINE = Duration.ofMillis(300);
  private static final long SLACK_MILLIS = 5_000;
  private static final Pattern RANK = Pattern.compile("\\brank (\\d+)");

  /** For subclasses. */
  protected CallContractTest() {}

  @Override
  protected abstract List<Communicator> open(int ranks, CallSettings calls) throws Exception;

  @Override
  protected abstract Algorithm algorithm(int ranks);

  @Test
  void anyThreadMayCall() throws Exception {
    List<Communicator> worlds = job(3, 64, 1);
    for (int call = 0; call < 5; call++) {
      // Each run has new threads.
      RankThreads.run(worlds, world -> assertSum(world, PRIME));
    }
  }

  // ------------------------------------------------------------ asynchronous

  @ParameterizedTest
  @ValueSource(ints = {1, 5})
  void severalCallsMayBeUnderWay(int ranks) throws Exception {
    List<Communicator> worlds = job(ranks, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          int calls = 6;
          List<int[]> buffers = new ArrayList<>();
          List<CollectiveHandle> handles = new ArrayList<>();
          AtomicInteger ended = new AtomicInteger();
          List<CompletionStage<Void>> dependents = new ArrayList<>();
          for (int i = 0; i < calls; i++) {
            buffers.add(filled(world.rank() + i, PRIME + i));
            CollectiveHandle handle =
                world.async().allReduce(Payload.of(buffers.get(i)), ReduceOp.SUM);
            dependents.add(handle.thenRun(ended::incrementAndGet));
            handles.add(handle);
          }
          for (int i = 0; i < calls; i++) {
            // Ranks wait in different orders.
            int call = world.rank() % 2 == 0 ? i : calls - 1 - i;
            handles.get(call).await();
            assertTrue(handles.get(call).isDone());
            assertArrayEquals(
                filled(ranks * (ranks - 1) / 2 + ranks * call, PRIME + call),
                buffers.get(call),
                "call " + call);
          }
          handles.forEach(handle -> handle.toCompletableFuture().join());
          CollectiveHandle last = handles.get(calls - 1);
          assertTrue(last.await(Duration.ofSeconds(1)), "a handle that is done is done at once");
          // The dependents of a handle may still be about to run when await returns.
          dependents.forEach(dependent -> dependent.toCompletableFuture().join());
          assertEquals(calls, ended.get());
        });
  }

  @Test
  void callsEndInTheOrderInWhichTheyWereMade() throws Exception {
    List<Communicator> worlds = job(3, 64, 1);
    CountDownLatch firstAwaited = new CountDownLatch(2);
    RankThreads.run(
        worlds,
        world -> {
          int[] a = filled(1, PRIME);
          int[] b = filled(2, 1);
          if (world.rank() == 2) {
            assertTrue(firstAwaited.await(20, TimeUnit.SECONDS));
          }
          CollectiveHandle first = world.async().allReduce(Payload.of(a), ReduceOp.SUM);
          CollectiveHandle second = world.async().allReduce(Payload.of(b), ReduceOp.SUM);
          if (world.rank() != 2) {
            assertFalse(
                second.isDone(), "the second call ended before the last rank made the first");
            firstAwaited.countDown();
          }
          second.await();
          first.await();
          assertArrayEquals(filled(3, PRIME), a);
          assertArrayEquals(filled(6, 1), b);
        });
  }

  @Test
  void awaitMayGiveUpAndTryAgain() throws Exception {
    List<Communicator> worlds = job(3, 64, 1);
    CountDownLatch gaveUp = new CountDownLatch(2);
    RankThreads.run(
        worlds,
        world -> {
          if (world.rank() == 1) {
            assertTrue(gaveUp.await(20, TimeUnit.SECONDS));
            assertSum(world, PRIME);
            return;
          }
          int[] buffer = filled(world.rank() + 1, PRIME);
          CollectiveHandle handle = world.async().allReduce(Payload.of(buffer), ReduceOp.SUM);
          assertFalse(handle.await(Duration.ofMillis(20)));
          assertFalse(handle.await(Duration.ZERO));
          assertFalse(handle.isDone());
          gaveUp.countDown();
          assertTrue(handle.await(PATIENCE));
          assertTrue(handle.isDone());
          assertArrayEquals(filled(6, PRIME), buffer);
        });
  }

  @Test
  void whatUsersDoToFuturesEndsNoCall() throws Exception {
    List<Communicator> worlds = job(2, 64, 1);
    CountDownLatch tried = new CountDownLatch(1);
    RankThreads.run(
        worlds,
        world -> {
          int[] buffer = filled(world.rank() + 1, PRIME);
          if (world.rank() == 1) {
            assertTrue(tried.await(20, TimeUnit.SECONDS));
            world.allReduce(buffer, ReduceOp.SUM);
            return;
          }
          CollectiveHandle handle = world.async().allReduce(Payload.of(buffer), ReduceOp.SUM);
          CompletableFuture<Void> waiting = handle.toCompletableFuture();
          endInEveryWay(handle::toCompletableFuture);
          if (handle instanceof CompletableFuture<?> cast) {
            endInEveryWay(() -> cast);
            assertFalse(cast.isCancelled());
          }
          assertFalse(handle.isDone());
          assertFalse(waiting.isDone());
          assertFalse(handle.await(Duration.ZERO));
          tried.countDown();
          handle.await();
          assertArrayEquals(filled(3, PRIME), buffer);
          waiting.get(20, TimeUnit.SECONDS);
          assertNotSame(handle.toCompletableFuture(), handle.toCompletableFuture());
        });
  }

  /** Tries all by which futures are ended, each on a future of its own if there are several. */
  static <T> void endInEveryWay(Supplier<CompletableFuture<T>> futures) {
    futures.get().complete(null);
    futures.get().completeExceptionally(new IllegalStateException("by its user"));
    futures.get().cancel(true);
    futures.get().orTimeout(1, TimeUnit.NANOSECONDS);
    futures.get().completeOnTimeout(null, 1, TimeUnit.NANOSECONDS);
    futures.get().completeAsync(() -> null, Runnable::run);
    futures.get().obtrudeException(new IllegalStateException("by its user"));
    futures.get().obtrudeValue(null);
  }

  @Test
  void dependentsSeeTheResult() throws Exception {
    List<Communicator> worlds = job(4, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          int[] buffer = filled(world.rank(), PRIME);
          int sum =
              world
                  .async()
                  .allReduce(Payload.of(buffer), ReduceOp.SUM)
                  .thenApply(nothing -> Arrays.stream(buffer).sum())
                  .toCompletableFuture()
                  .get(20, TimeUnit.SECONDS);
          assertEquals(6 * PRIME, sum);
        });
  }

  @Test
  void synchronousAndAsynchronousCallsMix() throws Exception {
    List<Communicator> worlds = job(4, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          for (int i = 0; i < 10; i++) {
            int[] a = filled(1, PRIME);
            int[] b = filled(2, 17);
            int[] c = filled(3, 5);
            CollectiveHandle first = world.async().allReduce(Payload.of(a), ReduceOp.SUM);
            world.allReduce(b, ReduceOp.SUM);
            CollectiveHandle barrier = world.async().barrier();
            CollectiveHandle third = world.async().allReduce(Payload.of(c), ReduceOp.PRODUCT);
            world.barrier();
            third.await();
            barrier.await();
            first.await();
            assertArrayEquals(filled(4, PRIME), a);
            assertArrayEquals(filled(8, 17), b);
            assertArrayEquals(filled(81, 5), c);
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 7})
  void nobodyLeavesABarrierBeforeAllHaveEntered(int ranks) throws Exception {
    List<Communicator> worlds = job(ranks, 64, 1);
    AtomicInteger entered = new AtomicInteger();
    RankThreads.run(
        worlds,
        world -> {
          for (int round = 1; round <= 20; round++) {
            entered.incrementAndGet();
            if (round % 2 == 0) {
              world.barrier();
            } else {
              world.async().barrier().await();
            }
            int seen = entered.get();
            assertTrue(seen >= round * ranks, () -> seen + " entries of " + ranks + " ranks");
          }
        });
  }

  // -------------------------------------------------------------- sub-groups

  @ParameterizedTest
  @ValueSource(ints = {1, 4, 7})
  void splitByColorInTheOrderOfKeys(int ranks) throws Exception {
    List<Communicator> worlds = job(ranks, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          int color = world.rank() % 2;
          try (Communicator part = world.split(color - 7, -world.rank())) {
            List<Integer> members =
                IntStream.range(0, ranks)
                    .filter(r -> r % 2 == color)
                    .map(r -> -r)
                    .sorted()
                    .map(r -> -r)
                    .boxed()
                    .toList();
            assertGroup(world, part, members);
          }
          try (Communicator same = world.split(0, 5)) {
            assertGroup(world, same, IntStream.range(0, ranks).boxed().toList());
          }
          try (Communicator alone = world.split(world.rank(), 0)) {
            assertGroup(world, alone, List.of(world.rank()));
          }
        });
  }

  @Test
  void aGroupIsInTheOrderOfItsRanks() throws Exception {
    List<Communicator> worlds = job(5, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          if (world.rank() != 1) {
            assertGroup(world, world.group(4, 0, 3, 2), List.of(4, 0, 3, 2));
          }
          if (world.rank() == 4 || world.rank() == 0) {
            assertGroup(world, world.group(4, 0, 3, 2, 1).group(0, 1), List.of(4, 0));
          }
          assertSum(world, 10);
        });
  }

  @Test
  void disjointGroupsReduceAtTheSameTime() throws Exception {
    List<Communicator> worlds = job(6, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          Communicator column = world.strided(world.rank() % 3, 3, 2);
          Communicator row = world.strided(world.rank() / 3 * 3, 1, 3);
          List<Integer> columnMembers = List.of(world.rank() % 3, world.rank() % 3 + 3);
          List<Integer> rowMembers =
              IntStream.range(0, 3).map(i -> world.rank() / 3 * 3 + i).boxed().toList();
          for (int i = 0; i < 5; i++) {
            assertGroup(world, column, columnMembers);
            assertGroup(world, row, rowMembers);
          }
        });
  }

  @Test
  void sameCallsInterleaveOnTheWorldAndOnAGroup() throws Exception {
    List<Communicator> worlds = job(4, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          Communicator all = world.group(3, 2, 1, 0).using(algorithm(4));
          for (int i = 0; i < 10; i++) {
            int[] a = filled(1, PRIME);
            int[] b = filled(10, PRIME);
            int[] c = filled(100, PRIME);
            CollectiveHandle onWorld = world.async().allReduce(Payload.of(a), ReduceOp.SUM);
            CollectiveHandle onGroup = all.async().allReduce(Payload.of(b), ReduceOp.SUM);
            world.allReduce(c, ReduceOp.SUM);
            onGroup.await();
            onWorld.await();
            assertArrayEquals(filled(4, PRIME), a);
            assertArrayEquals(filled(40, PRIME), b);
            assertArrayEquals(filled(400, PRIME), c);
          }
        });
  }

  private void assertGroup(Communicator world, Communicator group, List<Integer> members) {
    assertEquals(members.size(), group.size());
    assertEquals(members.indexOf(world.rank()), group.rank());
    for (int i = 0; i < members.size(); i++) {
      assertEquals(members.get(i), group.worldRank(i));
    }
    int[] buffer = new int[PRIME];
    for (int i = 0; i < PRIME; i++) {
      buffer[i] = i + world.rank();
    }
    group.using(algorithm(group.size())).allReduce(buffer, ReduceOp.SUM);
    int ranks = members.stream().mapToInt(Integer::intValue).sum();
    for (int i = 0; i < PRIME; i++) {
      assertEquals(
          members.size() * i + ranks, buffer[i], "element " + i + " in the group of " + members);
    }
  }

  // ------------------------------------------------------------ several types

  // ---------------------------------------------------------------- mismatch

  /** In what the call of one rank differs. */
  enum Mismatch {
    COUNT,
    TYPE,
    OP,
    COLLECTIVE,
    ALGORITHM,
    WIRE_TYPE
  }

  /** Each of them, and each number of ranks with one that differs: these do not depend. */
  static Stream<Object[]> mismatches() {
    return Stream.of(
        new Object[] {Mismatch.COUNT, 2, 1},
        new Object[] {Mismatch.TYPE, 3, 0},
        new Object[] {Mismatch.OP, 5, 2},
        new Object[] {Mismatch.COLLECTIVE, 2, 1},
        new Object[] {Mismatch.ALGORITHM, 3, 0},
        new Object[] {Mismatch.WIRE_TYPE, 3, 2});
  }

  @ParameterizedTest(name = "{0} of {1} ranks, rank {2} differs")
  @MethodSource("mismatches")
  void aMismatchIsNamedOnEveryRank(Mismatch what, int ranks, int odd) throws Exception {
    Algorithm usual = algorithm(ranks);
    Algorithm unusual = usual.equals(Algorithm.ring()) ? Algorithm.direct() : Algorithm.ring();
    List<String> values =
        switch (what) {
          case COUNT -> List.of(Integer.toString(PRIME), Integer.toString(OTHER_PRIME));
          case TYPE -> List.of("float32", "float64");
          case OP -> List.of("sum", "max");
          case COLLECTIVE -> List.of("all-reduce", "barrier");
          case ALGORITHM -> List.of(usual.name(), unusual.name());
          case WIRE_TYPE -> List.of("wire type", "as-in-memory", "bfloat16");
        };
    List<Communicator> worlds = job(ranks, 64, 3);
    TestPayload[] sources = new TestPayload[ranks];
    TestPayload[] targets = new TestPayload[ranks];
    long[] untouched = Numbers.inputs(ElementType.FLOAT32, ReduceOp.SUM, SEED, 99, PRIME);
    String[] messages = new String[ranks];
    RankThreads.run(
        worlds,
        world -> {
          boolean differs = world.rank() == odd;
          ElementType type =
              what == Mismatch.TYPE && differs ? ElementType.FLOAT64 : ElementType.FLOAT32;
          int count = what == Mismatch.COUNT && differs ? OTHER_PRIME : PRIME;
          ReduceOp.Standard op = what == Mismatch.OP && differs ? ReduceOp.MAX : ReduceOp.SUM;
          Communicator caller =
              switch (differs ? what : Mismatch.COUNT) {
                case ALGORITHM -> world.using(unusual);
                case WIRE_TYPE -> world.using(WireType.BFLOAT16);
                default -> world;
              };
          TestPayload source = new TestPayload(type, Memory.ARRAY, count);
          TestPayload target = new TestPayload(type, Memory.ARRAY, count);
          target.fill(Arrays.copyOf(untouched, count));
          source.fill(Numbers.inputs(type, op, SEED, world.rank(), count));
          sources[world.rank()] = source;
          targets[world.rank()] = target;
          Executable call =
              what == Mismatch.COLLECTIVE && differs
                  ? caller::barrier
                  : () -> caller.allReduce(source.payload(), target.payload(), op);
          messages[world.rank()] = assertThrows(MismatchException.class, call).getMessage();
          assertThrows(
              MismatchException.class, () -> assertSum(world, 1), "the group is broken now");
          assertThrows(MismatchException.class, world::barrier, "the group is broken now");
        });
    for (int rank = 0; rank < ranks; rank++) {
      String message = messages[rank];
      String where = "on rank " + rank + ": " + message;
      Set<Integer> named = namedRanks(message);
      assertTrue(named.contains(odd), "rank " + odd + " is not named " + where);
      assertTrue(named.size() >= 2, "only one rank is named " + where);
      for (String value : values) {
        assertTrue(message.contains(value), "\"" + value + "\" is not named " + where);
      }
      // Those that agree may have reduced each other's bytes by then; nobody agrees with the odd
      // one.
      for (int suspect : ranks == 2 ? named : Set.of(odd)) {
        long[] input = sources[suspect].bits();
        long[] bits = targets[suspect].bits();
        for (int i = 0; i < bits.length; i++) {
          boolean reduced = bits[i] != (i < PRIME ? untouched[i] : 0) && bits[i] != input[i];
          assertFalse(reduced, "element " + i + " was reduced on rank " + suspect + ", " + where);
        }
      }
    }
  }

  @Test
  void aMismatchInAGroupNamesRanksOfTheWorldAndSparesTheOthers() throws Exception {
    List<Communicator> worlds = job(5, 64, 1);
    String[] messages = new String[5];
    RankThreads.run(
        worlds,
        world -> {
          if (world.rank() >= 3) {
            Communicator pair = world.group(3, 4).using(Algorithm.ring());
            int count = world.rank() == 3 ? PRIME : OTHER_PRIME;
            messages[world.rank()] =
                assertThrows(
                        MismatchException.class, () -> pair.allReduce(new int[count], ReduceOp.SUM))
                    .getMessage();
          }
          assertSum(world, PRIME);
        });
    for (String message : List.of(messages[3], messages[4])) {
      assertTrue(namedRanks(message).containsAll(List.of(3, 4)), message);
    }
  }

  @Test
  void asynchronousErrorsArriveByTheHandle() throws Exception {
    List<Communicator> worlds = job(3, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          int[] buffer = new int[world.rank() == 1 ? OTHER_PRIME : PRIME];
          CollectiveHandle handle = world.async().allReduce(Payload.of(buffer), ReduceOp.SUM);
          Throwable cause =
              assertThrows(
                      CompletionException.class,
                      () -> handle.thenRun(() -> {}).toCompletableFuture().join())
                  .getCause();
          assertInstanceOf(MismatchException.class, cause);
          assertThrows(MismatchException.class, handle::await);
          assertThrows(MismatchException.class, () -> handle.await(PATIENCE));
          assertTrue(handle.isDone());
        });
  }

  // ---------------------------------------------------------------- failures

  @ParameterizedTest(name = "{0} ranks, rank {1} does not call")
  @MethodSource("ranksAndOne")
  void aRankThatDoesNotCallIsNamedByTheDeadline(int ranks, int silent) throws Exception {
    List<Communicator> worlds = job(ranks, 64, 3);
    // Connections and code are warm, so that the deadline measures the wait.
    RankThreads.run(worlds, world -> assertSum(world, PRIME));
    CountDownLatch over = new CountDownLatch(ranks - 1);
    RankThreads.run(
        worlds,
        world -> {
          if (world.rank() == silent) {
            assertTrue(over.await(20, TimeUnit.SECONDS));
            assertThrows(
                CollectiveException.class,
                () -> world.within(DEADLINE).allReduce(new int[PRIME], ReduceOp.SUM));
            return;
          }
          long start = System.nanoTime();
          CallTimeoutException e =
              assertThrows(
                  CallTimeoutException.class,
                  () -> world.within(DEADLINE).allReduce(new int[PRIME], ReduceOp.SUM));
          long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
          over.countDown();
          assertTrue(
              namedRanks(Kit.message(e)).contains(silent),
              () -> "rank " + silent + " is not named: " + e.getMessage());
          assertTrue(
              millis < DEADLINE.toMillis() + SLACK_MILLIS,
              () -> "it took " + millis + " ms: " + e.getMessage());
          assertThrows(
              CallTimeoutException.class, () -> assertSum(world, 1), "the group is broken now");
          assertThrows(CallTimeoutException.class, world::barrier, "the group is broken now");
        });
  }

  static Stream<Object[]> ranksAndOne() {
    return Kit.cases(
        1,
        List.of(
            new Object[] {5, 3},
            new Object[] {2, 0},
            new Object[] {2, 1},
            new Object[] {3, 1},
            new Object[] {5, 0}));
  }

  @Test
  void aBarrierHasADeadlineToo() throws Exception {
    List<Communicator> worlds = job(3, 64, 1);
    // Connections are warm, as TLS takes its time, too, beside other tests.
    RankThreads.run(worlds, world -> assertSum(world, PRIME));
    RankThreads.run(
        worlds,
        world -> {
          if (world.rank() != 2) {
            CallTimeoutException e =
                assertThrows(
                    CallTimeoutException.class,
                    () -> world.within(DEADLINE).async().barrier().await());
            assertTrue(namedRanks(Kit.message(e)).contains(2), e::getMessage);
          }
        });
  }

  @ParameterizedTest(name = "{0} ranks, rank {1} closes")
  @MethodSource("ranksAndOne")
  void aRankThatClosesIsNamedOnAllOthers(int ranks, int leaving) throws Exception {
    List<Communicator> worlds = job(ranks, 64, 3);
    RankThreads.run(worlds, world -> assertSum(world, PRIME));
    CountDownLatch started = new CountDownLatch(ranks - 1);
    RankThreads.run(
        worlds,
        world -> {
          if (world.rank() == leaving) {
            assertTrue(started.await(20, TimeUnit.SECONDS));
            world.close();
            return;
          }
          CollectiveHandle handle =
              world.async().allReduce(Payload.of(new int[PRIME]), ReduceOp.SUM);
          started.countDown();
          RankFailedException e = assertThrows(RankFailedException.class, handle::await);
          assertEquals(leaving, e.worldRank(), e::getMessage);
          assertTrue(namedRanks(Kit.message(e)).contains(leaving), e::getMessage);
          assertEquals(
              leaving,
              assertThrows(RankFailedException.class, () -> assertSum(world, 1)).worldRank());
        });
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void closingEndsTheOwnCall(boolean asynchronous) throws Exception {
    List<Communicator> worlds = job(2, 64, 1);
    RankThreads.run(worlds, world -> assertSum(world, PRIME));
    CountDownLatch calling = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    Thread closer =
        new Thread(
            () -> {
              try {
                calling.await();
              } catch (InterruptedException e) {
                return;
              }
              worlds.get(0).close();
            },
            "contract-closer");
    closer.start();
    RankThreads.run(
        worlds,
        world -> {
          if (world.rank() == 1) {
            assertTrue(ended.await(20, TimeUnit.SECONDS));
            RankFailedException e =
                assertThrows(RankFailedException.class, () -> assertSum(world, PRIME));
            assertEquals(0, e.worldRank(), e::getMessage);
          } else if (asynchronous) {
            CollectiveHandle handle =
                world.async().allReduce(Payload.of(new int[PRIME]), ReduceOp.SUM);
            calling.countDown();
            assertThrows(CommunicatorClosedException.class, handle::await);
            ended.countDown();
          } else {
            calling.countDown();
            assertThrows(CommunicatorClosedException.class, () -> assertSum(world, PRIME));
            ended.countDown();
          }
        });
    closer.join();
  }

  @Test
  void aClosedCommunicatorSaysSo() throws Exception {
    List<Communicator> worlds = job(2, 64, 1);
    Communicator group = worlds.get(0).group(0);
    Communicator view = worlds.get(0).within(PATIENCE);
    worlds.get(0).close();
    worlds.get(0).close();
    view.close();
    group.close();
    for (Communicator closed : List.of(worlds.get(0), view, group)) {
      assertThrows(
          CommunicatorClosedException.class, () -> closed.allReduce(new float[3], ReduceOp.SUM));
      assertThrows(
          CommunicatorClosedException.class, () -> closed.allReduce(new float[0], ReduceOp.SUM));
      assertThrows(CommunicatorClosedException.class, closed::barrier);
      assertThrows(CommunicatorClosedException.class, () -> closed.async().barrier().await());
      assertThrows(
          CommunicatorClosedException.class,
          () -> closed.async().allReduce(new float[3], ReduceOp.SUM).await());
    }
    assertThrows(CommunicatorClosedException.class, () -> worlds.get(0).split(0, 0));
  }

  @Test
  void closingAViewClosesNothingAndClosingAGroupLeavesTheWorld() throws Exception {
    List<Communicator> worlds = job(2, 64, 1);
    RankThreads.run(
        worlds,
        world -> {
          for (Communicator view : views(world)) {
            try (view) {
              assertSum(view, PRIME);
            }
            assertSum(view, PRIME);
            assertSum(world, PRIME);
          }
          Communicator group = world.group(1, 0);
          List<Communicator> views = views(group);
          views.forEach(Communicator::close);
          views.forEach(view -> assertSum(view, PRIME));
          assertSum(group, PRIME);
          assertSum(world, PRIME);
          group.close();
          for (Communicator view : views) {
            assertThrows(CommunicatorClosedException.class, () -> assertSum(view, PRIME));
          }
          assertThrows(CommunicatorClosedException.class, () -> assertSum(group, PRIME));
          assertSum(world, PRIME);
        });
  }

  /** A group in other words: by each method that returns one, and views of views. */
  private List<Communicator> views(Communicator group) {
    Communicator timed = group.within(PATIENCE);
    return List.of(
        group.using(algorithm(group.size())),
        group.using(WireType.BFLOAT16),
        group.using(Algorithm.direct()).using(Repeatability.RANK_ORDER),
        group.checkingFinite(),
        timed,
        timed.using(Algorithm.ring()).checkingFinite());
  }

  // --------------------------------------------------------------- arguments

  @Test
  void badArgumentsAreTheCallersErrorAndBreakNothing() throws Exception {
    List<Communicator> worlds = job(3, 64, 1);
    List<Wrong> wrongs = wrongs();
    RankThreads.run(
        worlds,
        world -> {
          assertSum(world, PRIME);
          for (int i = 0; i < wrongs.size(); i++) {
            Wrong wrong = wrongs.get(i);
            if (world.rank() == i % 3) {
              RuntimeException e =
                  assertThrows(
                      RuntimeException.class,
                      () -> wrong.call.accept(world),
                      () -> wrong.name + " was accepted");
              assertTrue(
                  wrong.expected.isInstance(e),
                  () -> wrong.name + " gave " + e + ", expected " + wrong.expected);
            }
            assertDoesNotThrow(() -> assertSum(world, 5), () -> "after " + wrong.name);
          }
        });
  }

  private record Wrong(
      String name, Class<? extends RuntimeException> expected, Consumer<Communicator> call) {}

  @SuppressWarnings({"NullAway", "DataFlowIssue"}) // That is what is tested.
  private static List<Wrong> wrongs() {
    Class<? extends RuntimeException> nothing = NullPointerException.class;
    Class<? extends RuntimeException> argument = IllegalArgumentException.class;
    Class<? extends RuntimeException> bounds = IndexOutOfBoundsException.class;
    return List.of(
        new Wrong("a null array", nothing, w -> w.allReduce((float[]) null, ReduceOp.SUM)),
        new Wrong("a null payload", nothing, w -> w.allReduce((Payload) null, ReduceOp.SUM)),
        new Wrong(
            "a null output", nothing, w -> w.allReduce(Payload.of(new int[1]), null, ReduceOp.SUM)),
        new Wrong(
            "a null asynchronous payload",
            nothing,
            w -> w.async().allReduce((Payload) null, ReduceOp.SUM)),
        new Wrong("no op", nothing, w -> w.allReduce(new float[1], null)),
        new Wrong("no op for nothing", nothing, w -> w.allReduce(new float[0], null)),
        new Wrong("no op for a payload", nothing, w -> w.allReduce(Payload.of(new float[1]), null)),
        new Wrong("no asynchronous op", nothing, w -> w.async().allReduce(new float[1], null)),
        new Wrong(
            "a user's op of bytes",
            argument,
            w ->
                w.allReduce(
                    Payload.of(new byte[4]), UserOp.commutative("or").withInts((a, b) -> a | b))),
        new Wrong(
            "floats in an array of bytes",
            argument,
            w -> w.broadcast(Payload.of(new byte[4], 0, 4, ElementType.FLOAT32), 0)),
        new Wrong(
            "a short output",
            argument,
            w -> w.allReduce(Payload.of(new int[4]), Payload.of(new int[3]), ReduceOp.SUM)),
        new Wrong(
            "an output of another type",
            argument,
            w -> w.allReduce(Payload.of(new int[4]), Payload.of(new float[4]), ReduceOp.SUM)),
        new Wrong(
            "a short asynchronous output",
            argument,
            w -> w.async().allReduce(Payload.of(new int[4]), Payload.of(new int[3]), ReduceOp.SUM)),
        new Wrong("no algorithm", nothing, w -> w.using((Algorithm) null)),
        new Wrong(
            "a mesh of another size", argument, w -> w.using(Algorithm.torus(Mesh.torus(2, 2)))),
        new Wrong("no time", argument, w -> w.within(Duration.ZERO)),
        new Wrong("less than no time", argument, w -> w.within(Duration.ofMillis(-1))),
        new Wrong("an empty group", argument, w -> w.group()),
        new Wrong("a group of others", argument, w -> w.group((w.rank() + 1) % 3)),
        new Wrong("a group with a rank twice", argument, w -> w.group(w.rank(), w.rank())),
        new Wrong("a group with a rank too many", argument, w -> w.group(0, 1, 2, 3)),
        new Wrong("a group with a negative rank", argument, w -> w.group(w.rank(), -1)),
        new Wrong("ranks beyond the last", argument, w -> w.strided(0, 2, 3)),
        new Wrong("ranks on one spot", argument, w -> w.strided(0, 0, 2)));
  }

  @Test
  void residualsThatDoNotFitAreRefused() throws Exception {
    Communicator world = job(2, 64, 1).get(0).using(Algorithm.direct());
    Payload floats = Payload.of(new float[4]);
    assertThrows(
        IllegalArgumentException.class,
        () -> world.allReduce(floats, floats, ReduceOp.MAX, Payload.of(new float[4])));
    assertThrows(
        IllegalArgumentException.class,
        () -> world.allReduce(floats, floats, ReduceOp.SUM, Payload.of(new float[3])));
    Payload ints = Payload.of(new int[4]);
    assertThrows(
        IllegalArgumentException.class,
        () -> world.allReduce(ints, ints, ReduceOp.SUM, Payload.of(new float[4])));
    assertEquals(0, world.nextSequence());
  }

  private static Set<Integer> namedRanks(String message) {
    Set<Integer> ranks = new TreeSet<>();
    Matcher matcher = RANK.matcher(message);
    while (matcher.find()) {
      ranks.add(Integer.valueOf(matcher.group(1)));
    }
    return ranks;
  }

  static void assertSum(Communicator group, int count) {
    int[] buffer = filled(group.rank() + 1, count);
    group.allReduce(buffer, ReduceOp.SUM);
    assertArrayEquals(filled(group.size() * (group.size() + 1) / 2, count), buffer);
  }

  static int[] filled(int value, int count) {
    int[] array = new int[count];
    Arrays.fill(array, value);
    return array;
  }
}
