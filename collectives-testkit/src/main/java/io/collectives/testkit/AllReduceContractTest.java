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
import io.collectives.Bfloat16;
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
import io.collectives.WireType;
import io.collectives.testkit.Cells.Memory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What every all-reduce must do, whatever its algorithm and transport: extend it and say how ranks
 * are opened.
 *
 * <p>Frames are tiny, so that small payloads already have many slabs and bugs are loud. Results are
 * compared with sums in double or exact integer arithmetic. The inputs depend on a seed, which the
 * system property {@code collectives.seed} changes.
 *
 * <p>Every rank has a thread of its own; a test that hangs fails and shows where each rank is. No
 * test waits for a time, except for the deadlines that it tests.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class AllReduceContractTest {
  private static final int MOST_RANKS = 8;
  private static final long SEED = Long.getLong("collectives.seed", 20_261_120L);
  private static final int[] FRAME_LENGTHS = {64, 256};
  private static final int[] SLABS_IN_FLIGHT = {1, 3};
  private static final List<ElementType> FLOATING =
      List.of(ElementType.FLOAT32, ElementType.FLOAT64, ElementType.BFLOAT16, ElementType.FLOAT16);
  private static final int PRIME = 1009;
  private static final int OTHER_PRIME = 1013;

  /** More than any of the payloads that are taken from a {@link Shelf}, with guards. */
  private static final int SHELF_COUNT = 4096;

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Duration DEADLINE = Duration.ofMillis(300);
  private static final long SLACK_MILLIS = 5_000;
  private static final Pattern RANK = Pattern.compile("\\brank (\\d+)");

  private final List<Communicator> opened = new ArrayList<>();
  private final Map<Communicator, Shelf> shelves = new ConcurrentHashMap<>();

  /** For subclasses. */
  protected AllReduceContractTest() {}

  /**
   * Opens a job whose ranks are threads of this JVM.
   *
   * @param calls what its communicators do unless told otherwise
   * @return the communicator of each rank, in the order of ranks; this class closes them
   */
  protected abstract List<Communicator> open(int ranks, CallSettings calls) throws Exception;

  /** The algorithm under test, for a group of so many ranks. */
  protected abstract Algorithm algorithm(int ranks);

  /** Frees what a test has opened. */
  @AfterEach
  public final void closeAll() {
    opened.forEach(Communicator::close);
  }

  // ------------------------------------------------------------------ numbers

  /** How a call is made. */
  enum Style {
    IN_PLACE,
    OUT_OF_PLACE,
    ASYNC
  }

  /** How many elements a call has. */
  enum Size {
    NONE,
    ONE,
    ONE_LESS_THAN_RANKS,
    AS_MANY_AS_RANKS,
    ONE_MORE_THAN_RANKS,
    PRIME,
    MANY_SLABS;

    int count(int ranks, int frameLength, ElementType type) {
      return switch (this) {
        case NONE -> 0;
        case ONE -> 1;
        case ONE_LESS_THAN_RANKS -> ranks - 1;
        case AS_MANY_AS_RANKS -> ranks;
        case ONE_MORE_THAN_RANKS -> ranks + 1;
        case PRIME -> AllReduceContractTest.PRIME;
        case MANY_SLABS -> 5 * ranks * (frameLength / type.bytes()) + 3;
      };
    }
  }

  /**
   * One call.
   *
   * @param memory of rank 0; the other ranks' is another kind each where {@code mixed}
   */
  record Case(
      int ranks,
      int frameLength,
      int slabsInFlight,
      Size size,
      ElementType type,
      ReduceOp.Standard op,
      Style style,
      Memory memory,
      boolean mixed,
      long seed) {

    int count() {
      return size.count(ranks, frameLength, type);
    }

    Memory memory(int rank) {
      Memory[] kinds = Memory.values();
      return mixed ? kinds[(memory.ordinal() + rank) % kinds.length] : memory;
    }

    /** All pairs of choices for a number of ranks. */
    static List<Case> of(int ranks) {
      int[] sizes = {
        FRAME_LENGTHS.length,
        SLABS_IN_FLIGHT.length,
        Size.values().length,
        ElementType.values().length,
        ReduceOp.Standard.values().length,
        Style.values().length,
        Memory.values().length,
        2
      };
      List<Case> cases = new ArrayList<>();
      for (int[] c : Pairs.cover(sizes, SEED + ranks)) {
        cases.add(
            new Case(
                ranks,
                FRAME_LENGTHS[c[0]],
                SLABS_IN_FLIGHT[c[1]],
                Size.values()[c[2]],
                ElementType.values()[c[3]],
                ReduceOp.Standard.values()[c[4]],
                Style.values()[c[5]],
                Memory.values()[c[6]],
                c[7] == 1,
                SEED + cases.size()));
      }
      return cases;
    }
  }

  static IntStream ranksOfBits() {
    return Kit.ranks(3, 3, MOST_RANKS);
  }

  static IntStream ranks() {
    return Kit.ranks(5, 1, 2, 3, 5, MOST_RANKS);
  }

  /**
   * Fewer numbers of ranks, for a subclass that gives them as its own {@code static IntStream
   * ranks()}: where others run the same engine by the same transport with more.
   */
  protected static IntStream fewRanks() {
    return Kit.ranks(5, 2, 5);
  }

  @ParameterizedTest
  @MethodSource("ranks")
  void everyRankGetsTheReduction(int ranks) throws Exception {
    TreeMap<Integer, List<Case>> bySettings = new TreeMap<>();
    for (Case c : Case.of(ranks)) {
      bySettings
          .computeIfAbsent(c.frameLength * 64 + c.slabsInFlight, key -> new ArrayList<>())
          .add(c);
    }
    for (List<Case> cases : bySettings.values()) {
      List<Communicator> worlds = open(ranks, cases.get(0).frameLength, cases.get(0).slabsInFlight);
      for (Case c : cases) {
        try {
          check(worlds, c);
        } catch (AssertionError e) {
          throw new AssertionError(c + ": " + e.getMessage(), e);
        }
      }
      worlds.forEach(Communicator::close);
    }
  }

  private void check(List<Communicator> worlds, Case c) throws InterruptedException {
    long[][] inputs = inputs(c.type, c.op, c.seed, c.ranks, c.count());
    long[][] results = new long[c.ranks][];
    RankThreads.run(
        worlds, world -> results[world.rank()] = reduce(world, c, inputs[world.rank()]));
    Numbers.assertReduced(c.type, c.op, inputs, results[0]);
    assertSameOnAllRanks(results);
  }

  private long[] reduce(Communicator world, Case c, long[] input) {
    Shelf shelf = shelves.computeIfAbsent(world, Shelf::new);
    shelf.prepare(c.type, 2 * SHELF_COUNT);
    Cells source = new Cells(c.type, c.memory(world.rank()), input.length, shelf);
    source.fill(input);
    Cells target = source;
    switch (c.style) {
      case IN_PLACE -> source.allReduce(world, c.op);
      case ASYNC -> world.allReduceAsync(source.payload(), c.op).await();
      case OUT_OF_PLACE -> {
        target = new Cells(c.type, c.memory(world.rank() + 1), input.length, shelf);
        world.allReduce(source.payload(), target.payload(), c.op);
        assertArrayEquals(input, source.bits(), "the input was written");
      }
    }
    source.assertGuards();
    target.assertGuards();
    return target.bits();
  }

  @ParameterizedTest
  @MethodSource("ranksOfBits")
  void bitsDependOnInputsAlgorithmAndRanksOnly(int ranks) throws Exception {
    Map<ElementType, long[]> expected = new EnumMap<>(ElementType.class);
    for (int frameLength : new int[] {64, 200, 128 * 1024}) {
      for (int slabsInFlight : SLABS_IN_FLIGHT) {
        List<Communicator> worlds = open(ranks, frameLength, slabsInFlight);
        for (ElementType type : ranks == 3 ? FLOATING : List.of(ElementType.FLOAT32)) {
          long[][] inputs = inputs(type, ReduceOp.SUM, SEED, ranks, PRIME);
          for (int run = 0; run < 2; run++) {
            for (Style style : Style.values()) {
              Case c =
                  new Case(
                      ranks,
                      frameLength,
                      slabsInFlight,
                      Size.PRIME,
                      type,
                      ReduceOp.SUM,
                      style,
                      run == 0 ? Memory.ARRAY : Memory.COMMUNICATOR,
                      run == 0,
                      SEED);
              long[][] results = new long[ranks][];
              RankThreads.run(
                  worlds, world -> results[world.rank()] = reduce(world, c, inputs[world.rank()]));
              assertSameOnAllRanks(results);
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
        }
        worlds.forEach(Communicator::close);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 6})
  void theAverageIsTheSumDividedOnce(int ranks) throws Exception {
    List<Communicator> worlds = open(ranks, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          long[] bits =
              Numbers.inputs(ElementType.FLOAT32, ReduceOp.SUM, SEED, world.rank(), PRIME);
          Cells sum = new Cells(ElementType.FLOAT32, Memory.ARRAY, PRIME);
          sum.fill(bits);
          sum.allReduce(world, ReduceOp.SUM);
          Cells average = new Cells(ElementType.FLOAT32, Memory.ARRAY, PRIME);
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

  @ParameterizedTest
  @EnumSource(
      value = ElementType.class,
      names = {"FLOAT32", "FLOAT64", "BFLOAT16", "FLOAT16"})
  void nanInfinitiesAndZerosFollowTheirRules(ElementType type) throws Exception {
    double[] specials = {
      Double.NaN,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY,
      0.0,
      -0.0,
      1.0,
      -2.5,
      switch (type) {
        case FLOAT32 -> 0x1p-140;
        case BFLOAT16 -> 0x1p-130;
        case FLOAT16 -> 0x1p-20;
        default -> 0x1p-1060;
      }
    };
    int ranks = 4;
    int count = specials.length * specials.length;
    List<Communicator> worlds = open(ranks, 64, 1);
    for (ReduceOp.Standard op : ReduceOp.Standard.values()) {
      double[] expected = new double[count];
      long[][] inputs = new long[ranks][count];
      for (int i = 0; i < count; i++) {
        // Ranks 1 and 2 hold the specials; ranks 0 and 3 something that changes nothing.
        double a = specials[i / specials.length];
        double b = specials[i % specials.length];
        double neutral =
            switch (op) {
              case SUM, AVERAGE -> -0.0;
              case PRODUCT -> 1.0;
              case MIN -> Double.POSITIVE_INFINITY;
              case MAX -> Double.NEGATIVE_INFINITY;
            };
        double[] values = {neutral, a, b, neutral};
        expected[i] =
            switch (op) {
              case SUM -> a + b;
              case AVERAGE -> (a + b) / ranks;
              case PRODUCT -> a * b;
              case MIN -> Math.min(a, b);
              case MAX -> Math.max(a, b);
            };
        for (int rank = 0; rank < ranks; rank++) {
          inputs[rank][i] = Numbers.bits(type, values[rank]);
        }
      }
      long[][] results = new long[ranks][];
      RankThreads.run(
          worlds,
          world -> {
            Cells cells = new Cells(type, Memory.ARRAY, count);
            cells.fill(inputs[world.rank()]);
            cells.allReduce(world, op);
            results[world.rank()] = cells.bits();
          });
      assertSameOnAllRanks(results);
      for (int i = 0; i < count; i++) {
        double result = Numbers.value(type, results[0][i]);
        double wanted = Numbers.value(type, Numbers.bits(type, expected[i]));
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
   * How far a number is from what it is rounded to, at most.
   *
   * @param greatest of the magnitudes of all numbers
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
    for (int ranks : Kit.ranks(3, 2, 3).toArray()) {
      List<Communicator> worlds = open(ranks, CallSettings.AS_SUITS_THE_TRANSPORT, 2);
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
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AS_IN_MEMORY")
  void narrowWiresAgreeAndAreNear(WireType wire) throws Exception {
    for (int ranks : Kit.ranks(5, 2, 5).toArray()) {
      for (ReduceOp.Standard op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.MAX)) {
        long[][] inputs = inputs(ElementType.FLOAT32, op, SEED, ranks, 2 * PRIME);
        long @Nullable [] expected = null;
        for (int frameLength : new int[] {64, 128 * 1024}) {
          int slabsInFlight = frameLength == 64 ? 3 : 1;
          // Frames decide which elements are rounded together.
          expected = wire == WireType.INT8 && op != ReduceOp.MAX ? null : expected;
          List<Communicator> worlds = open(ranks, frameLength, slabsInFlight);
          for (Style style : Style.values()) {
            Case c =
                new Case(
                    ranks,
                    frameLength,
                    slabsInFlight,
                    Size.PRIME,
                    ElementType.FLOAT32,
                    op,
                    style,
                    Memory.PARTS,
                    true,
                    SEED);
            long[][] results = new long[ranks][];
            RankThreads.run(
                worlds,
                world ->
                    results[world.rank()] = reduce(world.using(wire), c, inputs[world.rank()]));
            assertSameOnAllRanks(results);
            expected = expected == null ? results[0] : expected;
            assertSameBits(
                ElementType.FLOAT32, expected, results[0], wire + " gives other bits in " + c);
            assertNear(wire, op, inputs, results[0]);
          }
          worlds.forEach(Communicator::close);
        }
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
        sum += Math.abs(Numbers.value(ElementType.FLOAT32, input[i]));
      }
      greatest = Math.max(greatest, sum);
    }
    boolean crosses = ranks > 1 && (wire != WireType.INT8 || op != ReduceOp.MAX);
    for (int i = 0; i < results.length; i++) {
      double exact = op == ReduceOp.MAX ? Double.NEGATIVE_INFINITY : 0;
      double magnitude = 0;
      for (long[] input : inputs) {
        double value = Numbers.value(ElementType.FLOAT32, input[i]);
        exact = op == ReduceOp.MAX ? Math.max(exact, value) : exact + value;
        magnitude += Math.abs(value);
      }
      double divisor = op == ReduceOp.AVERAGE ? ranks : 1;
      double result = Numbers.value(ElementType.FLOAT32, results[i]);
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
   * What is lost in one call is made up for in the next ones: the sum of the results of many calls
   * is off by what the residuals hold, and no more. Without them it is off by more and more.
   */
  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AS_IN_MEMORY")
  void residualsMakeUpForWhatIsLost(WireType wire) throws Exception {
    int calls = 40;
    for (int ranks : new int[] {5}) {
      long[][] inputs = inputs(ElementType.FLOAT32, ReduceOp.SUM, SEED, ranks, PRIME);
      List<Communicator> worlds = open(ranks, 256, 2);
      for (ReduceOp.Standard op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE)) {
        double[][] plain = new double[ranks][PRIME];
        double[][] fed = new double[ranks][PRIME];
        float[][] residuals = new float[ranks][2 * PRIME];
        long[][] last = new long[ranks][];
        boolean sumsOften = sumsOften(algorithm(ranks));
        RankThreads.run(
            worlds,
            world -> {
              int rank = world.rank();
              Communicator narrow = world.using(wire);
              Cells source = new Cells(ElementType.FLOAT32, Memory.PARTS, PRIME);
              Cells target = new Cells(ElementType.FLOAT32, Memory.DIRECT, PRIME);
              source.fill(inputs[rank]);
              // Its odd elements are somebody else's.
              Payload residual = Payload.strided(Payload.of(residuals[rank]), 0, PRIME, 1, 2);
              if (sumsOften) {
                String message =
                    assertThrows(
                            IllegalArgumentException.class,
                            () ->
                                narrow.allReduce(source.payload(), target.payload(), op, residual))
                        .getMessage();
                assertTrue(message.contains(algorithm(5).name()), message);
                return;
              }
              for (int call = 0; call < calls; call++) {
                narrow.allReduce(source.payload(), target.payload(), op);
                add(plain[rank], target.bits());
                if (call % 2 == 0) {
                  narrow.allReduce(source.payload(), target.payload(), op, residual);
                } else {
                  narrow.allReduceAsync(source.payload(), target.payload(), op, residual).await();
                }
                last[rank] = target.bits();
                add(fed[rank], last[rank]);
              }
              assertArrayEquals(inputs[rank], source.bits(), "the input was written");
            });
        if (sumsOften) {
          continue;
        }
        assertSameOnAllRanks(last);
        double worstPlain = 0;
        double worstFed = 0;
        for (int i = 0; i < PRIME; i++) {
          double exact = 0;
          double magnitude = 0;
          double kept = 0;
          for (int rank = 0; rank < ranks; rank++) {
            double value = Numbers.value(ElementType.FLOAT32, inputs[rank][i]);
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
      worlds.forEach(Communicator::close);
    }
  }

  /** Whether several ranks take the same sum, so that they keep no residuals. */
  private static boolean sumsOften(Algorithm algorithm) {
    return algorithm.equals(Algorithm.exchange())
        || algorithm.equals(Algorithm.recursiveDoubling());
  }

  private static void add(double[] sums, long[] bits) {
    for (int i = 0; i < sums.length; i++) {
      sums[i] += Numbers.value(ElementType.FLOAT32, bits[i]);
    }
  }

  /** A frame that a link refuses must not take from the residual twice. */
  @Test
  void residualsAreTheSameWhereLinksAreFull() throws Exception {
    int calls = 3;
    int count = 5 * PRIME;
    long[][] inputs = inputs(ElementType.FLOAT32, ReduceOp.SUM, SEED, 2, count);
    float[][][] residuals = new float[2][2 * calls][count];
    if (sumsOften(algorithm(2))) {
      return;
    }
    for (int run = 0; run < 2; run++) {
      float[][] kept = residuals[run];
      boolean full = run == 1;
      CountDownLatch ahead = new CountDownLatch(1);
      RankThreads.run(
          open(2, 64, full ? 64 : 1),
          world -> {
            int rank = world.rank();
            if (full && rank == 1) {
              assertTrue(ahead.await(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            }
            List<CollectiveHandle> handles = new ArrayList<>();
            for (int call = 0; call < calls; call++) {
              Cells cells = new Cells(ElementType.FLOAT32, Memory.ARRAY, count);
              cells.fill(inputs[rank]);
              Payload residual = Payload.of(kept[2 * call + rank]);
              handles.add(
                  world
                      .using(WireType.BFLOAT16)
                      .allReduceAsync(cells.payload(), cells.payload(), ReduceOp.SUM, residual));
            }
            ahead.countDown();
            handles.forEach(CollectiveHandle::await);
          });
    }
    for (int i = 0; i < 2 * calls; i++) {
      assertArrayEquals(residuals[0][i], residuals[1][i], "of call and rank " + i);
    }
  }

  @Test
  void residualsThatDoNotFitAreRefused() throws Exception {
    Communicator world = open(2, 64, 1).get(0).using(Algorithm.direct());
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

  @ParameterizedTest
  @EnumSource(names = {"BFLOAT16", "FLOAT16"})
  void narrowWiresKeepNanAndInfinities(WireType wire) throws Exception {
    int ranks = 3;
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
    List<Communicator> worlds = open(ranks, 64, 1);
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
    int ranks = 3;
    List<Communicator> worlds = open(ranks, 256, 2);
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
    List<Communicator> worlds =
        opened(open(3, CallSettings.defaults().withAlgorithm(algorithm(3))));
    RankThreads.run(
        worlds,
        world -> {
          float[] buffer = new float[count];
          for (int i = 0; i < count; i++) {
            buffer[i] = world.rank() + i % 1000;
          }
          world.allReduce(buffer, ReduceOp.SUM);
          for (int i = 0; i < count; i++) {
            assertEquals(3 + 3 * (i % 1000), buffer[i]);
          }
        });
  }

  @Test
  void anyThreadMayCall() throws Exception {
    List<Communicator> worlds = open(3, 64, 1);
    for (int call = 0; call < 5; call++) {
      // Each run has new threads.
      RankThreads.run(worlds, world -> assertSum(world, PRIME));
    }
  }

  // ------------------------------------------------------------ asynchronous

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void severalCallsMayBeUnderWay(int ranks) throws Exception {
    List<Communicator> worlds = open(ranks, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          int calls = 6;
          List<int[]> buffers = new ArrayList<>();
          List<CollectiveHandle> handles = new ArrayList<>();
          AtomicInteger dependents = new AtomicInteger();
          for (int i = 0; i < calls; i++) {
            buffers.add(filled(world.rank() + i, PRIME + i));
            CollectiveHandle handle =
                world.allReduceAsync(Payload.of(buffers.get(i)), ReduceOp.SUM);
            handle.thenRun(dependents::incrementAndGet);
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
          // The dependents of a handle may still be about to run when await returns.
          handles.forEach(handle -> handle.toCompletableFuture().join());
          CollectiveHandle last = handles.get(calls - 1);
          assertTrue(last.await(Duration.ofSeconds(1)), "a handle that is done is done at once");
          Awaitility.await().until(() -> dependents.get() == calls);
        });
  }

  @Test
  void callsEndInTheOrderInWhichTheyWereMade() throws Exception {
    List<Communicator> worlds = open(3, 64, 1);
    CountDownLatch firstAwaited = new CountDownLatch(2);
    RankThreads.run(
        worlds,
        world -> {
          int[] a = filled(1, PRIME);
          int[] b = filled(2, 1);
          if (world.rank() == 2) {
            assertTrue(firstAwaited.await(20, TimeUnit.SECONDS));
          }
          CollectiveHandle first = world.allReduceAsync(Payload.of(a), ReduceOp.SUM);
          CollectiveHandle second = world.allReduceAsync(Payload.of(b), ReduceOp.SUM);
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
    List<Communicator> worlds = open(3, 64, 1);
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
          CollectiveHandle handle = world.allReduceAsync(Payload.of(buffer), ReduceOp.SUM);
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
    List<Communicator> worlds = open(2, 64, 1);
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
          CollectiveHandle handle = world.allReduceAsync(Payload.of(buffer), ReduceOp.SUM);
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
    List<Communicator> worlds = open(4, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          int[] buffer = filled(world.rank(), PRIME);
          int sum =
              world
                  .allReduceAsync(Payload.of(buffer), ReduceOp.SUM)
                  .thenApply(nothing -> Arrays.stream(buffer).sum())
                  .toCompletableFuture()
                  .get(20, TimeUnit.SECONDS);
          assertEquals(6 * PRIME, sum);
        });
  }

  @Test
  void synchronousAndAsynchronousCallsMix() throws Exception {
    List<Communicator> worlds = open(4, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          for (int i = 0; i < 10; i++) {
            int[] a = filled(1, PRIME);
            int[] b = filled(2, 17);
            int[] c = filled(3, 5);
            CollectiveHandle first = world.allReduceAsync(Payload.of(a), ReduceOp.SUM);
            world.allReduce(b, ReduceOp.SUM);
            CollectiveHandle barrier = world.barrierAsync();
            CollectiveHandle third = world.allReduceAsync(Payload.of(c), ReduceOp.PRODUCT);
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
  @ValueSource(ints = {1, 2, 3, 7})
  void nobodyLeavesABarrierBeforeAllHaveEntered(int ranks) throws Exception {
    List<Communicator> worlds = open(ranks, 64, 1);
    AtomicInteger entered = new AtomicInteger();
    RankThreads.run(
        worlds,
        world -> {
          for (int round = 1; round <= 50; round++) {
            entered.incrementAndGet();
            if (round % 2 == 0) {
              world.barrier();
            } else {
              world.barrierAsync().await();
            }
            int seen = entered.get();
            assertTrue(seen >= round * ranks, () -> seen + " entries of " + ranks + " ranks");
          }
        });
  }

  // -------------------------------------------------------------- sub-groups

  @ParameterizedTest
  @ValueSource(ints = {1, 4, 7})
  void splitByColourInTheOrderOfKeys(int ranks) throws Exception {
    List<Communicator> worlds = open(ranks, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          int colour = world.rank() % 2;
          try (Communicator part = world.split(colour - 7, -world.rank())) {
            List<Integer> members =
                IntStream.range(0, ranks)
                    .filter(r -> r % 2 == colour)
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
    List<Communicator> worlds = open(5, 64, 3);
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
    List<Communicator> worlds = open(6, 64, 3);
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
    List<Communicator> worlds = open(4, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          Communicator all = world.group(3, 2, 1, 0).using(algorithm(4));
          for (int i = 0; i < 10; i++) {
            int[] a = filled(1, PRIME);
            int[] b = filled(10, PRIME);
            int[] c = filled(100, PRIME);
            CollectiveHandle onWorld = world.allReduceAsync(Payload.of(a), ReduceOp.SUM);
            CollectiveHandle onGroup = all.allReduceAsync(Payload.of(b), ReduceOp.SUM);
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

  @Test
  void aPayloadOfSeveralTypesIsOneCall() throws Exception {
    int[] ranks = {0, 1, 2};
    RankThreads.run(
        open(ranks.length, 256, 2),
        world -> {
          int rank = world.rank();
          boolean sumsOften = sumsOften(algorithm(ranks.length));
          Tensors input = new Tensors(rank);
          Tensors output = new Tensors(7 + rank);
          int calls = 0;
          for (Communicator caller : List.of(world, world.using(WireType.BFLOAT16))) {
            input.fill(rank);
            caller.allReduce(input.payload(), output.payload(), ReduceOp.SUM);
            output.assertSum(ranks);
            input.assertSum(rank);
            output.fill(rank);
            caller.allReduceAsync(output.payload(), ReduceOp.SUM).await();
            output.assertSum(ranks);
            caller.allReduceAsync(input.payload(), output.payload(), ReduceOp.SUM).await();
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

  static Stream<Object[]> mismatches() {
    return Arrays.stream(Mismatch.values())
        .flatMap(
            what ->
                Stream.of(
                    new Object[] {what, 2, 1},
                    new Object[] {what, 3, 0},
                    new Object[] {what, 5, 2}));
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
    List<Communicator> worlds = open(ranks, 64, 3);
    Cells[] sources = new Cells[ranks];
    Cells[] targets = new Cells[ranks];
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
          Cells source = new Cells(type, Memory.ARRAY, count);
          Cells target = new Cells(type, Memory.ARRAY, count);
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
    List<Communicator> worlds = open(5, 64, 1);
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
    List<Communicator> worlds = open(3, 64, 3);
    RankThreads.run(
        worlds,
        world -> {
          int[] buffer = new int[world.rank() == 1 ? OTHER_PRIME : PRIME];
          CollectiveHandle handle = world.allReduceAsync(Payload.of(buffer), ReduceOp.SUM);
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
    List<Communicator> worlds = open(ranks, 64, 3);
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
              namedRanks(e.getMessage()).contains(silent),
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
    return Stream.of(
        new Object[] {2, 0},
        new Object[] {2, 1},
        new Object[] {3, 1},
        new Object[] {5, 0},
        new Object[] {5, 3});
  }

  @Test
  void aBarrierHasADeadlineToo() throws Exception {
    List<Communicator> worlds = open(3, 64, 1);
    // Connections are warm, as TLS takes its time, too, beside other tests.
    RankThreads.run(worlds, world -> assertSum(world, PRIME));
    RankThreads.run(
        worlds,
        world -> {
          if (world.rank() != 2) {
            CallTimeoutException e =
                assertThrows(
                    CallTimeoutException.class,
                    () -> world.within(DEADLINE).barrierAsync().await());
            assertTrue(namedRanks(e.getMessage()).contains(2), e::getMessage);
          }
        });
  }

  @ParameterizedTest(name = "{0} ranks, rank {1} closes")
  @MethodSource("ranksAndOne")
  void aRankThatClosesIsNamedOnAllOthers(int ranks, int leaving) throws Exception {
    List<Communicator> worlds = open(ranks, 64, 3);
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
          CollectiveHandle handle = world.allReduceAsync(Payload.of(new int[PRIME]), ReduceOp.SUM);
          started.countDown();
          RankFailedException e = assertThrows(RankFailedException.class, handle::await);
          assertEquals(leaving, e.worldRank(), e::getMessage);
          assertTrue(namedRanks(e.getMessage()).contains(leaving), e::getMessage);
          assertEquals(
              leaving,
              assertThrows(RankFailedException.class, () -> assertSum(world, 1)).worldRank());
        });
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void closingEndsTheOwnCall(boolean asynchronous) throws Exception {
    List<Communicator> worlds = open(2, 64, 1);
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
                world.allReduceAsync(Payload.of(new int[PRIME]), ReduceOp.SUM);
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
    List<Communicator> worlds = open(2, 64, 1);
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
      assertThrows(CommunicatorClosedException.class, () -> closed.barrierAsync().await());
      assertThrows(
          CommunicatorClosedException.class,
          () -> closed.allReduceAsync(new float[3], ReduceOp.SUM).await());
    }
    assertThrows(CommunicatorClosedException.class, () -> worlds.get(0).split(0, 0));
  }

  @Test
  void closingAViewClosesNothingAndClosingAGroupLeavesTheWorld() throws Exception {
    List<Communicator> worlds = open(2, 64, 1);
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
    List<Communicator> worlds = open(3, 64, 1);
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
        new Wrong("a null range", nothing, w -> w.allReduce((long[]) null, 0, 0, ReduceOp.SUM)),
        new Wrong("a null payload", nothing, w -> w.allReduce((Payload) null, ReduceOp.SUM)),
        new Wrong(
            "a null output", nothing, w -> w.allReduce(Payload.of(new int[1]), null, ReduceOp.SUM)),
        new Wrong(
            "a null asynchronous payload",
            nothing,
            w -> w.allReduceAsync((Payload) null, ReduceOp.SUM)),
        new Wrong("no op", nothing, w -> w.allReduce(new float[1], null)),
        new Wrong("no op for nothing", nothing, w -> w.allReduce(new float[0], null)),
        new Wrong("no op for a payload", nothing, w -> w.allReduce(Payload.of(new float[1]), null)),
        new Wrong("no asynchronous op", nothing, w -> w.allReduceAsync(new float[1], null)),
        new Wrong("a negative offset", bounds, w -> w.allReduce(new float[4], -1, 2, ReduceOp.SUM)),
        new Wrong("a negative count", bounds, w -> w.allReduce(new double[4], 0, -1, ReduceOp.SUM)),
        new Wrong("a range too long", bounds, w -> w.allReduce(new int[4], 2, 3, ReduceOp.SUM)),
        new Wrong(
            "a range beyond 2^31",
            bounds,
            w -> w.allReduce(new long[4], Integer.MAX_VALUE, Integer.MAX_VALUE, ReduceOp.SUM)),
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
            w -> w.allReduceAsync(Payload.of(new int[4]), Payload.of(new int[3]), ReduceOp.SUM)),
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

  // ------------------------------------------------------------------ shared

  private List<Communicator> open(int ranks, int frameLength, int slabsInFlight) throws Exception {
    return opened(
        open(
            ranks,
            CallSettings.defaults()
                .withAlgorithm(algorithm(ranks))
                .withTimeout(PATIENCE)
                .withFrameLength(frameLength)
                .withSlabsInFlight(slabsInFlight)));
  }

  private List<Communicator> opened(List<Communicator> worlds) {
    opened.addAll(worlds);
    for (int rank = 0; rank < worlds.size(); rank++) {
      assertEquals(rank, worlds.get(rank).rank());
      assertEquals(rank, worlds.get(rank).worldRank(rank));
      assertEquals(worlds.size(), worlds.get(rank).size());
    }
    return worlds;
  }

  private static void assertSum(Communicator group, int count) {
    int[] buffer = filled(group.rank() + 1, count);
    group.allReduce(buffer, ReduceOp.SUM);
    assertArrayEquals(filled(group.size() * (group.size() + 1) / 2, count), buffer);
  }

  private static int[] filled(int value, int count) {
    int[] array = new int[count];
    Arrays.fill(array, value);
    return array;
  }

  private static long[][] inputs(
      ElementType type, ReduceOp.Standard op, long seed, int ranks, int count) {
    long[][] inputs = new long[ranks][];
    for (int rank = 0; rank < ranks; rank++) {
      inputs[rank] = Numbers.inputs(type, op, seed, rank, count);
    }
    return inputs;
  }

  private static void assertSameOnAllRanks(long[][] results) {
    for (int rank = 1; rank < results.length; rank++) {
      assertArrayEquals(results[0], results[rank], "rank " + rank + " has other bits than rank 0");
    }
  }

  private static void assertSameBits(
      ElementType type, long[] expected, long[] actual, String what) {
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

  private static Set<Integer> namedRanks(String message) {
    Set<Integer> ranks = new TreeSet<>();
    Matcher matcher = RANK.matcher(message);
    while (matcher.find()) {
      ranks.add(Integer.valueOf(matcher.group(1)));
    }
    return ranks;
  }
}
