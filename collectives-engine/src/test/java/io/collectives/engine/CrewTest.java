package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.engine.inprocess.InProcessFabric;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.run.Call;
import io.collectives.engine.run.CallOptions;
import io.collectives.engine.run.Engine;
import io.collectives.engine.run.Group;
import io.collectives.engine.run.Program;
import io.collectives.spi.Algorithms;
import io.collectives.spi.Transport;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two ranks, the thread of one of which gets no processor once it has given it away. */
@Timeout(60)
class CrewTest {
  private final CountDownLatch hasGivenWay = new CountDownLatch(1);
  private final CountDownLatch turn = new CountDownLatch(1);
  private final Crew crew =
      new Crew(2) {
        @Override
        int help(int rank) {
          if (rank == 1) {
            return super.help(rank);
          }
          hasGivenWay.countDown();
          try {
            assertTrue(turn.await(30, TimeUnit.SECONDS));
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
          return 0;
        }
      };
  private final InProcessFabric fabric = new InProcessFabric(2);
  private final Group[] groups = {Group.world(2, 0), Group.world(2, 1)};
  private final Driver[] drivers = {driver(0), driver(1)};

  @AfterEach
  void close() {
    for (Driver driver : drivers) {
      driver.close();
    }
  }

  private Driver driver(int rank) {
    Transport transport = fabric.transport(rank);
    Engine engine =
        new Engine(
            transport,
            System::nanoTime,
            1 << 20,
            Duration.ofSeconds(30).toNanos(),
            warning -> {
              throw new AssertionError(warning);
            });
    engine.add(groups[rank]);
    return new Driver(engine, transport, true, crew, null);
  }

  private Call start(int rank, int[] values) {
    Algorithm algorithm = Algorithm.ring();
    Program program =
        Program.compile(
            algorithm, Algorithms.onClassPath().plan(algorithm, Collective.ALL_REDUCE, 2), rank);
    Memory memory = Memory.of(Payload.of(values));
    Engine engine = drivers[rank].engine();
    drivers[rank].lock();
    try {
      long timeoutNanos = Duration.ofSeconds(30).toNanos();
      CallOptions options =
          new CallOptions(WireType.AS_IN_MEMORY, Repeatability.FASTEST, false, 2, timeoutNanos);
      Call call = engine.call(groups[rank], program, 2, false);
      call.describe(options, memory, memory, ReduceOp.SUM, null, 64);
      engine.start(call, timeoutNanos, null);
      return call;
    } finally {
      drivers[rank].unlock();
    }
  }

  /** Rank 1 waits for rank 0 and gets no turn. */
  private FutureTask<Call> await(int[] values) throws InterruptedException {
    Call call = start(1, values);
    FutureTask<Call> waiter =
        new FutureTask<>(
            () -> {
              drivers[1].await(call);
              return call;
            });
    new Thread(waiter, "rank 1").start();
    assertTrue(hasGivenWay.await(30, TimeUnit.SECONDS));
    return waiter;
  }

  @Test
  void whoWaitsForARankDoesItsPart() throws Exception {
    // In so many frames that the background thread, which looks in now and then, cannot be all
    // help.
    int[][] values = new int[2][5_000];
    Arrays.setAll(values[0], i -> i);
    Arrays.setAll(values[1], i -> 10 * i);
    int helped = 0;
    FutureTask<Call> waiter = await(values[1]);
    Call call = start(0, values[0]);
    while (!call.isDone()) {
      drivers[0].lock();
      try {
        drivers[0].engine().poll();
      } finally {
        drivers[0].unlock();
      }
      helped += crew.help(1);
    }
    assertTrue(helped > 100, helped + " frames");
    assertFalse(waiter.isDone(), "it has had no turn");
    assertArrayEquals(IntStream.range(0, 5_000).map(i -> 11 * i).toArray(), values[0]);
    assertArrayEquals(values[0], values[1]);
    turn.countDown();
    assertNull(waiter.get(30, TimeUnit.SECONDS).error());
    assertEquals(0, crew.help(1), "nobody waits");
  }

  @Test
  void whoIsClosedIsNotHelped() throws Exception {
    FutureTask<Call> waiter = await(new int[3]);
    drivers[1].close();
    assertEquals(0, crew.help(1));
    turn.countDown();
    assertTrue(waiter.get(30, TimeUnit.SECONDS).isDone());
  }
}
