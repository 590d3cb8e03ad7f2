package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.CallSettings;
import io.collectives.CallTimeoutException;
import io.collectives.CollectiveException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.ps.Roles;
import io.collectives.ps.store.ParameterStore;
import io.collectives.ps.store.Staleness;
import io.collectives.testkit.RankThreads;
import io.collectives.training.optimizer.Optimizer;
import io.collectives.training.optimizer.Optimizers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers that keep parameters: bits, bounds of staleness, the end of a job, and failures. */
@Tag("once")
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ParameterStoreTest {
  private static final CallSettings CALLS =
      CallSettings.defaults().withFrameLength(256).withTimeout(Duration.ofSeconds(20));

  /** Weights become what was pushed, counted downwards. */
  private static final Optimizer COUNT = Optimizers.sgd(step -> 1);

  private final List<Communicator> opened = new ArrayList<>();

  @AfterEach
  void closeAll() {
    opened.forEach(Communicator::close);
  }

  private List<Communicator> ranks(int ranks, CallSettings calls) {
    List<Communicator> worlds = Collectives.inProcess(ranks, calls);
    opened.addAll(worlds);
    return worlds;
  }

  /** The work of a worker. */
  private interface Work {
    void run(Communicator world, ParameterStore store) throws Exception;
  }

  /** Servers serve until workers, which do something with the store, finish. */
  private static RankThreads.Body serving(
      Optimizer optimizer, Roles roles, Staleness staleness, Work work) {
    return world -> {
      try (ParameterStore store = ParameterStore.of(world, roles, staleness)) {
        if (store.isWorker()) {
          work.run(world, store);
        } else {
          store.serve(optimizer);
        }
      }
    };
  }

  // ------------------------------------------------------------------ synchronous

  private static final int[] COUNTS = {7, 900, 1, 333, 0, 64};

  /** Tensors, and what an optimizer of this worker's own makes of them. */
  private static final class Model {
    final float[][] weights = new float[COUNTS.length][];
    final float[][] gradients = new float[COUNTS.length][];
    final Random random;

    Model(long seed) {
      random = new Random(seed);
      for (int i = 0; i < COUNTS.length; i++) {
        weights[i] = new float[COUNTS[i]];
        gradients[i] = new float[COUNTS[i]];
        for (int j = 0; j < COUNTS[i]; j++) {
          weights[i][j] = random.nextFloat();
        }
      }
    }

    void register(ParameterStore store) {
      for (int i = 0; i < COUNTS.length; i++) {
        store.register("t" + i, Payload.of(weights[i]), Payload.of(gradients[i]));
      }
    }

    void compute() {
      for (int i = 0; i < COUNTS.length; i++) {
        for (int j = 0; j < COUNTS[i]; j++) {
          gradients[i][j] = weights[i][j] + random.nextFloat() * (1 << random.nextInt(10)) - 0.4f;
        }
      }
    }

    static float[] flat(float[][] tensors) {
      float[] flat = new float[Arrays.stream(COUNTS).sum()];
      int at = 0;
      for (float[] tensor : tensors) {
        System.arraycopy(tensor, 0, flat, at, tensor.length);
        at += tensor.length;
      }
      return flat;
    }
  }

  /**
   * Training gives the result of an all-reduce in the order of ranks and an optimizer at each
   * worker, bit by bit.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void aSynchronousStepIsAnAllReduceAndALocalUpdate(int servers) throws Exception {
    List<Optimizer> optimizers =
        List.of(
            Optimizers.sgd(step -> 0.1 / step),
            Optimizers.momentum(step -> 0.01, 0.9),
            Optimizers.adamW(step -> 0.01, 0.1));
    int workers = 4 - servers / 2;
    Roles roles = Roles.dedicated(workers + servers, servers);
    for (Optimizer optimizer : servers == 2 ? optimizers : optimizers.subList(2, 3)) {
      RankThreads.run(
          ranks(workers + servers, CALLS),
          serving(
              optimizer,
              roles,
              Staleness.synchronous(),
              (world, store) -> {
                Communicator all =
                    world
                        .group(IntStream.range(0, workers).toArray())
                        .using(Repeatability.RANK_ORDER);
                Model model = new Model(world.rank());
                model.register(store);
                store.pull();
                assertArrayEquals(
                    Model.flat(new Model(0).weights), Model.flat(model.weights), "worker 0's");
                float[] expected = Model.flat(model.weights);
                float[][] state = new float[optimizer.stateCount()][expected.length];
                for (int step = 1; step <= 9; step++) {
                  model.compute();
                  float[] gradients = Model.flat(model.gradients);
                  all.allReduce(gradients, ReduceOp.AVERAGE);
                  optimizer.update(expected, gradients, state, 0, expected.length, step);
                  if (step % 3 == 0) {
                    store.push();
                    store.pull();
                  } else {
                    store.step();
                  }
                  assertArrayEquals(expected, Model.flat(model.weights), "step " + step);
                  assertEquals(step, store.clock());
                }
                store.finish();
                assertThrows(IllegalStateException.class, store::step);
              }));
    }
  }

  /** Servers have parts of layers: they refuse an optimizer that needs a layer's norm. */
  @Test
  void layerwiseOptimizersAreRefused() throws Exception {
    Roles roles = Roles.dedicated(2, 1);
    RankThreads.run(
        ranks(2, CALLS),
        world -> {
          try (ParameterStore store = ParameterStore.of(world, roles, Staleness.synchronous())) {
            if (!store.isWorker()) {
              IllegalArgumentException error =
                  assertThrows(
                      IllegalArgumentException.class,
                      () -> store.serve(Optimizers.lamb(step -> 1, 0)));
              assertTrue(error.getMessage().contains("element by element"), error::toString);
            }
          }
        });
  }

  /** A step is the average over those who have not finished. */
  @Test
  void workersFinishOneAfterTheOther() throws Exception {
    Roles roles = Roles.dedicated(5, 2);
    RankThreads.run(
        ranks(5, CALLS),
        serving(
            COUNT,
            roles,
            Staleness.synchronous(),
            (world, store) -> {
              float[] weights = new float[5];
              float[] gradients = new float[5];
              store.register("t", Payload.of(weights), Payload.of(gradients));
              store.pull();
              float expected = 0;
              for (int step = 0; step <= 2 * world.rank(); step++) {
                Arrays.fill(gradients, 2 + 2 * world.rank());
                store.step();
                expected -= step == 0 ? 4 : step <= 2 ? 5 : 6;
                for (float weight : weights) {
                  assertEquals(expected, weight, "step " + step);
                }
              }
              store.finish();
            }));
  }

  // ------------------------------------------------------------------ staleness

  /** A worker that stands still lets another one go exactly as far ahead as the bound says. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void nobodyIsFartherAheadThanTheBound(int bound) throws Exception {
    int steps = 9;
    int servers = 2;
    Roles roles = Roles.dedicated(2 + servers, servers);
    AtomicLong slow = new AtomicLong();
    AtomicLong fast = new AtomicLong();
    RankThreads.run(
        ranks(2 + servers, CALLS),
        serving(
            COUNT,
            roles,
            new Staleness(bound),
            (world, store) -> {
              float[] weights = new float[3];
              float[] gradients = new float[3];
              store.register("t", Payload.of(weights), Payload.of(gradients));
              store.pull();
              if (world.rank() == 0) {
                Arrays.fill(gradients, 1);
                for (int step = 1; step <= steps; step++) {
                  store.step();
                  long ahead = step - slow.get();
                  assertTrue(ahead <= bound, ahead + " steps ahead");
                  fast.set(step);
                }
              } else {
                Arrays.fill(gradients, 100);
                for (int step = 0; step < steps; step++) {
                  // The other one has done all that it may, and asked for more; nothing comes of
                  // it.
                  long most = Math.min(steps, step + bound);
                  long pushed = Math.min(steps, most + 1);
                  if (bound > 0) {
                    awaitWeight(store, weights, -100 * step - pushed);
                  }
                  for (int i = 0; i < 20; i++) {
                    store.pull();
                  }
                  if (bound > 0) {
                    assertArrayEquals(all(-100 * step - pushed), weights, "step " + step);
                  }
                  assertTrue(fast.get() <= most, fast + " steps, not " + most);
                  slow.incrementAndGet();
                  store.push();
                }
              }
              store.finish();
            }));
    assertEquals(steps, fast.get());
  }

  private static float[] all(float value) {
    return new float[] {value, value, value};
  }

  /** Pulls until all that is expected has come; each is a message there and back. */
  private static void awaitWeight(ParameterStore store, float[] weights, float expected) {
    do {
      store.pull();
      for (float weight : weights) {
        assertTrue(weight >= expected, weight + ", more than " + expected);
      }
    } while (!Arrays.equals(all(expected), weights));
  }

  /** Pushing alone does not lead farther either. */
  @Test
  void aWorkerThatNeverPullsIsHeldAsWell() throws Exception {
    Roles roles = Roles.dedicated(3, 1);
    AtomicLong slow = new AtomicLong();
    RankThreads.run(
        ranks(3, CALLS),
        serving(
            COUNT,
            roles,
            Staleness.bounded(2),
            (world, store) -> {
              float[] weights = new float[3];
              store.register("t", Payload.of(weights), Payload.of(all(1)));
              store.pull();
              for (int step = 0; step < 8; step++) {
                if (world.rank() == 0) {
                  store.push();
                  assertTrue(step - slow.get() <= 2, step + " while the other is at " + slow);
                } else {
                  float expected = -step - Math.min(8, step + 3);
                  awaitWeight(store, weights, expected);
                  for (int i = 0; i < 20; i++) {
                    store.pull();
                  }
                  assertArrayEquals(all(expected), weights, "the other one pushes no more");
                  slow.incrementAndGet();
                  store.push();
                }
              }
              store.finish();
            }));
  }

  /** The slow worker goes on only when the fast one is done. */
  @Test
  void asynchronousWorkersNeverWait() throws Exception {
    Roles roles = Roles.dedicated(4, 2);
    CountDownLatch done = new CountDownLatch(1);
    RankThreads.run(
        ranks(4, CALLS),
        serving(
            COUNT,
            roles,
            Staleness.asynchronous(),
            (world, store) -> {
              float[] weights = new float[3];
              store.register("t", Payload.of(weights), Payload.of(all(1)));
              store.pull();
              if (world.rank() == 0) {
                for (int step = 0; step < 40; step++) {
                  store.step();
                }
                assertArrayEquals(all(-40), weights);
                done.countDown();
              } else {
                done.await();
                store.step();
                assertArrayEquals(all(-41), weights);
              }
              store.finish();
            }));
  }

  @Test
  void stalenessIsReadAsItIsWritten() {
    for (Staleness staleness :
        List.of(Staleness.synchronous(), Staleness.bounded(12), Staleness.asynchronous())) {
      assertEquals(staleness, Staleness.parse(staleness.toString()));
    }
    for (String wrong : List.of("", "bounded", "bounded:0", "bounded:-1", "7")) {
      assertThrows(IllegalArgumentException.class, () -> Staleness.parse(wrong), wrong);
    }
  }

  // ------------------------------------------------------------------ failures

  /**
   * The worker that is farthest behind is named on all ranks, also where nothing was asked of it.
   */
  @Test
  void whoKeepsTheOthersWaitingIsNamed() throws Exception {
    Roles roles = Roles.dedicated(5, 2);
    CountDownLatch over = new CountDownLatch(4);
    List<Throwable> outcomes =
        RankThreads.outcomes(
            ranks(5, CALLS.withTimeout(Duration.ofSeconds(1))),
            world -> {
              try (ParameterStore store = ParameterStore.of(world, roles, Staleness.bounded(1))) {
                if (!store.isWorker()) {
                  store.serve(COUNT);
                  return;
                }
                store.register("t", Payload.of(new float[3]), Payload.of(all(1)));
                store.pull();
                if (world.rank() == 1) {
                  over.await();
                }
                for (int step = 0; step < 4; step++) {
                  store.step();
                }
              } finally {
                over.countDown();
              }
            });
    for (Throwable outcome : outcomes) {
      CallTimeoutException error = assertInstanceOf(CallTimeoutException.class, outcome);
      assertEquals(1, error.worldRank());
      assertTrue(
          error.getMessage().endsWith("for rank 1, which has pushed 0 gradients"), "" + error);
    }
  }

  /** Leaving without finishing, in each mode; servers have lost nothing, workers repeat a step. */
  @ParameterizedTest
  @ValueSource(ints = {0, 2, Integer.MAX_VALUE})
  void survivorsOfAWorkerGoOn(int bound) throws Exception {
    Roles roles = Roles.dedicated(5, 2);
    RankThreads.run(
        ranks(5, CALLS),
        world -> {
          ParameterStore store = ParameterStore.of(world, roles, new Staleness(bound));
          world.barrier(); // All have made it before one leaves.
          float[] weights = new float[3];
          int begun = 1;
          CollectiveException error = null;
          try {
            if (!store.isWorker()) {
              store.serve(COUNT);
            } else {
              store.register("t", Payload.of(weights), Payload.of(all(1)));
              store.pull();
              store.step();
              if (world.rank() == 1) {
                world.close();
                return;
              }
              while (true) {
                begun++;
                store.step();
              }
            }
          } catch (CollectiveException e) {
            error = e;
          }
          RankFailedException failed = assertInstanceOf(RankFailedException.class, error);
          assertEquals(1, failed.worldRank(), "" + failed);
          Communicator left = world.shrink().group();
          try (ParameterStore next = store.on(left)) {
            if (!next.isWorker()) {
              next.serve(COUNT);
              return;
            }
            assertThrows(IllegalStateException.class, () -> next.serve(COUNT));
            // To one clock for all, since who is a bound ahead goes on only if the others do.
            Communicator workers = left.group(0, 1);
            long[] last = {begun + 3};
            workers.allReduce(last, ReduceOp.MAX);
            next.pull();
            long first = next.clock();
            assertTrue(first >= (bound == 0 ? 1 : 0) && first <= begun, "at " + first);
            while (next.clock() < last[0]) {
              long before = next.clock();
              next.step();
              assertEquals(before + 1, next.clock());
            }
            workers.barrier();
            // Each server has each gradient once, also those that it got before another one did.
            next.pull();
            assertArrayEquals(all(bound == 0 ? -last[0] : -1 - 2 * last[0]), weights);
            next.finish();
          }
        });
  }

  @Test
  void aLostServerIsNamedAndTakesItsPartAlong() throws Exception {
    Roles roles = Roles.dedicated(4, 2);
    RankThreads.run(
        ranks(4, CALLS),
        world -> {
          ParameterStore store = ParameterStore.of(world, roles, Staleness.bounded(1));
          world.barrier(); // All have made it before one leaves.
          CollectiveException error = null;
          try {
            if (world.rank() == 3) {
              world.close();
              return;
            } else if (!store.isWorker()) {
              store.serve(COUNT);
            } else {
              store.register("t", Payload.of(new float[3]), Payload.of(all(1)));
              while (true) {
                store.step();
              }
            }
          } catch (CollectiveException e) {
            error = e;
          }
          RankFailedException failed = assertInstanceOf(RankFailedException.class, error);
          assertEquals(3, failed.worldRank(), "" + failed);
          Communicator left = world.shrink().group();
          String told =
              assertThrows(IllegalStateException.class, () -> store.on(left)).getMessage();
          assertTrue(told.startsWith("1 of 2 servers are left"), told);
        });
  }

  /** All ranks get the same error; the ones that did nothing wrong, too. */
  private void mistake(
      Class<? extends CollectiveException> type, String message, RankThreads.Body body)
      throws Exception {
    for (Throwable outcome : RankThreads.outcomes(ranks(4, CALLS), body)) {
      if (outcome instanceof Planted) {
        continue;
      }
      assertInstanceOf(type, outcome);
      assertTrue(outcome.getMessage().contains(message), outcome.getMessage());
    }
  }

  private static final class Planted extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  private static final Roles TWO_AND_TWO = Roles.dedicated(4, 2);

  private static void train(Communicator world, Staleness staleness, Optimizer optimizer, int n) {
    try (ParameterStore store = ParameterStore.of(world, TWO_AND_TWO, staleness)) {
      if (!store.isWorker()) {
        store.serve(optimizer);
        return;
      }
      store.register("t" + n, Payload.of(new float[5]), Payload.of(new float[5]));
      while (true) {
        store.step();
      }
    }
  }

  @Test
  void mistakesAreTheSameErrorOnAllRanks() throws Exception {
    mistake(
        MismatchException.class,
        "1 tensor of 5 parameters, with other names or counts: register the same",
        world -> train(world, Staleness.bounded(1), COUNT, world.rank() % 2));
    mistake(
        MismatchException.class,
        "with staleness bounded:7, server rank ",
        world -> train(world, Staleness.bounded(world.rank() == 1 ? 7 : 1), COUNT, 0));
    Optimizer broken =
        new Optimizer() {
          @Override
          public String name() {
            return "broken";
          }

          @Override
          public int stateCount() {
            return 0;
          }

          @Override
          public void update(float[] w, float[] g, float[][] state, int from, int to, long step) {
            if (step == 3) {
              throw new Planted();
            }
          }
        };
    mistake(
        AbortedException.class,
        "Planted",
        world -> train(world, Staleness.synchronous(), world.rank() == 2 ? broken : COUNT, 0));
  }

  /** A server hears an interrupt as a thread that waits for a call does. */
  @Test
  void anInterruptedServerEndsTheStore() throws Exception {
    mistake(
        AbortedException.class,
        "a thread that serves parameters was interrupted",
        world -> {
          if (world.rank() != 2) {
            train(world, Staleness.synchronous(), COUNT, 0);
            return;
          }
          try (ParameterStore store =
              ParameterStore.of(world, TWO_AND_TWO, Staleness.synchronous())) {
            Thread.currentThread().interrupt();
            store.serve(COUNT);
          } finally {
            assertTrue(Thread.interrupted(), "it stays interrupted");
          }
        });
  }

  @Test
  void whatDoesNotFitIsRefused() throws Exception {
    RankThreads.run(
        ranks(4, CALLS),
        world -> assertRefused("have no proxies", world, Roles.dedicated(4, 1, 2)));
    RankThreads.run(
        ranks(2, CALLS),
        world -> {
          assertRefused("must be dedicated", world, Roles.shared(2, 1));
          assertRefused("3 roles for 2 ranks", world, Roles.dedicated(3, 1));
          assertRefused(
              "wire type bfloat16", world.using(WireType.BFLOAT16), Roles.dedicated(2, 1));
          assertRefused("checked numbers", world.checkingFinite(), Roles.dedicated(2, 1));
          try (ParameterStore store =
              ParameterStore.of(world, Roles.dedicated(2, 1), Staleness.synchronous())) {
            if (!store.isWorker()) {
              assertThrows(IllegalStateException.class, store::pull);
              store.serve(COUNT);
              return;
            }
            assertThrows(
                IllegalArgumentException.class,
                () -> store.register("t", Payload.of(new float[3]), Payload.of(new float[2])));
            assertThrows(
                IllegalArgumentException.class,
                () -> store.register("t", Payload.of(new double[2]), Payload.of(new float[2])));
            store.pull();
            assertThrows(
                IllegalStateException.class,
                () -> store.register("t", Payload.of(all(0)), Payload.of(all(0))));
            store.finish();
          }
        });
  }

  private static void assertRefused(String why, Communicator world, Roles roles) {
    String told =
        assertThrows(
                IllegalArgumentException.class,
                () -> ParameterStore.of(world, roles, Staleness.synchronous()))
            .getMessage();
    assertTrue(told.contains(why), told);
  }
}
