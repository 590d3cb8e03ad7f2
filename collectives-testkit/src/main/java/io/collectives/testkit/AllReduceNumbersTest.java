package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Bfloat16;
import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.plan.Additions;
import io.collectives.plan.Plan;
import io.collectives.spi.Algorithms;
import io.collectives.testkit.TestPayload.Memory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The contract of the numbers of an all-reduce, which depend on its plan and on where elements lie.
 * Extend this class with the algorithm; it runs between threads of this JVM.
 *
 * <p>Frames are tiny, so that small payloads already have many slabs and bugs are loud. Results are
 * compared with sums in double or exact integer arithmetic. The inputs depend on a seed, which the
 * system property {@code collectives.seed} changes. An algorithm that is for some numbers of ranks
 * only is tried with the next ones that suit.
 *
 * <p>Every rank has a thread of its own; a test that hangs fails and shows where each rank is.
 *
 * <p>One class because it is one contract: an algorithm that passes it has right sums.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class AllReduceNumbersTest extends JobTest {
  private static final int MOST_RANKS = 8;
  private static final int[] SLABS_IN_FLIGHT = {1, 3};
  private static final List<ElementType> FLOATING =
      Stream.of(ElementType.values()).filter(type -> !type.isInteger()).toList();
  private static final int STYLES = AllReduceCase.Style.values().length;
  static final int PRIME = AllReduceCase.PRIME;

  /** For subclasses. */
  protected AllReduceNumbersTest() {}

  @Override
  protected abstract Algorithm algorithm(int ranks);

  // ------------------------------------------------------------------ numbers

  static IntStream ranksOfBits() {
    return Kit.ranks(3, 3, MOST_RANKS);
  }

  /** Returns the wires that round; two of them have 16 bits. */
  static Stream<WireType> narrowWires() {
    return Kit.cases(2, List.of(WireType.FLOAT16, WireType.INT8, WireType.BFLOAT16));
  }

  static IntStream ranks() {
    return Kit.ranks(5, 1, 2, 3, 5, MOST_RANKS);
  }

  @ParameterizedTest
  @MethodSource("ranks")
  void everyRankGetsTheReduction(int wanted) throws Exception {
    AllReduceCase.checkAll(this, Kit.suiting(this::algorithm, wanted));
  }

  @ParameterizedTest
  @MethodSource("ranksOfBits")
  void bitsDependOnInputsAlgorithmAndRanksOnly(int wanted) throws Exception {
    int ranks = Kit.suiting(this::algorithm, wanted);
    Map<ElementType, long[]> expected = new EnumMap<>(ElementType.class);
    int call = 0;
    // A weighted torus of 8 ranks sends 12 chunks at once, which take 96 bytes.
    for (int frameLength : new int[] {96, 200, 128 * 1024}) {
      for (int slabsInFlight : SLABS_IN_FLIGHT) {
        List<Communicator> worlds = job(ranks, frameLength, slabsInFlight);
        for (ElementType type : wanted == 3 ? FLOATING : List.of(ElementType.FLOAT32)) {
          Operand operand = new Operand(type, ReduceOp.SUM, SEED);
          long[][] inputs = operand.inputs(ranks, PRIME);
          for (int run = 0; run < 2; run++) {
            AllReduceCase.Style style = AllReduceCase.Style.values()[call++ % STYLES];
            AllReduceCase c =
                new AllReduceCase(
                    new JobShape(ranks, frameLength, slabsInFlight),
                    AllReduceCase.Size.PRIME,
                    operand,
                    style,
                    new Placement(run == 0 ? Memory.ARRAY : Memory.COMMUNICATOR, run == 0));
            long[][] results = new long[ranks][];
            RankThreads.run(
                worlds,
                world ->
                    results[world.rank()] = c.reduce(world, inputs[world.rank()], pool(world)));
            AllReduceCase.assertSameOnAllRanks(results);
            if (expected.putIfAbsent(type, results[0]) == null) {
              Numbers.assertReduced(type, ReduceOp.SUM, inputs, results[0]);
            }
            assertSameBits(
                type,
                Objects.requireNonNull(expected.get(type)),
                results[0],
                "run " + run + " of " + c + " has other bits than the first");
          }
        }
        worlds.forEach(Communicator::close);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 6})
  void theAverageIsTheSumDividedOnce(int wanted) throws Exception {
    int ranks = Kit.suiting(this::algorithm, wanted);
    List<Communicator> worlds = job(ranks, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          long[] bits =
              Numbers.inputs(ElementType.FLOAT32, ReduceOp.SUM, SEED, world.rank(), PRIME);
          TestPayload sum = new TestPayload(ElementType.FLOAT32, Memory.ARRAY, PRIME);
          sum.fill(bits);
          sum.allReduce(world, ReduceOp.SUM);
          TestPayload average = new TestPayload(ElementType.FLOAT32, Memory.ARRAY, PRIME);
          average.fill(bits);
          average.allReduce(world, ReduceOp.AVERAGE);
          long[] divided =
              Arrays.stream(sum.bits())
                  .map(b -> Float.floatToRawIntBits(Float.intBitsToFloat((int) b) / ranks))
                  .toArray();
          assertSameBits(
              ElementType.FLOAT32,
              divided,
              average.bits(),
              "the average is not the sum divided by " + ranks);
        });
  }

  /** A number that an op leaves all others as they are with. */
  private static double neutral(ReduceOp.Standard op, double... numbers) {
    return DoubleStream.of(-0.0, 1, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY)
        .filter(
            neutral ->
                DoubleStream.of(numbers)
                    .allMatch(x -> Double.compare(op.doubles().applyAsDouble(neutral, x), x) == 0))
        .findFirst()
        .orElseThrow();
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.MATCH_ALL, names = ".*FLOAT.*")
  void nanInfinitiesAndZerosFollowTheirRules(ElementType type) throws Exception {
    double[] specials = {
      Double.NaN,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY,
      0.0,
      -0.0,
      1.0,
      -2.5,
      16 * type.value(1) // Subnormal.
    };
    int ranks = Kit.suiting(this::algorithm, 4);
    int count = specials.length * specials.length;
    List<Communicator> worlds = job(ranks, 64, 1);
    for (ReduceOp.Standard op : ReduceOp.Standard.values()) {
      double[] expected = new double[count];
      double neutral = neutral(op, specials);
      long[][] inputs = new long[ranks][count];
      for (int i = 0; i < count; i++) {
        // Ranks 1 and 2 hold the specials; the others something that changes nothing.
        double a = specials[i / specials.length];
        double b = specials[i % specials.length];
        expected[i] = op.doubles().applyAsDouble(a, b) / (op == ReduceOp.AVERAGE ? ranks : 1);
        for (int rank = 0; rank < ranks; rank++) {
          inputs[rank][i] = type.bits(rank == 1 ? a : rank == 2 ? b : neutral);
        }
      }
      long[][] results = new long[ranks][];
      RankThreads.run(
          worlds,
          world -> {
            TestPayload payload = new TestPayload(type, Memory.ARRAY, count);
            payload.fill(inputs[world.rank()]);
            payload.allReduce(world, op);
            results[world.rank()] = payload.bits();
          });
      AllReduceCase.assertSameOnAllRanks(results);
      for (int i = 0; i < count; i++) {
        double result = type.value(results[0][i]);
        double wanted = type.value(type.bits(expected[i]));
        assertEquals(
            Double.doubleToLongBits(wanted),
            Double.doubleToLongBits(result),
            op
                + " of "
                + specials[i / specials.length]
                + " and "
                + specials[i % specials.length]
                + " is "
                + result);
      }
    }
  }

  // ---------------------------------------------------------------- wire types

  /**
   * Returns the largest rounding error of a number.
   *
   * @param greatest the greatest magnitude of all numbers
   */
  private static double roundoff(WireType wire, double magnitude, double greatest) {
    return switch (wire) {
      case AS_IN_MEMORY -> 0;
      case BFLOAT16 -> 0x1p-8 * magnitude;
      // What is subnormal is off by 2^-25 at most.
      case FLOAT16 -> 0x1p-11 * magnitude + 0x1p-25;
      case INT8 -> greatest / 127;
    };
  }

  /** Of which a payload takes several. */
  @Test
  void framesAreAsLongAsSuitsTheTransport() throws Exception {
    int count = 400_003;
    for (int wanted : Kit.ranks(3, 2, 3).toArray()) {
      int ranks = Kit.suiting(this::algorithm, wanted);
      List<Communicator> worlds = job(ranks, CallSettings.AUTO, 2);
      RankThreads.run(
          worlds,
          world -> {
            int suits = world.settings().frameLength();
            assertTrue(suits >= 128 * 1024, "frames of " + suits + " bytes");
            int[] numbers = new int[count];
            Arrays.setAll(numbers, i -> i % 1000 + world.rank());
            world.allReduce(numbers, ReduceOp.SUM);
            int[] expected = new int[count];
            Arrays.setAll(expected, i -> ranks * (i % 1000) + ranks * (ranks - 1) / 2);
            assertArrayEquals(expected, numbers);
          });
    }
  }

  /** Same bits on all ranks, in every run and with any settings, and as near as rounding allows. */
  @ParameterizedTest
  @MethodSource("narrowWires")
  void narrowWiresAgreeAndAreNear(WireType wire) throws Exception {
    List<ReduceOp.Standard> ops = List.of(ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.MAX);
    for (int wanted : Kit.ranks(5, 2, 5).toArray()) {
      int ranks = Kit.suiting(this::algorithm, wanted);
      Map<ReduceOp, long[]> expected = new HashMap<>();
      int call = 0;
      for (int frameLength : new int[] {64, 128 * 1024}) {
        int slabsInFlight = frameLength == 64 ? 3 : 1;
        List<Communicator> worlds = job(ranks, frameLength, slabsInFlight);
        for (ReduceOp.Standard op : ops) {
          Operand operand = new Operand(ElementType.FLOAT32, op, SEED);
          long[][] inputs = operand.inputs(ranks, 2 * PRIME);
          if (wire == WireType.INT8 && op != ReduceOp.MAX) {
            expected.remove(op); // Frames decide which elements are rounded together.
          }
          for (int run = 0; run < 2; run++) {
            AllReduceCase.Style style = AllReduceCase.Style.values()[call++ % STYLES];
            AllReduceCase c =
                new AllReduceCase(
                    new JobShape(ranks, frameLength, slabsInFlight),
                    AllReduceCase.Size.PRIME,
                    operand,
                    style,
                    new Placement(Memory.PARTS, true));
            long[][] results = new long[ranks][];
            RankThreads.run(
                worlds,
                world ->
                    results[world.rank()] =
                        c.reduce(world.using(wire), inputs[world.rank()], pool(world)));
            AllReduceCase.assertSameOnAllRanks(results);
            expected.putIfAbsent(op, results[0]);
            assertSameBits(
                ElementType.FLOAT32,
                Objects.requireNonNull(expected.get(op)),
                results[0],
                wire + " gives other bits in " + c);
            assertNear(wire, op, inputs, results[0]);
          }
        }
        worlds.forEach(Communicator::close);
      }
    }
  }

  private static void assertNear(
      WireType wire, ReduceOp.Standard op, long[][] inputs, long[] results) {
    int ranks = inputs.length;
    int exactOnes = 0;
    double greatest = 0;
    for (int i = 0; i < results.length; i++) {
      double sum = 0;
      for (long[] input : inputs) {
        sum += Math.abs(ElementType.FLOAT32.value(input[i]));
      }
      greatest = Math.max(greatest, sum);
    }
    boolean crosses = ranks > 1 && (wire != WireType.INT8 || op != ReduceOp.MAX);
    for (int i = 0; i < results.length; i++) {
      double exact = op == ReduceOp.MAX ? Double.NEGATIVE_INFINITY : 0;
      double magnitude = 0;
      for (long[] input : inputs) {
        double value = ElementType.FLOAT32.value(input[i]);
        exact = op == ReduceOp.MAX ? Math.max(exact, value) : exact + value;
        magnitude += Math.abs(value);
      }
      double divisor = op == ReduceOp.AVERAGE ? ranks : 1;
      double result = ElementType.FLOAT32.value(results[i]);
      // Partial sums may be rounded again and again; float32 rounds, too, a little.
      double most =
          crosses ? (ranks + 1) * 1.01 * roundoff(wire, magnitude, greatest) / divisor : 0;
      assertTrue(
          Math.abs(result - exact / divisor) <= most,
          op + " over " + wire + ": element " + i + " is " + result + ", not " + exact / divisor);
      exactOnes += (float) (exact / divisor) == (float) result ? 1 : 0;
    }
    assertEquals(
        crosses, exactOnes < results.length, "nothing is rounded on the way, or one rank's is");
  }

  /**
   * With residuals the rounding error of one call is added in the next ones: the error of the sum
   * of many calls is what the residuals hold, and no more. Without them it grows with each call.
   */
  @ParameterizedTest
  @MethodSource("narrowWires")
  void residualsMakeUpForWhatIsLost(WireType wire) throws Exception {
    int calls = 20;
    ReduceOp.Standard op = wire == WireType.FLOAT16 ? ReduceOp.AVERAGE : ReduceOp.SUM;
    int ranks = Kit.suiting(this::algorithm, 5);
    long[][] inputs = new Operand(ElementType.FLOAT32, ReduceOp.SUM, SEED).inputs(ranks, PRIME);
    List<Communicator> worlds = job(ranks, 256, 2);
    double[][] plain = new double[ranks][PRIME];
    double[][] fed = new double[ranks][PRIME];
    float[][] residuals = new float[ranks][2 * PRIME];
    long[][] last = new long[ranks][];
    boolean sumsOften = sumsOften(ranks);
    RankThreads.run(
        worlds,
        world -> {
          int rank = world.rank();
          Communicator narrow = world.using(wire);
          TestPayload source = new TestPayload(ElementType.FLOAT32, Memory.PARTS, PRIME);
          TestPayload target = new TestPayload(ElementType.FLOAT32, Memory.DIRECT, PRIME);
          source.fill(inputs[rank]);
          // Its odd elements are somebody else's.
          Payload residual = Payload.strided(Payload.of(residuals[rank]), 0, PRIME, 1, 2);
          if (sumsOften) {
            String message =
                Kit.message(
                    assertThrows(
                        IllegalArgumentException.class,
                        () -> narrow.allReduce(source.payload(), target.payload(), op, residual)));
            assertTrue(message.contains(algorithm(ranks).family()), message);
            return;
          }
          for (int call = 0; call < calls; call++) {
            narrow.allReduce(source.payload(), target.payload(), op);
            add(plain[rank], target.bits());
            if (call % 2 == 0) {
              narrow.allReduce(source.payload(), target.payload(), op, residual);
            } else {
              narrow.async().allReduce(source.payload(), target.payload(), op, residual).await();
            }
            last[rank] = target.bits();
            add(fed[rank], last[rank]);
          }
          assertArrayEquals(inputs[rank], source.bits(), "the input was written");
        });
    if (sumsOften) {
      return;
    }
    AllReduceCase.assertSameOnAllRanks(last);
    double worstPlain = 0;
    double worstFed = 0;
    for (int i = 0; i < PRIME; i++) {
      double exact = 0;
      double magnitude = 0;
      double kept = 0;
      for (int rank = 0; rank < ranks; rank++) {
        double value = ElementType.FLOAT32.value(inputs[rank][i]);
        exact += value;
        magnitude += Math.abs(value);
        kept += Math.abs(residuals[rank][2 * i]);
        assertEquals(0, residuals[rank][2 * i + 1]);
      }
      exact /= op == ReduceOp.AVERAGE ? ranks : 1;
      worstPlain = Math.max(worstPlain, Math.abs(plain[0][i] - calls * exact));
      double off = Math.abs(fed[0][i] - calls * exact);
      worstFed = Math.max(worstFed, off);
      double inFloat32 = calls * (ranks + 2) * 0x1p-23 * (magnitude + kept);
      assertTrue(off <= kept + inFloat32, op + ", element " + i + " is off by " + off);
    }
    assertTrue(
        4 * worstFed < worstPlain,
        op + " is off by " + worstFed + ", and by " + worstPlain + " without residuals");
  }

  /** Returns whether several ranks compute the same sum, so that they keep no residuals. */
  private boolean sumsOften(int ranks) {
    Plan plan = Algorithms.onClassPath().plan(algorithm(ranks), Collective.ALL_REDUCE, ranks);
    return Additions.areRepeated(plan);
  }

  private static void add(double[] sums, long[] bits) {
    for (int i = 0; i < sums.length; i++) {
      sums[i] += ElementType.FLOAT32.value(bits[i]);
    }
  }

  /** A frame that a link refuses must not take from the residual twice. */
  @Test
  void residualsAreTheSameWhereLinksAreFull() throws Exception {
    int calls = 3;
    int count = 5 * PRIME;
    long[][] inputs = new Operand(ElementType.FLOAT32, ReduceOp.SUM, SEED).inputs(2, count);
    float[][][] residuals = new float[2][2 * calls][count];
    if (Kit.suiting(this::algorithm, 2) != 2 || sumsOften(2)) {
      return;
    }
    for (int run = 0; run < 2; run++) {
      float[][] kept = residuals[run];
      boolean full = run == 1;
      CountDownLatch ahead = new CountDownLatch(1);
      RankThreads.run(
          job(2, 64, full ? 64 : 1),
          world -> {
            int rank = world.rank();
            if (full && rank == 1) {
              assertTrue(ahead.await(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            }
            List<CollectiveHandle> handles = new ArrayList<>();
            for (int call = 0; call < calls; call++) {
              TestPayload payload = new TestPayload(ElementType.FLOAT32, Memory.ARRAY, count);
              payload.fill(inputs[rank]);
              Payload residual = Payload.of(kept[2 * call + rank]);
              handles.add(
                  world
                      .using(WireType.BFLOAT16)
                      .async()
                      .allReduce(payload.payload(), payload.payload(), ReduceOp.SUM, residual));
            }
            ahead.countDown();
            handles.forEach(CollectiveHandle::await);
          });
    }
    for (int i = 0; i < 2 * calls; i++) {
      assertArrayEquals(residuals[0][i], residuals[1][i], "of call and rank " + i);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"BFLOAT16", "FLOAT16"})
  void narrowWiresKeepNanAndInfinities(WireType wire) throws Exception {
    int ranks = Kit.suiting(this::algorithm, 3);
    float infinity = Float.POSITIVE_INFINITY;
    float[] specials = {Float.NaN, infinity, -infinity, 100_000f, 1e-30f, -0f, 3f};
    float[] expected = {
      Float.NaN,
      infinity,
      -infinity,
      wire == WireType.FLOAT16 ? infinity : 99_840f,
      wire == WireType.FLOAT16 ? 0f : Bfloat16.toFloat(Bfloat16.of(1e-30f)),
      0f,
      3f
    };
    List<Communicator> worlds = job(ranks, 64, 1);
    for (int special = 0; special < ranks; special++) {
      int one = special;
      RankThreads.run(
          worlds,
          world -> {
            float[] buffer = world.rank() == one ? specials.clone() : new float[specials.length];
            world.using(wire).allReduce(buffer, ReduceOp.SUM);
            assertArrayEquals(expected, buffer, "from rank " + one);
          });
    }
  }

  /** Of other types, and without a reduction, everything crosses as it is. */
  @Test
  void narrowWiresLeaveOtherCallsAlone() throws Exception {
    int ranks = Kit.suiting(this::algorithm, 3);
    List<Communicator> worlds = job(ranks, 256, 2);
    RankThreads.run(
        worlds,
        world -> {
          Communicator narrow = world.using(WireType.BFLOAT16);
          double[] doubles = {1 + 0x1p-40, 2};
          narrow.allReduce(doubles, ReduceOp.MAX);
          assertArrayEquals(new double[] {1 + 0x1p-40, 2}, doubles);
          float[] floats = {1 + 0x1p-20f, 2};
          narrow.broadcast(floats, 1);
          assertArrayEquals(new float[] {1 + 0x1p-20f, 2}, floats);
        });
  }

  @Test
  void aLongPayloadWithTheUsualSettings() throws Exception {
    int count = 300_007;
    int ranks = Kit.suiting(this::algorithm, 3);
    List<Communicator> worlds = job(ranks, CallSettings.defaults().withAlgorithm(algorithm(ranks)));
    RankThreads.run(
        worlds,
        world -> {
          float[] buffer = new float[count];
          for (int i = 0; i < count; i++) {
            buffer[i] = world.rank() + i % 1000;
          }
          world.allReduce(buffer, ReduceOp.SUM);
          for (int i = 0; i < count; i++) {
            assertEquals(ranks * (ranks - 1) / 2 + ranks * (i % 1000), buffer[i]);
          }
        });
  }

  @Test
  void aPayloadOfSeveralTypesIsOneCall() throws Exception {
    int[] ranks = IntStream.range(0, Kit.suiting(this::algorithm, 3)).toArray();
    RankThreads.run(
        job(ranks.length, 256, 2),
        world -> {
          int rank = world.rank();
          boolean sumsOften = sumsOften(ranks.length);
          Tensors input = new Tensors(rank);
          Tensors output = new Tensors(7 + rank);
          int calls = 0;
          for (Communicator caller : List.of(world, world.using(WireType.BFLOAT16))) {
            input.fill(rank);
            caller.allReduce(input.payload(), output.payload(), ReduceOp.SUM);
            output.assertSum(ranks);
            input.assertSum(rank);
            output.fill(rank);
            caller.async().allReduce(output.payload(), ReduceOp.SUM).await();
            output.assertSum(ranks);
            caller.async().allReduce(input.payload(), output.payload(), ReduceOp.SUM).await();
            output.assertSum(ranks);
            calls += 3;
            if (!sumsOften) {
              long floats = ((Payload.OfTensors) input.payload()).byType().get(0).count();
              float[] kept = new float[(int) floats];
              caller.allReduce(input.payload(), output.payload(), ReduceOp.SUM, Payload.of(kept));
              output.assertSum(ranks);
              assertArrayEquals(new float[kept.length], kept, "nothing was lost");
              calls++;
            }
            caller.allReduce(input.payload(), ReduceOp.SUM);
            input.assertSum(ranks);
            calls++;
          }
          assertEquals((long) calls * Tensors.TYPES, world.nextSequence());
        });
  }

  // ------------------------------------------------------------------ shared

  static void assertSameBits(ElementType type, long[] expected, long[] actual, String what) {
    for (int i = 0; i < expected.length; i++) {
      if (expected[i] != actual[i]) {
        throw new AssertionError(
            what
                + ": element "
                + i
                + " of "
                + expected.length
                + " is "
                + Numbers.text(type, actual[i])
                + ", expected "
                + Numbers.text(type, expected[i]));
      }
    }
  }
}
