package io.collectives.testkit;

import static io.collectives.testkit.CollectivesNumbersTest.PRIME;
import static io.collectives.testkit.CollectivesNumbersTest.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.CommunicatorClosedException;
import io.collectives.ElementType;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.testkit.CollectiveCase.Kind;
import io.collectives.testkit.CollectiveCase.Numbered;
import io.collectives.testkit.CollectiveCase.Size;
import io.collectives.testkit.TestPayload.Memory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The contract of every collective but the all-reduce, whatever its algorithm and transport. Extend
 * this class with a method that opens ranks. {@link CallContractTest} has the tests that are the
 * same for all collectives.
 *
 * <p>Frames are tiny, so that small payloads already have many slabs and bugs are loud. Data that
 * are moved are compared bit by bit, reductions with sums in double or exact integer arithmetic.
 * The inputs depend on a seed, which the system property {@code collectives.seed} changes.
 *
 * <p>Every rank has a thread of its own, and makes one call after the other without waiting for
 * other ranks; a test that hangs fails and shows where each rank is. No test waits for a time.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class CollectivesContractTest extends JobTest {
  /** For subclasses. */
  protected CollectivesContractTest() {}

  @Override
  protected abstract List<Communicator> open(int ranks, CallSettings calls) throws Exception;

  @Override
  protected abstract Algorithm algorithm(int ranks);

  // ---------------------------------------------------------- send and receive

  /** Messages go their own ways beside collectives, each direction of a pair by itself. */
  @ParameterizedTest
  @ValueSource(ints = {2, 5})
  void messagesGoBesideCollectives(int ranks) throws Exception {
    RankThreads.run(
        job(ranks, 128, 2),
        world -> {
          int rank = world.rank();
          int next = (rank + 1) % ranks;
          int previous = (rank + ranks - 1) % ranks;
          List<CollectiveHandle> handles = new ArrayList<>();
          long[][] received = new long[6][PRIME];
          long[] backwards = new long[3];
          for (int i = 0; i < 6; i++) {
            handles.add(world.async().receive(Payload.of(received[i]), previous));
          }
          long[] sum = values(rank, 0, PRIME);
          CollectiveHandle collective = world.async().allReduce(Payload.of(sum), ReduceOp.MAX);
          for (int i = 0; i < 6; i++) {
            handles.add(world.async().send(Payload.of(values(rank, i, PRIME)), next));
          }
          handles.add(world.async().receive(Payload.of(backwards), next));
          world.send(Payload.of(new long[] {rank, 2, 3}), previous);
          world.barrier();
          handles.forEach(CollectiveHandle::await);
          collective.await();
          assertArrayEquals(values(ranks - 1, 0, PRIME), sum);
          assertArrayEquals(new long[] {next, 2, 3}, backwards);
          for (int i = 0; i < 6; i++) {
            assertArrayEquals(values(previous, i, PRIME), received[i]);
          }
          if (rank == 0) {
            world.send(Payload.of(new float[0]), 1);
          } else if (rank == 1) {
            world.receive(Payload.of(new float[0]), 0);
          }
          assertEquals(2, world.nextSequence());
        });
  }

  /** A pair that breaks its own direction leaves all else whole; abort ends all. */
  @Test
  void aBrokenPairIsNobodyElsesBusiness() throws Exception {
    CountDownLatch done = new CountDownLatch(2);
    RankThreads.run(
        job(3, 128, 2),
        world -> {
          if (world.rank() == 0) {
            assertThrows(MismatchException.class, () -> world.send(Payload.of(new int[2]), 1));
          } else if (world.rank() == 1) {
            MismatchException e =
                assertThrows(
                    MismatchException.class, () -> world.receive(Payload.of(new int[3]), 0));
            assertTrue(Kit.message(e).contains("count"), e.getMessage());
          }
          world.barrier();
          if (world.rank() == 1) {
            world.send(Payload.of(new int[] {7}), 0);
            done.countDown();
          } else if (world.rank() == 0) {
            int[] got = new int[1];
            world.receive(Payload.of(got), 1);
            assertEquals(7, got[0]);
            CollectiveHandle stuck = world.async().receive(Payload.of(got), 2);
            assertTrue(done.await(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            world.abort("enough");
            assertThrows(AbortedException.class, stuck::await);
          } else {
            done.countDown();
          }
        });
  }

  // ------------------------------------------------------------------ errors

  /** In what the call of one rank differs. */
  enum Difference {
    ROOT("root 1", "root 0"),
    REDUCE_ROOT("root 1", "root 0"),
    COUNTS("counts per rank given"),
    EVEN("counts per rank even"),
    PAIR("count from sender to receiver 7", "count from sender to receiver 5"),
    COLLECTIVE("broadcast", "all-gather");

    final List<String> words;

    Difference(String... words) {
      this.words = List.of(words);
    }
  }

  static Stream<Object[]> differences() {
    return Arrays.stream(Difference.values())
        .map(what -> new Object[] {what, what.ordinal() % 2 == 0 ? 3 : 5});
  }

  @ParameterizedTest(name = "{0} of {1} ranks")
  @MethodSource("differences")
  void aDifferenceIsNamedOnEveryRank(Difference what, int ranks) throws Exception {
    String[] messages = new String[ranks];
    int odd = ranks - 1;
    RankThreads.run(
        job(ranks, 128, 2),
        world -> {
          int rank = world.rank();
          boolean differs = rank == odd;
          long[] counts = new long[ranks];
          Arrays.fill(counts, 4);
          if (differs) {
            counts[0] = 5;
            counts[1] = 3;
          }
          long[] receives = new long[ranks];
          Arrays.fill(receives, 5);
          long[] sends = receives.clone();
          if (differs) {
            receives[0] = 7;
          }
          Payload whole = Payload.of(new long[4 * ranks]);
          Payload part = Payload.of(new long[4]);
          Payload in = Payload.of(new long[5 * ranks]);
          Payload out = Payload.of(new long[5 * ranks + (differs ? 2 : 0)]);
          Executable call =
              switch (what) {
                case ROOT -> () -> world.broadcast(whole, differs ? 1 : 0);
                case REDUCE_ROOT -> () -> world.reduce(whole, whole, ReduceOp.SUM, differs ? 1 : 0);
                case COUNTS -> () -> world.allGather(part, whole, counts);
                case EVEN ->
                    differs
                        ? () -> world.allGather(part, whole)
                        : () -> world.allGather(part, whole, counts);
                case PAIR -> () -> world.allToAll(in, sends, out, receives);
                case COLLECTIVE ->
                    differs ? () -> world.broadcast(whole, 0) : () -> world.allGather(part, whole);
              };
          messages[rank] =
              assertThrows(
                      MismatchException.class,
                      () -> {
                        call.execute();
                        // It had nothing more to do in that one.
                        world.barrier();
                      })
                  .getMessage();
          assertThrows(MismatchException.class, world::barrier, "the group is broken now");
        });
    for (String message : messages) {
      assertTrue(message.contains("rank " + odd), message);
      for (String word : what.words) {
        assertTrue(message.contains(word), "\"" + word + "\" is not in: " + message);
      }
    }
  }

  /** A rank that dies is named by all others, whatever they call. */
  @ParameterizedTest
  @EnumSource(Kind.class)
  void aRankThatDiesIsNamed(Kind kind) throws Exception {
    int ranks = 4;
    for (int dead : Kit.ranks(kind.ordinal() % 2 == 0 ? 0 : ranks - 1, 0, ranks - 1).toArray()) {
      CollectiveCase c =
          new CollectiveCase(
              new JobShape(ranks, 128, 2),
              new CollectiveCase.Call(kind, 0, false, false),
              Size.MANY_SLABS,
              new Operand(ElementType.INT64, ReduceOp.SUM, SEED),
              new Placement(Memory.ARRAY, false));
      Numbered numbers = new Numbered(c);
      List<Communicator> worlds = c.job().open(this);
      List<@Nullable Throwable> outcomes =
          RankThreads.outcomes(
              worlds,
              world -> {
                BufferPool pool = new BufferPool(world);
                for (int i = 0; ; i++) {
                  if (world.rank() == dead && i == 3) {
                    world.close();
                  }
                  CollectiveCase.call(world, numbers, pool);
                }
              });
      for (int rank = 0; rank < ranks; rank++) {
        Throwable outcome = outcomes.get(rank);
        if (rank == dead) {
          assertInstanceOf(CommunicatorClosedException.class, outcome);
        } else {
          RankFailedException failure = assertInstanceOf(RankFailedException.class, outcome);
          assertEquals(dead, failure.worldRank(), failure.getMessage());
        }
      }
    }
  }

  /** A message to or from a dead rank fails, and names it. */
  @Test
  void aDeadPartnerIsNamed() throws Exception {
    RankThreads.run(
        job(3, 128, 2),
        world -> {
          if (world.rank() == 2) {
            world.close();
            return;
          }
          Payload payload = Payload.of(new int[1]);
          RankFailedException failure =
              assertThrows(
                  RankFailedException.class,
                  () -> {
                    if (world.rank() == 0) {
                      world.send(payload, 2);
                    } else {
                      world.receive(payload, 2);
                    }
                  });
          assertEquals(2, failure.worldRank());
        });
  }

  /**
   * Something that cannot be called.
   *
   * @param word in the message
   */
  record Wrong(String what, String word, BiConsumer<Communicator, Payload> call) {}

  private static Payload several() {
    return Payload.of(List.of(Payload.of(new int[2]), Payload.of(new float[2])));
  }

  @Test
  void wrongArgumentsAreRefused() throws Exception {
    List<Communicator> worlds = job(3, 128, 2);
    Communicator world = worlds.get(0);
    long[] negative = {7, 2, -3};
    List<Wrong> wrongs =
        List.of(
            new Wrong("no such root", "root 3", (w, p) -> w.broadcast(p, 3)),
            new Wrong("a negative root", "root -1", (w, p) -> w.reduce(p, p, ReduceOp.SUM, -1)),
            new Wrong("no output", "no output", (w, p) -> w.reduce(p, null, ReduceOp.SUM, 0)),
            new Wrong("no whole", "no whole", (w, p) -> w.gather(p, null, 0)),
            new Wrong("no whole", "no whole", (w, p) -> w.scatter(null, p, 0)),
            new Wrong("a long part", "must have 2", (w, p) -> w.reduceScatter(p, p, ReduceOp.SUM)),
            new Wrong("a long part", "must have 2", (w, p) -> w.allGather(p, p)),
            new Wrong("a short whole", "must have 18", (w, p) -> w.gather(p, p, 0)),
            new Wrong("a short whole", "must have 18", (w, p) -> w.scatter(p, p, 0)),
            new Wrong(
                "a wrong sum", "must have 7", (w, p) -> w.allGather(p, p, new long[] {6, 1, 0})),
            new Wrong("few counts", "2 counts", (w, p) -> w.allGather(p, p, new long[] {6, 0})),
            new Wrong("a negative count", "less than 0", (w, p) -> w.gather(p, p, negative, 0)),
            new Wrong(
                "a wrong part",
                "must have 5",
                (w, p) -> w.gather(p, null, new long[] {1, 5, 0}, 0)),
            new Wrong(
                "another type",
                "float32",
                (w, p) -> w.reduceScatter(p, Payload.of(new float[2]), ReduceOp.SUM)),
            new Wrong(
                "a long output", "must have 6", (w, p) -> w.allToAll(p, Payload.of(new int[7]))),
            new Wrong(
                "a wrong own block",
                "itself",
                (w, p) -> w.allToAll(p, new long[] {6, 0, 0}, p, new long[] {0, 6, 0})),
            new Wrong(
                "several types",
                "several types",
                (w, p) -> w.reduceScatter(several(), p, ReduceOp.SUM)),
            new Wrong("several types", "several types", (w, p) -> w.allGather(p, several())),
            new Wrong("several types", "several types", (w, p) -> w.gather(several(), p, 0)),
            new Wrong("several types", "several types", (w, p) -> w.gather(several(), null, 1)),
            new Wrong("several types", "several types", (w, p) -> w.scatter(null, several(), 1)),
            new Wrong("several types", "several types", (w, p) -> w.allToAll(p, several())),
            new Wrong(
                "several types out", "come out", (w, p) -> w.reduce(several(), p, ReduceOp.SUM, 0)),
            new Wrong(
                "runs that overlap",
                "overlap",
                (w, p) -> w.broadcast(Payload.strided(p, 0, 2, 2, 1), 1)),
            new Wrong(
                "a short residual",
                "residual",
                (w, p) ->
                    w.reduce(
                        Payload.of(new float[3]),
                        Payload.of(new float[3]),
                        ReduceOp.SUM,
                        0,
                        Payload.of(new float[2]))),
            new Wrong("oneself", "another", (w, p) -> w.send(p, 0)),
            new Wrong("nobody", "another", (w, p) -> w.receive(p, 3)));
    for (Wrong wrong : wrongs) {
      Communicator caller = wrong.word.equals("must have 5") ? worlds.get(1) : world;
      IllegalArgumentException e =
          assertThrows(
              IllegalArgumentException.class,
              () ->
                  wrong.call.accept(
                      caller, Payload.of(new int[wrong.word.equals("must have 5") ? 2 : 6])),
              wrong.what);
      assertTrue(Kit.message(e).contains(wrong.word), wrong.what + ": " + e.getMessage());
    }
    assertThrows(IndexOutOfBoundsException.class, () -> world.partStart(10, 3));
    assertFalse(world.partCount(10, 2) == world.partCount(10, 0));
    assertEquals(0, world.nextSequence());
  }
}
