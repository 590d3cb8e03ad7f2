package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Bfloat16;
import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Float16;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UserOp;
import io.collectives.WireType;
import io.collectives.testkit.TestPayload.Memory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/**
 * The contract of {@link Repeatability}, whatever the transport. Extend this class with a method
 * that opens ranks. The bits of results are compared with those of loops that know no library.
 * Choices depend on a seed, which the system property {@code collectives.seed} changes.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class RepeatabilityContractTest extends JobTest {
  private static final int RANKS = 4;
  private static final int MOST = 301;
  private static final int[] COUNTS = {1, 3, 5, 130, MOST};
  private static final List<Algorithm> ALGORITHMS =
      Stream.concat(
              Kit.algorithms(RANKS, true).stream(),
              Stream.of(
                  Algorithm.parameterServer(1), Algorithm.parameterServer(3), Algorithm.auto()))
          .toList();

  /** For subclasses. */
  protected RepeatabilityContractTest() {}

  @Override
  protected abstract List<Communicator> open(int ranks, CallSettings calls) throws Exception;

  /** The view of a group by which a call is made. */
  record Caller(Repeatability level, Algorithm algorithm, WireType wire) {
    Communicator of(Communicator group) {
      return group.using(algorithm).using(wire).using(level);
    }
  }

  /** A test case, which is one call. */
  record Case(
      Caller caller,
      Collective collective,
      Operand operand,
      int count,
      Memory memory,
      boolean outOfPlace,
      int root) {

    /** A case with what is not given chosen at random. */
    static Case of(Caller caller, Collective collective, ElementType type, long seed) {
      Random random = new Random(seed);
      boolean exact = caller.level == Repeatability.EXACT;
      ReduceOp.Standard[] ops = {ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.PRODUCT};
      return new Case(
          caller,
          collective,
          new Operand(type, ops[random.nextInt(exact ? 2 : 3)], seed),
          COUNTS[random.nextInt(COUNTS.length)],
          Memory.values()[random.nextInt(Memory.values().length)],
          random.nextBoolean(),
          random.nextInt(RANKS));
    }

    /** The bits of what a rank contributes. */
    long[] input(int rank) {
      ElementType type = operand.type();
      long[] bits = operand.input(rank, count);
      if (caller.level == Repeatability.EXACT) {
        for (int i = 0; i < count; i += 7) {
          double value = special(type, i / 7, rank);
          bits[i] = type.bits(value);
        }
      }
      return bits;
    }

    /** Returns the result of all ranks together. */
    long[] expected(int[] order) {
      ElementType type = operand.type();
      ReduceOp.Standard op = operand.op();
      long[] results = new long[count];
      long[][] inputs = new long[RANKS][];
      for (int i = 0; i < RANKS; i++) {
        inputs[i] = input(order[i]);
      }
      double[] values = new double[RANKS];
      for (int i = 0; i < count; i++) {
        for (int rank = 0; rank < RANKS; rank++) {
          values[rank] = onWire(type.value(inputs[rank][i]));
        }
        int divisor = op == ReduceOp.AVERAGE ? RANKS : 1;
        double result =
            caller.level == Repeatability.EXACT
                ? nearest(type, ExactSums.of(values, divisor, type))
                : nearest(type, sequential(type, op, values) / divisor);
        results[i] = type.bits(collective == Collective.REDUCE_SCATTER ? result : onWire(result));
      }
      return results;
    }

    private double onWire(double value) {
      return switch (caller.wire) {
        case BFLOAT16 -> Bfloat16.toFloat(Bfloat16.of((float) value));
        case FLOAT16 -> Float16.toFloat(Float16.of((float) value));
        default -> value;
      };
    }
  }

  private static double sequential(ElementType type, ReduceOp op, double[] values) {
    double result = values[0];
    for (int i = 1; i < values.length; i++) {
      // Sums and products of two float32 or 16-bit numbers, rounded from double, are those of the
      // type: double has more than twice as many bits.
      double next = op == ReduceOp.PRODUCT ? result * values[i] : result + values[i];
      result = nearest(type, next);
    }
    return result;
  }

  /** Rounds as the arithmetic of the type does: 16-bit types by way of float32. */
  private static double nearest(ElementType type, double value) {
    return type.value(type.bits(value));
  }

  /** Contributions that are hard to add: what cancels, overflows, ties and is no number. */
  private static double special(ElementType type, int which, int rank) {
    double most = Numbers.most(type);
    double last = Numbers.epsilon(type);
    double[][] cases = {
      {most, most, -most, -most},
      {most, most, 1, -1},
      {1, last, -1, 0},
      {1, last / 2, 0, 0},
      {1 + last, last / 2, 0, 0},
      {1, last / 2, last * last / 2, 0},
      {1, last / 2, -last * last / 2, 0},
      {Double.NaN, 1, 1, 1},
      {Double.POSITIVE_INFINITY, 1, most, most},
      {Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 1, 1},
      {-0.0, -0.0, -0.0, -0.0},
      {-0.0, 0.0, -0.0, -0.0},
      {most, -most, last, -last / 2},
    };
    // Every rank has each of them in some element.
    double[] some = cases[which % cases.length];
    return some[(rank + which / cases.length) % RANKS];
  }

  /** Level by level, the bits depend on the inputs and on what the level says only. */
  @ParameterizedTest
  @EnumSource(mode = Mode.MATCH_ALL, names = ".*FLOAT.*")
  void bitsDependOnInputsOnly(ElementType type) throws Exception {
    List<Case> cases = new ArrayList<>();
    for (Repeatability level : List.of(Repeatability.RANK_ORDER, Repeatability.EXACT)) {
      for (Algorithm algorithm : ALGORITHMS) {
        for (Collective collective :
            List.of(Collective.ALL_REDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER)) {
          long seed = SEED + cases.size();
          Caller caller = new Caller(level, algorithm, WireType.AS_IN_MEMORY);
          cases.add(Case.of(caller, collective, type, seed));
        }
      }
    }
    // Many slabs, or many elements in each.
    boolean areShort = type == ElementType.FLOAT32 || type == ElementType.BFLOAT16;
    checkAll(areShort ? job(RANKS, 64, 1) : job(RANKS, 4096, 3), cases);
  }

  /** Contributions are rounded before they are taken, and what is passed on afterwards. */
  @Test
  void narrowWiresRoundWhateverTheAlgorithm() throws Exception {
    List<Case> cases = new ArrayList<>();
    for (Repeatability level : List.of(Repeatability.RANK_ORDER, Repeatability.EXACT)) {
      for (Algorithm algorithm : ALGORITHMS) {
        for (Collective collective :
            List.of(Collective.ALL_REDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER)) {
          WireType wire = cases.size() % 2 == 0 ? WireType.BFLOAT16 : WireType.FLOAT16;
          long seed = SEED + 100 + cases.size();
          Caller caller = new Caller(level, algorithm, wire);
          cases.add(Case.of(caller, collective, ElementType.FLOAT32, seed));
        }
      }
    }
    checkAll(job(RANKS, 256, 2), cases);
  }

  private static void checkAll(List<Communicator> worlds, List<Case> cases) throws Exception {
    int[] order = {0, 1, 2, 3};
    RankThreads.run(
        worlds,
        world -> {
          BufferPool pool = new BufferPool(world);
          for (Case c : cases) {
            pool.prepare(c.operand.type(), 4 * MOST);
            check(world, pool, c, order);
          }
        });
  }

  /** Whatever comes first, and whatever the plan, each contribution is in the sum once. */
  @Test
  void contributionsAreAddedAsTheyCome() throws Exception {
    List<Algorithm> algorithms = new ArrayList<>(ALGORITHMS);
    algorithms.addAll(Kit.algorithms(RANKS, false));
    RankThreads.run(
        job(RANKS, 256, 2),
        world -> {
          for (Algorithm algorithm : algorithms) {
            Communicator caller = world.using(Repeatability.ARRIVAL_ORDER).using(algorithm);
            addAsTheyCome(caller, ReduceOp.SUM);
            addAsTheyCome(caller.using(WireType.BFLOAT16), ReduceOp.AVERAGE);
          }
        });
  }

  private static void addAsTheyCome(Communicator caller, ReduceOp op) {
    int rank = caller.rank();
    float[] input = new float[MOST];
    float[] expected = new float[MOST];
    for (int i = 0; i < MOST; i++) {
      input[i] = RANKS * (rank + 1) * (i % 3);
      expected[i] = RANKS * RANKS * (RANKS + 1) / 2 * (i % 3) / (op == ReduceOp.SUM ? 1 : RANKS);
    }
    Payload from = Payload.of(input);
    float[] output = new float[MOST];
    caller.allReduce(from, Payload.of(output), op);
    assertArrayEquals(expected, output);
    Arrays.fill(output, 0);
    caller.reduce(from, Payload.of(output), op, 1);
    assertArrayEquals(rank == 1 ? expected : new float[MOST], output);
    int first = (int) caller.partStart(MOST, rank);
    float[] part = new float[(int) caller.partCount(MOST, rank)];
    caller.reduceScatter(input, part, op);
    assertArrayEquals(Arrays.copyOfRange(expected, first, first + part.length), part);
    caller.allReduce(input, op);
    assertArrayEquals(expected, input);
  }

  /** In a group, the order of ranks is that of the group; exact sums know none. */
  @Test
  void groupsHaveTheirOwnOrder() throws Exception {
    List<int[]> orders =
        List.of(new int[] {3, 2, 1, 0}, new int[] {2, 0, 3, 1}, new int[] {1, 0, 2, 3});
    List<Communicator> worlds = job(RANKS, 256, 2);
    RankThreads.run(
        worlds,
        world -> {
          for (int[] order : orders) {
            Communicator group = world.group(order);
            BufferPool pool = new BufferPool(group);
            for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
              pool.prepare(type, 4 * MOST);
              for (Repeatability level : List.of(Repeatability.RANK_ORDER, Repeatability.EXACT)) {
                Case c =
                    Case.of(
                        new Caller(level, Algorithm.auto(), WireType.AS_IN_MEMORY),
                        Collective.ALL_REDUCE,
                        type,
                        SEED + 200);
                check(group, pool, c, order);
              }
            }
          }
        });
  }

  /** Makes the call of a case in a group that has the ranks of the job in some order. */
  private static void check(Communicator group, BufferPool pool, Case c, int[] order) {
    int rank = group.rank();
    ElementType type = c.operand.type();
    ReduceOp.Standard op = c.operand.op();
    Communicator caller = c.caller.of(group);
    long[] input = c.input(order[rank]);
    Memory kind = Memory.values()[(c.memory.ordinal() + rank) % Memory.values().length];
    TestPayload source = new TestPayload(type, kind, c.count, pool);
    source.fill(input);
    Payload from = source.payload();
    int first = 0;
    int count = c.count;
    TestPayload target = source;
    if (c.collective == Collective.REDUCE_SCATTER) {
      first = (int) caller.partStart(c.count, rank);
      count = (int) caller.partCount(c.count, rank);
      target = new TestPayload(type, c.memory, count, pool);
      caller.reduceScatter(from, target.payload(), op);
    } else {
      Payload to = from;
      if (c.outOfPlace) {
        target = new TestPayload(type, c.memory, count, pool);
        to = target.payload();
      }
      if (c.collective == Collective.ALL_REDUCE) {
        caller.allReduce(from, to, op);
      } else {
        caller.reduce(from, rank == c.root ? to : null, op, c.root);
      }
    }
    if (c.collective != Collective.REDUCE || rank == c.root) {
      long[] expected = Arrays.copyOfRange(c.expected(order), first, first + count);
      long[] results = target.bits();
      for (int i = 0; i < count; i++) {
        if (expected[i] != results[i]) {
          throw new AssertionError(
              c
                  + ", ranks "
                  + Arrays.toString(order)
                  + ": element "
                  + (first + i)
                  + " is "
                  + Numbers.text(type, results[i])
                  + " instead of "
                  + Numbers.text(type, expected[i]));
        }
      }
    }
    source.assertGuards();
    target.assertGuards();
  }

  /** Fusion buffers of any length, filled in any order, give the bits of one call of all. */
  @ParameterizedTest
  @EnumSource(names = {"RANK_ORDER", "EXACT"})
  void fusionBuffersDoNotShow(Repeatability level) throws Exception {
    int tensors = 5;
    RankThreads.run(
        job(RANKS, 256, 2),
        world -> {
          // Whose owners begin with themselves if nothing else is asked for.
          Communicator caller = world.using(Algorithm.direct()).using(level);
          float[] all = new float[tensors * MOST];
          Random random = new Random(SEED + world.rank());
          for (int i = 0; i < all.length; i++) {
            all[i] = (float) (random.nextGaussian() * Math.exp(4 * random.nextGaussian()));
          }
          float[] expected = all.clone();
          caller.allReduce(expected, ReduceOp.AVERAGE);
          for (int bufferLength : new int[] {500, 3000, 1 << 20}) {
            FusionSettings settings =
                FusionSettings.defaults()
                    .withBufferLength(bufferLength)
                    .withFirstBufferLength(bufferLength);
            float[] fused = all.clone();
            try (GradientReducer reducer = GradientReducer.of(caller, settings)) {
              List<GradientReducer.Tensor> parts = new ArrayList<>();
              for (int i = 0; i < tensors; i++) {
                parts.add(reducer.register("tensor " + i, Payload.of(fused, i * MOST, MOST)));
              }
              for (int i = 0; i < tensors; i++) {
                reducer.ready(parts.get((i + bufferLength) % tensors));
              }
              reducer.await();
            }
            for (int i = 0; i < all.length; i++) {
              assertEquals(
                  Float.floatToRawIntBits(expected[i]),
                  Float.floatToRawIntBits(fused[i]),
                  "element " + i + " in buffers of " + bufferLength + " bytes");
            }
          }
        });
  }

  /** Promises that cannot be kept are refused, on every rank and before anything is sent. */
  @Test
  void whatCannotBeKeptIsRefused() throws Exception {
    List<Algorithm> unable = Kit.algorithms(RANKS, false);
    UserOp own = UserOp.commutative("larger").withFloats(Math::max);
    RankThreads.run(
        job(RANKS, 256, 2),
        world -> {
          for (Algorithm algorithm : unable) {
            refused(algorithm.name(), () -> world.using(algorithm).using(Repeatability.RANK_ORDER));
            refused("direct()", () -> world.using(Repeatability.EXACT).using(algorithm));
          }
          Communicator exact = world.using(Repeatability.EXACT);
          refused("product", () -> exact.allReduce(new float[3], ReduceOp.PRODUCT));
          refused("larger", () -> exact.allReduce(new float[3], own));
          refused("int8", () -> exact.using(WireType.INT8));
          Payload floats = Payload.of(new float[3]);
          Payload residual = Payload.of(new float[3]);
          refused("residual", () -> exact.allReduce(floats, floats, ReduceOp.SUM, residual));
          int[] ints = {3};
          exact.allReduce(ints, ReduceOp.PRODUCT);
          assertEquals(81, ints[0]);
          float[] least = {world.rank()};
          exact.allReduce(least, ReduceOp.MIN);
          assertEquals(0, least[0]);
        });
  }

  private static void refused(String named, Executable call) {
    String message = Kit.message(assertThrows(IllegalArgumentException.class, call));
    assertTrue(message.contains(named), message);
  }

  /** Ranks that want different levels hear of it. */
  @Test
  void aDifferenceIsNamedOnEveryRank() throws Exception {
    RankThreads.run(
        job(RANKS, 256, 2),
        world -> {
          Communicator caller = world.rank() == 2 ? world.using(Repeatability.EXACT) : world;
          String message =
              Kit.message(
                  assertThrows(
                      MismatchException.class,
                      () -> caller.allReduce(new float[50], ReduceOp.SUM)));
          assertTrue(message.contains("repeatability"), message);
          assertTrue(message.contains("fastest") && message.contains("exact"), message);
        });
  }
}
