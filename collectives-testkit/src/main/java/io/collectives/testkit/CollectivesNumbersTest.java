package io.collectives.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.testkit.CollectiveCase.Kind;
import io.collectives.testkit.CollectiveCase.Numbered;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The numbers of all collectives but the all-reduce, which depend on their plans and on where
 * elements lie: extend it and say which algorithm it is, and it runs between threads of this JVM.
 * {@link TransportNumbersTest} tries some of it over a transport.
 *
 * <p>Frames are tiny, payloads have many slabs, and inputs depend on a seed, as in {@link
 * AllReduceNumbersTest}.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class CollectivesNumbersTest extends JobTest {
  private static final int CALLS = 12;
  static final int PRIME = CollectiveCase.PRIME;

  /** For subclasses. */
  protected CollectivesNumbersTest() {}

  @Override
  protected abstract Algorithm algorithm(int ranks);

  /** The numbers of ranks under test; a subclass may hide this by a method of its own. */
  static IntStream ranks() {
    return Kit.ranks(5, 1, 2, 3, 5, 8);
  }

  @ParameterizedTest
  @MethodSource("ranks")
  void everyRankGetsItsResult(int wanted) throws Exception {
    CollectiveCase.checkAll(this, Kit.suiting(this::algorithm, wanted));
  }

  /** Arrays have methods of their own. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void arraysAreMovedLikePayloads(int wanted) throws Exception {
    int ranks = Kit.suiting(this::algorithm, wanted);
    RankThreads.run(
        job(ranks, 128, 2),
        world -> {
          int rank = world.rank();
          float[] input = new float[PRIME];
          Arrays.fill(input, rank + 1);
          float[] part = new float[(int) world.partCount(PRIME, rank)];
          world.reduceScatter(input, part, ReduceOp.SUM);
          float[] sums = new float[part.length];
          Arrays.fill(sums, ranks * (ranks + 1) / 2f);
          assertArrayEquals(sums, part);
          Arrays.fill(part, rank);
          float[] all = new float[PRIME];
          world.allGather(part, all);
          for (int from = 0; from < ranks; from++) {
            int start = (int) world.partStart(PRIME, from);
            assertEquals(from, all[start]);
            assertEquals(from, all[start + (int) world.partCount(PRIME, from) - 1]);
          }
          float[] given = {-1, rank, rank + 1, -1};
          world.broadcast(Payload.of(given, 1, 2), ranks - 1);
          assertArrayEquals(new float[] {-1, ranks - 1, ranks, -1}, given);
          world.broadcast(given, 0);
        });
  }

  /** Numbers alone, and bytes of which the others do not know how many there are. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void numbersAndBytesNeedNoPayloads(int wanted) throws Exception {
    int ranks = Kit.suiting(this::algorithm, wanted);
    RankThreads.run(
        job(ranks, 128, 2),
        world -> {
          int rank = world.rank();
          assertEquals(ranks * (ranks + 1) / 4.0, world.allReduce((rank + 1) / 2.0, ReduceOp.SUM));
          assertEquals(ranks - 1, world.allReduce((long) rank, ReduceOp.MAX));
          byte[] given = "a configuration of the last rank".getBytes(UTF_8);
          byte[] got = world.broadcastBytes(rank == ranks - 1 ? given : null, ranks - 1);
          assertArrayEquals(given, got);
          assertEquals(0, world.broadcastBytes(new byte[0], 0).length);
          List<byte[]> all = world.allGatherBytes(Arrays.copyOf(given, rank));
          assertEquals(ranks, all.size());
          for (int from = 0; from < ranks; from++) {
            assertArrayEquals(Arrays.copyOf(given, from), all.get(from));
          }
        });
  }

  /** A part may lie where it belongs in the whole. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3, 4})
  void partsMayLieInTheirPlaces(int wanted) throws Exception {
    int ranks = Kit.suiting(this::algorithm, wanted);
    RankThreads.run(
        job(ranks, 128, 2),
        world -> {
          int rank = world.rank();
          int each = 70;
          int count = each * ranks;
          int start = each * rank;
          int root = ranks - 1;
          long[] whole = new long[count];
          long[] expected = IntStream.range(0, count).asLongStream().toArray();
          Payload part = Payload.of(whole, start, each);
          System.arraycopy(expected, start, whole, start, each);
          world.allGather(part, Payload.of(whole));
          assertArrayEquals(expected, whole);
          Arrays.setAll(whole, i -> i / each == rank ? i : -1);
          world.gather(part, Payload.of(whole), root);
          if (rank == root) {
            assertArrayEquals(expected, whole);
          } else {
            Arrays.setAll(whole, i -> -1);
          }
          world.scatter(Payload.of(whole), part, root);
          long[] own = Arrays.copyOfRange(expected, start, start + each);
          assertArrayEquals(own, Arrays.copyOfRange(whole, start, start + each));
        });
  }

  /** Weight-update sharding: each rank changes its own part between the halves of an all-reduce. */
  @ParameterizedTest
  @ValueSource(ints = {2, 6})
  void shardsCanBeUpdatedBetweenTheHalves(int wanted) throws Exception {
    int ranks = Kit.suiting(this::algorithm, wanted);
    List<Communicator> worlds = job(ranks, 128, 2);
    for (int count : new int[] {ranks - 1, PRIME}) {
      RankThreads.run(
          worlds,
          world -> {
            int rank = world.rank();
            double[] gradient = new double[count];
            double[] weights = new double[count];
            Arrays.setAll(gradient, i -> (rank + 1) * (i % 17));
            Arrays.setAll(weights, i -> i);
            double[] sum = gradient.clone();
            world.allReduce(sum, ReduceOp.SUM);
            double[] expected = new double[count];
            Arrays.setAll(expected, i -> weights[i] - sum[i] / 4);
            int start = (int) world.partStart(count, rank);
            double[] shard = new double[(int) world.partCount(count, rank)];
            Payload of = Payload.of(shard);
            world.reduceScatter(Payload.of(gradient), of, ReduceOp.SUM);
            Arrays.setAll(shard, i -> weights[start + i] - shard[i] / 4);
            world.allGather(of, Payload.of(weights));
            assertArrayEquals(expected, weights);
          });
    }
  }

  // ------------------------------------------------------------ several calls

  /** Calls of all kinds at once, awaited in different orders. */
  @ParameterizedTest
  @ValueSource(ints = {2, 4})
  void severalCallsMayBeUnderWay(int wanted) throws Exception {
    int ranks = Kit.suiting(this::algorithm, wanted);
    List<CollectiveCase> all = CollectiveCase.of(ranks);
    List<Numbered> cases =
        all.subList(0, Math.min(24, all.size())).stream().map(Numbered::new).toList();
    RankThreads.run(
        job(ranks, 128, 2),
        world -> {
          List<CollectiveHandle> handles = new ArrayList<>();
          List<TestPayload> outputs = new ArrayList<>();
          int rank = world.rank();
          BufferPool pool = new BufferPool(world);
          pool.prepare(ElementType.INT64, cases.size() * (PRIME + 16) * (ranks + 1));
          for (Numbered numbers : cases) {
            CollectiveCase c = numbers.test;
            TestPayload source =
                new TestPayload(ElementType.INT64, c.placement().of(rank), PRIME, pool);
            TestPayload target =
                new TestPayload(ElementType.INT64, c.placement().of(rank), PRIME * ranks, pool);
            source.fill(values(rank, outputs.size(), PRIME));
            outputs.add(target);
            int root = c.call().root();
            Payload all1 = target.payload();
            target.fill(values(rank, outputs.size(), PRIME * ranks));
            handles.add(
                switch (outputs.size() % 4) {
                  case 0 -> world.async().broadcast(all1, root);
                  case 1 -> world.async().allGather(source.payload(), all1);
                  case 2 ->
                      world.async().gather(source.payload(), rank == root ? all1 : null, root);
                  default ->
                      world.async().reduce(all1, rank == root ? all1 : null, ReduceOp.MAX, root);
                });
          }
          for (int i = 0; i < cases.size(); i++) {
            int call = rank % 2 == 0 ? i : cases.size() - 1 - i;
            handles.get(call).await();
            int root = cases.get(call).test.call().root();
            int kind = (call + 1) % 4;
            long[] bits = outputs.get(call).bits();
            if (kind == 0) {
              assertArrayEquals(values(root, call + 1, PRIME * ranks), bits);
            } else if (kind == 1 || kind == 2 && rank == root) {
              for (int from = 0; from < ranks; from++) {
                assertArrayEquals(
                    values(from, call, PRIME),
                    Arrays.copyOfRange(bits, from * PRIME, (from + 1) * PRIME));
              }
            } else if (kind == 3 && rank == root) {
              assertArrayEquals(values(ranks - 1, call + 1, PRIME * ranks), bits);
            } else {
              assertArrayEquals(values(rank, call + 1, PRIME * ranks), bits);
            }
          }
        });
  }

  static long[] values(int rank, int call, int count) {
    return IntStream.range(0, count).mapToLong(i -> 1_000_000L * rank + 1000L * call + i).toArray();
  }

  /** A root that is far ahead in a series of calls does not run over those that come late. */
  @ParameterizedTest
  @EnumSource(
      value = Kind.class,
      names = {"BROADCAST", "SCATTER", "REDUCE", "GATHER", "ALL_TO_ALL_COUNTS"})
  void nobodyIsRunOver(Kind kind) throws Exception {
    int ranks = Kit.suiting(this::algorithm, 4);
    int each = 150;
    List<Communicator> worlds = job(ranks, 128, 2);
    for (int late = 0; late < ranks; late += ranks - 1) {
      int last = late;
      RankThreads.run(
          worlds,
          world -> {
            int rank = world.rank();
            List<CollectiveHandle> handles = new ArrayList<>();
            long[][] whole = new long[CALLS][each * ranks];
            long[][] part = new long[CALLS][each];
            for (int i = 0; i < CALLS; i++) {
              Arrays.fill(whole[i], rank);
              Arrays.fill(part[i], rank);
              Payload all = Payload.of(whole[i]);
              Payload own = Payload.of(part[i]);
              int root = i % 2 == 0 ? 0 : ranks - 1;
              if (rank == last && i == CALLS / 2) {
                handles.get(0).await();
              }
              // In one direction only: each rank to the next one.
              long[] sends = new long[ranks];
              long[] receives = new long[ranks];
              sends[Math.min(rank + 1, ranks - 1)] = rank + 1 < ranks ? each : 0;
              receives[Math.max(rank - 1, 0)] = rank > 0 ? each : 0;
              handles.add(
                  switch (kind) {
                    case BROADCAST -> world.async().broadcast(all, root);
                    case SCATTER -> world.async().scatter(all, own, root);
                    case REDUCE -> world.async().reduce(all, all, ReduceOp.SUM, root);
                    case GATHER -> world.async().gather(own, all, root);
                    default ->
                        world
                            .async()
                            .allToAll(
                                Payload.of(whole[i], 0, rank + 1 < ranks ? each : 0),
                                sends,
                                Payload.of(part[i], 0, rank > 0 ? each : 0),
                                receives);
                  });
            }
            handles.forEach(CollectiveHandle::await);
            for (int i = 0; i < CALLS; i++) {
              int root = i % 2 == 0 ? 0 : ranks - 1;
              switch (kind) {
                case BROADCAST -> assertEquals(root, whole[i][each * ranks - 1]);
                case SCATTER -> assertEquals(root, part[i][each - 1]);
                case REDUCE ->
                    assertEquals(
                        rank == root ? ranks * (ranks - 1) / 2 : rank, whole[i][each * ranks - 1]);
                case GATHER ->
                    assertEquals(rank == root ? ranks - 1 : rank, whole[i][each * ranks - 1]);
                default -> assertEquals(Math.max(0, rank - 1), part[i][each - 1]);
              }
            }
          });
    }
  }

  /** Reductions round what they send, keep their sums in float32, and nobody else rounds. */
  @ParameterizedTest
  @MethodSource("ranks")
  void narrowWiresRoundWhatReductionsSend(int wanted) throws Exception {
    int ranks = Kit.suiting(this::algorithm, wanted);
    float fine = 1 + 0x1p-7f + 0x1p-12f;
    float coarse = 1 + 0x1p-7f;
    int count = 3 * ranks;
    RankThreads.run(
        job(ranks, 256, 2),
        world -> {
          Communicator narrow = world.using(WireType.BFLOAT16);
          float[] input = new float[count];
          Arrays.fill(input, fine);
          float[] part = new float[3];
          narrow.reduceScatter(input, part, ReduceOp.MAX);
          // Its own contribution has not crossed a link, unless the plan sums elsewhere.
          float greatest = part[0] == fine ? fine : coarse;
          assertArrayEquals(new float[] {greatest, greatest, greatest}, part);
          Arrays.fill(input, world.rank() == world.size() - 1 ? fine : 0);
          float[] result = new float[count];
          narrow.reduce(Payload.of(input), Payload.of(result), ReduceOp.SUM, 0);
          if (world.rank() == 0) {
            float[] expected = new float[count];
            Arrays.fill(expected, ranks == 1 ? fine : coarse);
            assertArrayEquals(expected, result);
          }
          float[] all = new float[count];
          narrow.allGather(new float[] {fine, fine, fine}, all);
          Arrays.fill(input, fine);
          assertArrayEquals(input, all);
        });
  }

  /**
   * With residuals the rounding error of one call is added in the next ones: the error of the sum
   * of many calls is what the residuals hold, and no more.
   */
  @Test
  void residualsMakeUpForWhatIsLost() throws Exception {
    int ranks = Kit.suiting(this::algorithm, 4);
    int calls = 12;
    int root = 1;
    float[][] inputs = new float[ranks][PRIME];
    SplittableRandom random = new SplittableRandom(SEED);
    for (float[] input : inputs) {
      for (int i = 0; i < PRIME; i++) {
        input[i] = (float) random.nextDouble() - 0.5f;
      }
    }
    // Of reduce-scatters, then of reductions; without a residual, and with one.
    double[][][] sums = new double[2][2][PRIME];
    float[][][] residuals = new float[2][ranks][PRIME];
    RankThreads.run(
        job(ranks, 256, 2),
        world -> {
          int rank = world.rank();
          Communicator narrow = world.using(WireType.INT8);
          Payload input = Payload.of(inputs[rank]);
          int first = (int) world.partStart(PRIME, rank);
          float[] part = new float[(int) world.partCount(PRIME, rank)];
          Payload shard = Payload.of(part);
          float[] all = new float[PRIME];
          Payload whole = rank == root ? Payload.of(all) : null;
          Payload keptByScatter = Payload.of(residuals[0][rank]);
          Payload keptByReduce = Payload.of(residuals[1][rank]);
          for (int call = 0; call < calls; call++) {
            narrow.reduceScatter(input, shard, ReduceOp.SUM);
            add(part, sums[0][0], first);
            narrow.reduce(input, whole, ReduceOp.SUM, root);
            add(rank == root ? all : new float[0], sums[1][0], 0);
            if (call % 2 == 0) {
              narrow.reduceScatter(input, shard, ReduceOp.SUM, keptByScatter);
              narrow.reduce(input, whole, ReduceOp.SUM, root, keptByReduce);
            } else {
              narrow.async().reduceScatter(input, shard, ReduceOp.SUM, keptByScatter).await();
              narrow.async().reduce(input, whole, ReduceOp.SUM, root, keptByReduce).await();
            }
            add(part, sums[0][1], first);
            add(rank == root ? all : new float[0], sums[1][1], 0);
          }
        });
    for (int collective = 0; collective < 2; collective++) {
      double worstPlain = 0;
      double worstFed = 0;
      for (int i = 0; i < PRIME; i++) {
        double exact = 0;
        double kept = 0;
        for (int rank = 0; rank < ranks; rank++) {
          exact += inputs[rank][i];
          kept += Math.abs(residuals[collective][rank][i]);
        }
        double off = Math.abs(sums[collective][1][i] - calls * exact);
        assertTrue(off <= kept + calls * ranks * 0x1p-22, "element " + i + " is off by " + off);
        worstPlain = Math.max(worstPlain, Math.abs(sums[collective][0][i] - calls * exact));
        worstFed = Math.max(worstFed, off);
      }
      assertTrue(3 * worstFed < worstPlain, worstFed + " with residuals, " + worstPlain);
    }
  }

  /** Each element is added by one rank. */
  private static void add(float[] values, double[] sums, int first) {
    for (int i = 0; i < values.length; i++) {
      sums[first + i] += values[i];
    }
  }

  @Test
  void payloadsOfSeveralTypes() throws Exception {
    int[] ranks = IntStream.range(0, Kit.suiting(this::algorithm, 3)).toArray();
    RankThreads.run(
        job(ranks.length, 256, 2),
        world -> {
          int rank = world.rank();
          Tensors input = new Tensors(rank);
          Tensors output = new Tensors(5 - rank);
          input.fill(rank);
          output.fill(rank);
          world.broadcast(output.payload(), 2);
          output.assertSum(2);
          world.reduce(input.payload(), rank == 0 ? output.payload() : null, ReduceOp.SUM, 0);
          output.assertSum(rank == 0 ? ranks : new int[] {2});
          world.async().broadcast(output.payload(), 0).await();
          output.assertSum(ranks);
          world.async().reduce(input.payload(), output.payload(), ReduceOp.SUM, 1).await();
          output.assertSum(ranks);
          input.assertSum(rank);
          if (rank == 0) {
            world.send(input.payload(), 1);
            world.async().send(input.payload(), 1).await();
          } else if (rank == 1) {
            world.receive(output.payload(), 0);
            output.assertSum(0);
            output.fill(1);
            world.async().receive(output.payload(), 0).await();
            output.assertSum(0);
          }
        });
  }
}
