package io.collectives.ps.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ps.Roles;
import io.collectives.testkit.RankThreads;
import io.collectives.training.optimizer.Optimizer;
import io.collectives.training.optimizer.Optimizers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A worker that speaks to servers by itself gives its gradient to one of two servers, and then it
 * or another worker dies. Who is left repeats the step: the server that has done it leaves it out,
 * the other one does it now.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class HalfAStepTest {
  private static final int[] SERVERS = {3, 4};
  private static final Optimizer COUNT = Optimizers.sgd(step -> 1);

  @Test
  void noGradientIsLostOrCountedTwice() throws Exception {
    Staleness staleness = Staleness.synchronous();
    Roles roles = Roles.dedicated(5, 2);
    List<Communicator> worlds =
        Collectives.inProcess(5, CallSettings.defaults().withTimeout(Duration.ofSeconds(20)));
    try {
      RankThreads.run(
          worlds,
          world -> {
            if (world.rank() == 2) {
              halfAStep(world, staleness);
              world.close();
              return;
            }
            ParameterStore store = ParameterStore.of(world, roles, staleness);
            float[] weights = new float[4];
            float[] gradients = new float[4];
            Arrays.fill(gradients, 2 + 2 * world.rank());
            if (store.isWorker()) {
              store.register("t", Payload.of(weights), Payload.of(gradients));
              store.pull();
              RankFailedException failed =
                  assertThrows(
                      RankFailedException.class,
                      () -> {
                        while (true) {
                          store.step();
                        }
                      });
              assertEquals(2, failed.worldRank());
            } else {
              assertThrows(RankFailedException.class, () -> store.serve(COUNT));
            }
            try (ParameterStore next = store.on(world.shrink().group())) {
              if (!next.isWorker()) {
                next.serve(COUNT);
                return;
              }
              next.pull();
              assertEquals(0, next.clock(), "the step that one server has not done");
              assertArrayEquals(new float[] {-6, -6, 0, 0}, weights);
              next.step();
              assertArrayEquals(new float[] {-6, -6, -3, -3}, weights);
              Arrays.fill(gradients, 20 + 20 * world.rank());
              next.step();
              assertArrayEquals(new float[] {-36, -36, -33, -33}, weights);
              next.finish();
            }
          });
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  /** Each gradient is an update here, and the one that only one server has is a survivor's. */
  @Test
  void aSurvivorRepeatsWhatOneServerHas() throws Exception {
    Staleness staleness = Staleness.bounded(3);
    CountDownLatch over = new CountDownLatch(2);
    List<Communicator> worlds =
        Collectives.inProcess(5, CallSettings.defaults().withTimeout(Duration.ofSeconds(20)));
    try {
      RankThreads.run(
          worlds,
          world -> {
            ParameterStore store = null;
            if (world.rank() == 2) {
              halfAStep(world, staleness);
              over.countDown();
            } else {
              store = ParameterStore.of(world, Roles.dedicated(5, 2), staleness);
            }
            if (world.rank() == 1) {
              over.await();
              world.close();
              return;
            } else if (world.rank() == 0) {
              store.register("t", Payload.of(new float[4]), Payload.of(new float[4]));
              store.pull();
              over.countDown();
            } else if (world.rank() > 2) {
              ParameterStore serving = store;
              assertThrows(RankFailedException.class, () -> serving.serve(COUNT));
            }
            Communicator left = world.shrink().group();
            try (ParameterStore next =
                store == null
                    ? ParameterStore.of(left, Roles.dedicated(4, 2), staleness)
                    : store.on(left)) {
              if (!next.isWorker()) {
                next.serve(COUNT);
                return;
              }
              if (world.rank() == 2) {
                float[] weights = new float[4];
                next.register("t", Payload.of(weights), Payload.of(new float[] {12, 12, 12, 12}));
                next.pull();
                assertEquals(0, next.clock());
                assertArrayEquals(new float[] {-12, -12, 0, 0}, weights);
                next.step();
                assertArrayEquals(new float[] {-12, -12, -12, -12}, weights);
                next.step();
                assertArrayEquals(new float[] {-24, -24, -24, -24}, weights);
              }
              next.finish();
            }
          });
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  /** Pushes 12 as the first gradient, to the first server only; returns when it is in. */
  private static void halfAStep(Communicator world, Staleness staleness) {
    Communicator group = world.group(0, 1, 2, 3, 4);
    Payload nothing = Payload.of(new float[0]);
    List<CollectiveHandle> handles = new ArrayList<>();
    for (int server : SERVERS) {
      handles.add(group.async().send(nothing, server));
      handles.add(group.async().receive(nothing, server));
    }
    handles.forEach(CollectiveHandle::await);
    Model model = Model.EMPTY.with("t", 4);
    for (int server : SERVERS) {
      group.send(
          Payload.of(
              new long[] {
                Message.HELLO, model.count(), model.digest(), model.tensors(), staleness.bound()
              }),
          server);
      group.receive(Payload.of(new long[Message.ANSWER]), server);
    }
    float[] weights = new float[2];
    group.send(Payload.of(new long[] {Message.PUSH | Message.PULL, 1, 0, 0, 0}), SERVERS[0]);
    group.send(Payload.of(new float[] {12, 12}), SERVERS[0]);
    group.receive(Payload.of(weights), SERVERS[0]);
  }
}
