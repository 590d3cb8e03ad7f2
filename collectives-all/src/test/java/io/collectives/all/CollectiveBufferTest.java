package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveBuffer;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.CommunicatorClosedException;
import io.collectives.ElementType;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.testkit.RankThreads;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Buffers that a communicator allocates have rules that users are held to; sums are in the contract
 * tests.
 */
@Timeout(120)
class CollectiveBufferTest {
  private static final int RANKS = 3;
  private static final boolean IS_CHECKED_WHEN_CLOSED = Runtime.version().feature() >= 22;

  @TempDir Path directory;

  private final List<Communicator> worlds = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void closeAll() {
    worlds.forEach(Communicator::close);
    threads.shutdownNow();
  }

  private void open(String transport) throws Exception {
    CallSettings calls =
        CallSettings.defaults()
            .withAlgorithm(Algorithm.direct())
            .withFrameLength(1024)
            .withTimeout(Duration.ofSeconds(20));
    if (transport.equals("mixed")) {
      worlds.addAll(MixedJobs.join(RANKS, directory, calls));
      return;
    }
    worlds.addAll(
        transport.equals("inprocess")
            ? Collectives.inProcess(RANKS, calls)
            : TcpJobs.join(
                RANKS,
                Files.createTempDirectory(directory, "rendezvous").toUri(),
                calls,
                job -> job.withTransport(transport).withMemoryDirectory(memory(job.rank()))));
  }

  private Path memory(int rank) {
    Path memory = directory.resolve("memory" + rank);
    assertTrue(memory.toFile().isDirectory() || memory.toFile().mkdir());
    return memory;
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "tcp", "unix", "shm", "mixed"})
  void holdsWhatIsPutIntoItAndAnyRangeCanBePassed(String transport) throws Exception {
    open(transport);
    RankThreads.run(
        worlds,
        world -> {
          try (CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, 1000)) {
            assertEquals(1000, buffer.count());
            assertEquals(ElementType.FLOAT32, buffer.type());
            assertEquals(4000, buffer.bytes().capacity());
            assertTrue(buffer.bytes().isDirect());
            assertEquals(ByteOrder.LITTLE_ENDIAN, buffer.bytes().order());
            assertNotSame(buffer.bytes(), buffer.bytes());
            FloatBuffer floats = buffer.floats();
            for (int i = 0; i < 1000; i++) {
              assertEquals(0, floats.get(i));
              floats.put(i, world.rank() + i);
            }
            world.allReduce(buffer.payload(100, 800), ReduceOp.SUM);
            world.broadcast(buffer.payload(999, 1), 2);
            world.allReduce(buffer.payload(7, 0), ReduceOp.SUM);
            for (int i = 0; i < 999; i++) {
              float expected = i < 100 || i >= 900 ? world.rank() + i : 3 * i + 3;
              assertEquals(expected, floats.get(i), "element " + i);
            }
            assertEquals(2 + 999, floats.get(999));
            String why = assertThrows(IllegalStateException.class, buffer::longs).getMessage();
            assertTrue(why.contains("int64") && why.contains("float32"), why);
            assertThrows(IndexOutOfBoundsException.class, () -> buffer.payload(900, 101));
          }
          world.allocate(ElementType.INT64, 0).close();
        });
  }

  /** Every rank's payload is of another kind, and every result the same as of arrays. */
  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm"})
  void outOfPlaceTheInputIsNotWritten(String transport) throws Exception {
    open(transport);
    RankThreads.run(
        worlds,
        world -> {
          CollectiveBuffer input = world.allocate(ElementType.INT32, 5000);
          CollectiveBuffer output = world.allocate(ElementType.INT32, 5000);
          int[] array = new int[5000];
          for (int odd = -1; odd < RANKS; odd++) {
            for (int i = 0; i < 5000; i++) {
              input.ints().put(i, i + world.rank());
            }
            Payload out = world.rank() == odd ? Payload.of(array) : output.payload();
            world.allReduce(input.payload(), out, ReduceOp.SUM);
            IntBuffer result = world.rank() == odd ? IntBuffer.wrap(array) : output.ints();
            for (int i = 0; i < 5000; i++) {
              assertEquals(i + world.rank(), input.ints().get(i));
              assertEquals(3 * i + 3, result.get(i), "element " + i + ", odd " + odd);
            }
          }
        });
  }

  /** Whatever was measured of arrays; over sockets nothing is leased. */
  @ParameterizedTest
  @ValueSource(strings = {"tcp", "shm"})
  void autoReducesDirectlyWhereMemoryIsLeased(String transport) throws Exception {
    open(transport);
    RankThreads.run(
        worlds,
        world -> {
          Communicator auto = world.using(Algorithm.auto());
          Algorithm before = auto.explain(4096).chosen();
          assertNotEquals(Algorithm.direct(), before);
          CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, 1024);
          Algorithm expected = transport.equals("shm") ? Algorithm.direct() : before;
          assertEquals(expected, auto.explain(4096).chosen());
          auto.allReduce(buffer.payload(), ReduceOp.SUM);
          if (transport.equals("shm")) {
            auto.tune();
            assertEquals(expected, auto.explain(4096).chosen());
          }
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "tcp", "shm"})
  void whoWantsAnotherIsNamedOnAllRanksAndNothingIsBroken(String transport) throws Exception {
    open(transport);
    RankThreads.run(
        worlds,
        world -> {
          boolean isOdd = world.rank() == 1;
          String why =
              assertThrows(
                      MismatchException.class,
                      () -> world.allocate(ElementType.FLOAT32, isOdd ? 101 : 100))
                  .getMessage();
          assertTrue(why.contains("rank 1 101 float32") && why.contains("100 float32"), why);
          why =
              assertThrows(
                      MismatchException.class,
                      () -> world.allocate(isOdd ? ElementType.INT64 : ElementType.INT32, 100))
                  .getMessage();
          assertTrue(why.contains("rank 1 100 int64") && why.contains("100 int32"), why);
          why =
              assertThrows(
                      IllegalArgumentException.class, () -> world.allocate(ElementType.FLOAT64, -1))
                  .getMessage();
          assertTrue(why.contains("-1 float64"), why);
          assertThrows(
              IllegalArgumentException.class, () -> world.allocate(ElementType.FLOAT64, 1L << 28));
          world.barrier();
          world.allocate(ElementType.FLOAT64, 10).close();
        });
  }

  @Test
  void ifOneRankCannotHaveItNobodyDoesAndTheGroupGoesOn() throws Exception {
    open("shm");
    RankThreads.run(worlds, world -> world.allocate(ElementType.INT32, 10).close());
    // As rank 1 is linked with all others, its place is empty.
    Awaitility.await()
        .atMost(90, TimeUnit.SECONDS)
        .until(() -> memory(1).toFile().list().length == 0);
    Files.delete(memory(1));
    AtomicInteger own = new AtomicInteger();
    RankThreads.run(
        worlds,
        world -> {
          CollectiveException error =
              assertThrows(
                  CollectiveException.class, () -> world.allocate(ElementType.INT32, 1000));
          String why = "" + error.getMessage();
          assertTrue(why.contains("rank 1 cannot have a buffer of 1000 int32"), why);
          if (world.rank() == 1) {
            assertTrue(why.contains("memory1"), why);
            own.incrementAndGet();
          } else {
            assertNull(error.getCause());
          }
        });
    assertEquals(1, own.get());
    memory(1);
    RankThreads.run(
        worlds,
        world -> {
          CollectiveBuffer buffer = world.allocate(ElementType.INT32, 1000);
          buffer.ints().put(7, 1);
          world.allReduce(buffer.payload(), ReduceOp.SUM);
          assertEquals(RANKS, buffer.ints().get(7));
        });
    for (int rank = 0; rank < RANKS; rank++) {
      assertEquals(0, memory(rank).toFile().list().length);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "tcp", "shm"})
  void aClosedOneIsRefusedAndALateViewHarmless(String transport) throws Exception {
    open(transport);
    RankThreads.run(
        worlds,
        world -> {
          CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, 100_000);
          Payload payload = buffer.payload();
          FloatBuffer view = buffer.floats();
          world.allReduce(payload, ReduceOp.SUM);
          if (world.rank() == 0) {
            buffer.close(); // The others notice, and copy.
          }
          float[] array = new float[100_000];
          array[99_999] = 1;
          if (world.rank() != 0) {
            view.put(99_999, 1);
          }
          Payload still = world.rank() == 0 ? Payload.of(array) : payload;
          for (int i = 0; i < 20; i++) {
            world.allReduce(still, ReduceOp.MAX);
          }
          world.allReduce(still, ReduceOp.SUM);
          assertEquals(RANKS, world.rank() == 0 ? array[99_999] : view.get(99_999));
          buffer.close();
          buffer.close();
          for (Runnable use :
              List.<Runnable>of(
                  buffer::bytes,
                  buffer::floats,
                  () -> world.allReduce(payload, ReduceOp.SUM),
                  () -> world.broadcast(payload, 0))) {
            String why = assertThrows(IllegalStateException.class, use::run).getMessage();
            assertTrue(why.contains("closed"), why);
          }
          if (IS_CHECKED_WHEN_CLOSED && transport.equals("shm")) {
            assertThrows(IllegalStateException.class, () -> view.put(1, 1));
          } else {
            view.put(1, 1);
            assertEquals(1, view.get(1));
          }
          world.barrier();
        });
  }

  @Test
  void oneInUseIsNotClosed() throws Exception {
    open("shm");
    RankThreads.run(
        worlds,
        world -> {
          CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, 10_000);
          if (world.rank() == 0) {
            CollectiveHandle handle = world.async().allReduce(buffer.payload(), ReduceOp.SUM);
            String why = assertThrows(IllegalStateException.class, buffer::close).getMessage();
            assertTrue(why.contains("call under way"), why);
            world.send(Payload.of(new int[1]), 1);
            world.send(Payload.of(new int[1]), 2);
            handle.await();
          } else {
            world.receive(Payload.of(new int[1]), 0);
            world.allReduce(buffer.payload(), ReduceOp.SUM);
          }
          buffer.close();
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm"})
  void itEndsWithTheGroupThatHasAllocatedIt(String transport) throws Exception {
    open(transport);
    RankThreads.run(
        worlds,
        world -> {
          Communicator group = world.group(0, 1, 2);
          CollectiveBuffer ofGroup = group.allocate(ElementType.FLOAT32, 1000);
          CollectiveBuffer ofWorld = world.allocate(ElementType.FLOAT32, 1000);
          world.allReduce(ofGroup.payload(), ReduceOp.SUM);
          world.barrier();
          group.close();
          assertThrows(IllegalStateException.class, ofGroup::floats);
          world.allReduce(ofWorld.payload(), ReduceOp.SUM);
          world.barrier();
          world.close();
          assertThrows(IllegalStateException.class, ofWorld::floats);
          assertThrows(
              CommunicatorClosedException.class, () -> world.allocate(ElementType.INT32, 1));
        });
  }

  /**
   * A call fails while ranks write to each other's memory. Nobody writes to it when it is its
   * user's again, and the survivors can sum in it.
   */
  @Test
  void afterAFailureNobodyWritesAndTheSurvivorsGoOn() throws Exception {
    for (long seed = 0; seed < 12; seed++) {
      long number = seed;
      Random random = new Random(seed);
      int aborter = random.nextInt(RANKS);
      int sums = 1 + random.nextInt(20);
      int spins = random.nextInt(200_000);
      worlds.clear();
      open("shm");
      RankThreads.run(
          worlds,
          world -> {
            CollectiveBuffer buffer = world.allocate(ElementType.INT32, 50_000);
            IntBuffer ints = buffer.ints();
            assertThrows(
                AbortedException.class,
                () -> {
                  for (int call = 0; true; call++) {
                    if (call == sums && world.rank() == aborter) {
                      threads.submit(() -> abort(world, spins, "seed " + number));
                    }
                    world.allReduce(buffer.payload(), ReduceOp.SUM);
                  }
                });
            for (int i = 0; i < ints.capacity(); i++) {
              ints.put(i, 1000 * world.rank() + i);
            }
            Communicator left = world.shrink().group();
            for (int i = 0; i < ints.capacity(); i++) {
              assertEquals(1000 * world.rank() + i, ints.get(i), "seed " + number);
            }
            left.barrier();
            left.allReduce(buffer.payload(), ReduceOp.SUM);
            for (int i = 0; i < ints.capacity(); i++) {
              assertEquals(3000 + 3 * i, ints.get(i), "seed " + number);
            }
            left.barrier();
          });
      worlds.forEach(Communicator::close);
    }
  }

  private static void abort(Communicator world, int spins, String reason) {
    for (int i = 0; i < spins; i++) {
      Thread.onSpinWait();
    }
    world.abort(reason);
  }
}
