package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.Statistics;
import io.collectives.UserOp;
import io.collectives.WireType;
import io.collectives.plan.Chunks;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.Transport;
import io.collectives.spi.ViewSink;
import io.collectives.testkit.ForwardingTransport;
import io.collectives.testkit.RankThreads;
import io.collectives.testkit.WrappedJobs;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** All-reduces without frames that are too long for slots, between ranks that share memory. */
@Timeout(60)
class ExchangeBuffersTest {
  private static final int RANKS = 3;
  private static final int LENGTH = 5_000;

  @TempDir Path directory;

  /** Each rank leaves as soon as its only call has ended; none has to wait for another. */
  @ParameterizedTest
  @ValueSource(strings = {"exchange", "direct"})
  void whoHasItsSumMayLeaveWhileOthersStillRead(String algorithm) throws Exception {
    for (int job = 0; job < 20; job++) {
      RankThreads.run(
          open(algorithm, inner -> inner),
          world -> {
            int[] array = new int[LENGTH];
            Arrays.setAll(array, i -> i << world.rank());
            world.allReduce(array, ReduceOp.SUM);
            world.close();
            int[] expected = new int[LENGTH];
            Arrays.setAll(expected, i -> i * ((1 << RANKS) - 1));
            assertArrayEquals(expected, array);
          });
    }
  }

  /** Calls that differ in their number of turns use the same slots. */
  @Test
  void callsOfAllKindsFollowEachOther() throws Exception {
    List<Communicator> worlds = open("auto", inner -> inner);
    RankThreads.run(
        worlds,
        world -> {
          Random random = new Random(7);
          List<Communicator> kinds =
              List.of(
                  world,
                  world.using(Algorithm.exchange()),
                  world.using(Algorithm.direct()),
                  world.using(Algorithm.ring()));
          for (int call = 0; call < 200; call++) {
            int length = random.nextInt(1 << random.nextInt(17));
            int salt = call;
            int[] array = new int[length];
            Arrays.setAll(array, i -> i + salt << world.rank());
            Communicator kind = kinds.get(random.nextInt(kinds.size()));
            int[] expected = new int[length];
            Arrays.setAll(expected, i -> (i + salt) * ((1 << RANKS) - 1));
            if (random.nextInt(3) > 0) {
              kind.allReduce(array, ReduceOp.SUM);
            } else {
              reduceInParts(kind, array, random.nextBoolean() ? counts(length, random) : null);
            }
            assertArrayEquals(expected, array, "call " + call);
          }
        });
    worlds.forEach(Communicator::close);
  }

  private static long[] counts(int length, Random random) {
    int first = random.nextInt(length + 1);
    int second = random.nextInt(length + 1 - first);
    return new long[] {first, second, length - first - second};
  }

  private static void reduceInParts(Communicator world, int[] array, long @Nullable [] counts) {
    long count =
        counts == null ? Chunks.count(array.length, world.rank(), RANKS) : counts[world.rank()];
    Payload part = Payload.of(new int[(int) count]);
    Payload all = Payload.of(array);
    if (counts == null) {
      world.reduceScatter(all, part, ReduceOp.SUM);
      world.allGather(part, all);
    } else {
      world.reduceScatter(all, part, counts, ReduceOp.SUM);
      world.allGather(part, all, counts);
    }
  }

  /** A result that is one of the contributions, and another one that is not. */
  @ParameterizedTest
  @ValueSource(strings = {"exchange", "direct"})
  void reducesInTheOrderOfRanks(String algorithm) throws Exception {
    UserOp op = UserOp.inRankOrder("digits").withInts((a, b) -> 31 * a + b);
    List<Communicator> worlds = open(algorithm, inner -> inner);
    RankThreads.run(
        worlds,
        world -> {
          for (int turn = 0; turn < 5; turn++) {
            int salt = turn;
            int[] own = new int[LENGTH];
            Arrays.setAll(own, i -> i + world.rank() + salt);
            int[] result = turn % 2 == 0 ? own : new int[LENGTH];
            world.allReduce(Payload.of(own), Payload.of(result), op);
            int[] expected = new int[LENGTH];
            Arrays.setAll(expected, i -> (31 * (i + salt) + i + 1 + salt) * 31 + i + 2 + salt);
            assertArrayEquals(expected, result);
          }
        });
    worlds.forEach(Communicator::close);
  }

  /** Ranks reduce once what is dear to reduce; frames carry calls that say more. */
  @Test
  void autoTakesExchangesForWhatIsCheapToReduce() throws Exception {
    List<Communicator> worlds = open(6, CallSettings.defaults(), inner -> inner);
    RankThreads.run(
        worlds,
        world -> {
          Payload floats = Payload.of(new float[LENGTH]);
          assertEquals("exchange", algorithm(world, floats, ReduceOp.AVERAGE));
          assertEquals(
              "exchange", algorithm(world, Payload.of(new long[LENGTH / 2]), ReduceOp.MAX));
          UserOp op = UserOp.commutative("most").withInts(Math::max);
          assertEquals("direct", algorithm(world, Payload.of(new int[LENGTH]), op));
          Communicator exact = world.using(Repeatability.EXACT);
          assertEquals("direct", algorithm(exact, floats, ReduceOp.SUM));
          Payload shorts = Payload.of(new short[LENGTH], ElementType.BFLOAT16);
          assertEquals("direct", algorithm(world, shorts, ReduceOp.SUM));
          Payload few = Payload.of(new float[1_500]);
          assertEquals("exchange", algorithm(world, few, ReduceOp.SUM));
          Communicator narrow = world.using(WireType.BFLOAT16);
          assertEquals("recursive-doubling", algorithm(narrow, few, ReduceOp.SUM));
          Communicator checking = world.checkingFinite();
          assertEquals("recursive-doubling", algorithm(checking, few, ReduceOp.SUM));
        });
    worlds.forEach(Communicator::close);
  }

  private static String algorithm(Communicator world, Payload payload, ReduceOp op) {
    Statistics before = world.statistics();
    world.allReduce(payload, op);
    return world.statistics().rows().stream()
        .filter(row -> !before.rows().contains(row))
        .map(row -> row.kind().algorithm())
        .findFirst()
        .orElseThrow();
  }

  @ParameterizedTest
  @ValueSource(strings = {"exchange", "direct"})
  void whereThereIsNoMemoryForThemAllRanksSaySo(String algorithm) throws Exception {
    assertAllFail(
        algorithm,
        true,
        "aborted the job: no memory to share for all-reduce #0 ("
            + algorithm
            + "): too many files");
  }

  @ParameterizedTest
  @ValueSource(strings = {"exchange", "direct"})
  void whereTheyCannotBeMappedAllRanksSaySo(String algorithm) throws Exception {
    assertAllFail(
        algorithm,
        false,
        " shares for all-reduce #0 (" + algorithm + ") cannot be mapped: too many files");
  }

  /** Traces have no room for longer exchanges. */
  @Test
  void exchangesOfUpTo128KibGoByThemHoweverLongFramesAre() throws Exception {
    CallSettings calls =
        CallSettings.defaults().withAlgorithm(Algorithm.exchange()).withFrameLength(1 << 20);
    assertLongest(128 << 10, open(RANKS, calls, inner -> new Refusing(inner, true)));
  }

  /** Memory that users have allocated is read where it lies, unless the call is short. */
  @Test
  void besideAllocatedMemoryOnlyShortOnesGoByThem() throws Exception {
    List<Communicator> worlds = open("direct", inner -> new Refusing(inner, true));
    RankThreads.run(worlds, world -> world.allocate(ElementType.INT32, 1));
    assertLongest(RANKS * (8 << 10), worlds);
  }

  /** Transports have no memory for the buffers, so what does not need them is what goes well. */
  private static void assertLongest(int bytes, List<Communicator> worlds) throws Exception {
    CyclicBarrier allHaveSums = new CyclicBarrier(RANKS);
    RankThreads.run(
        worlds,
        world -> {
          int[] ones = new int[bytes / Integer.BYTES + 1];
          Arrays.fill(ones, 1);
          world.allReduce(ones, ReduceOp.SUM);
          assertEquals(RANKS, ones[0]);
          allHaveSums.await(); // Whoever aborts the next call aborts those under way, too.
          int[] fewer = new int[ones.length - 1];
          assertThrows(
              CollectiveException.class, () -> world.allReduce(fewer, ReduceOp.SUM), "no buffers");
        });
    worlds.forEach(Communicator::close);
  }

  private void assertAllFail(String algorithm, boolean atOnce, String words) throws Exception {
    List<Communicator> worlds =
        open(algorithm, inner -> inner.rank() == 1 ? new Refusing(inner, atOnce) : inner);
    RankThreads.run(
        worlds,
        world -> {
          CollectiveException error =
              assertThrows(
                  CollectiveException.class, () -> world.allReduce(new int[LENGTH], ReduceOp.SUM));
          String message = String.valueOf(error.getMessage());
          assertTrue(message.contains(words), message);
        });
    worlds.forEach(Communicator::close);
  }

  private List<Communicator> open(String algorithm, UnaryOperator<Transport> wrapping)
      throws Exception {
    return open(RANKS, CallSettings.defaults().withAlgorithm(Algorithm.parse(algorithm)), wrapping);
  }

  private List<Communicator> open(int ranks, CallSettings calls, UnaryOperator<Transport> wrapping)
      throws Exception {
    Path memory = Files.createDirectories(directory.resolve("memory"));
    return TcpJobs.join(
        ranks,
        Files.createTempDirectory(directory, "job").toUri(),
        calls,
        job -> job.withTransport("shm").withMemoryDirectory(memory),
        settings -> WrappedJobs.join(settings, wrapping));
  }

  /** A transport that makes no exchange buffers, or maps no regions. */
  private static final class Refusing extends ForwardingTransport implements MemoryLeases {
    private final MemoryLeases leases;
    private final boolean makesNone;

    Refusing(Transport inner, boolean makesNone) {
      super(inner);
      this.leases = Objects.requireNonNull(inner.capability(MemoryLeases.class));
      this.makesNone = makesNone;
    }

    @Override
    public <C> @Nullable C capability(Class<C> kind) {
      return kind == MemoryLeases.class ? kind.cast(this) : inner.capability(kind);
    }

    @Override
    public void viewBy(ViewSink sink) {
      leases.viewBy(sink);
    }

    @Override
    public Region createRegion(int length, int[] peers) throws IOException {
      if (makesNone && length == 2 * (256 << 10)) {
        throw new IOException("too many files");
      }
      Region made = leases.createRegion(length, peers);
      return new Region() {
        @Override
        public int number() {
          return made.number();
        }

        @Override
        public ByteBuffer bytes() {
          return made.bytes();
        }

        @Override
        public void map(int peer, int number) throws IOException {
          if (!makesNone) {
            throw new IOException("too many files");
          }
          made.map(peer, number);
        }

        @Override
        public FrameBytes hold(int peer) throws IOException {
          return made.hold(peer);
        }

        @Override
        public void share() {
          made.share();
        }

        @Override
        public void announce() {
          made.announce();
        }

        @Override
        public void close() {
          made.close();
        }
      };
    }
  }
}
