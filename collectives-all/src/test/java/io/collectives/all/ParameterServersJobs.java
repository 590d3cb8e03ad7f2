package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.Bfloat16;
import io.collectives.BufferReduction;
import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.GradientReducer.Tensor;
import io.collectives.NonFiniteGradient;
import io.collectives.NumberedReduction;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UserOp;
import io.collectives.WireType;
import io.collectives.internal.ElementBuffer;
import io.collectives.ps.ParameterServers;
import io.collectives.ps.Role;
import io.collectives.ps.Roles;
import io.collectives.testkit.RankThreads;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Parameter servers on one transport: sums, bits, training loops, the end of a job and failures.
 * Values are small integers, so that sums are exact, but where bits are compared.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
abstract class ParameterServersJobs {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_122L);
  private static final CallSettings CALLS =
      CallSettings.defaults().withFrameLength(256).withTimeout(Duration.ofSeconds(20));

  private final List<Communicator> opened = new ArrayList<>();

  /** Opens a job whose ranks are threads of this JVM. */
  abstract List<Communicator> open(int ranks, CallSettings calls) throws Exception;

  @AfterEach
  void closeAll() {
    opened.forEach(Communicator::close);
  }

  private List<Communicator> ranks(int ranks) throws Exception {
    List<Communicator> worlds = open(ranks, CALLS);
    opened.addAll(worlds);
    return worlds;
  }

  // ------------------------------------------------------------------ calls

  private static final List<Algorithm.ParameterServer> SERVERS =
      List.of(
          new Algorithm.ParameterServer(1, 1),
          new Algorithm.ParameterServer(2, 2),
          new Algorithm.ParameterServer(3, 1),
          new Algorithm.ParameterServer(4, 3));

  /**
   * All roles, types, ops, wire types and sizes that go together; dedicated servers call or serve.
   */
  @Test
  void everyWorkerGetsTheReduction() throws Exception {
    for (int ranks : new int[] {2, 5}) {
      List<Communicator> worlds = ranks(ranks);
      for (Algorithm.ParameterServer algorithm : SERVERS) {
        if (!algorithm.fits(ranks)) {
          continue;
        }
        int workers = ranks - algorithm.dedicated();
        RankThreads.run(worlds, world -> calls(world.group(all(ranks)), algorithm, workers));
      }
    }
  }

  /** Proxies, workers on hosts, servers among them, and all of it at once. */
  @Test
  void everyWorkerGetsTheReductionOverHostsAndProxies() throws Exception {
    List<Communicator> worlds = ranks(8);
    for (Algorithm.ParameterServer algorithm :
        List.of(
            new Algorithm.ParameterServer(4, 4, hosts(0, 1, 2, 3, 4, 4, 5, 5)),
            new Algorithm.ParameterServer(4, 4, hosts(0, 1, 0, 1, 4, 4, 5, 5)),
            new Algorithm.ParameterServer(4, 2, hosts(0, 0, 0, 1, 1, 2, 3, 3)),
            new Algorithm.ParameterServer(8, 0, hosts(0, 0, 0, 1, 1, 1, 2, 2)))) {
      int workers = 8 - algorithm.dedicated();
      RankThreads.run(worlds, world -> calls(world.group(all(8)), algorithm, workers));
    }
  }

  private static List<Integer> hosts(Integer... hosts) {
    return List.of(hosts);
  }

  private static int[] all(int ranks) {
    return IntStream.range(0, ranks).toArray();
  }

  private static void calls(Communicator whole, Algorithm algorithm, int workers) {
    Communicator group = whole.using(algorithm);
    int rank = group.rank();
    Communicator half = group.split(rank % 2, 0);
    assertEquals((group.size() + 1 - rank % 2) / 2, half.size());
    CollectiveHandle service = null;
    int call = 0;
    for (int count : new int[] {0, 3, 1009}) {
      for (ElementType type :
          List.of(ElementType.FLOAT32, ElementType.INT64, ElementType.BFLOAT16)) {
        ReduceOp op = ++call % 2 == 0 ? ReduceOp.AVERAGE : ReduceOp.SUM;
        Numbers in = new Numbers(type, count, call % 3 == 0);
        Numbers out = call % 4 < 2 ? in : new Numbers(type, count, call % 3 == 1);
        for (int i = 0; i < count; i++) {
          in.set(i, workers * ((rank + 1) * (i % 5)));
        }
        if (rank < workers || call <= 4) {
          group.allReduce(in.payload, out.payload, op);
          if (rank >= workers) {
            for (int i = 0; i < count; i++) {
              if (workers * ((rank + 1) * (i % 5)) != in.get(i)) {
                throw new AssertionError("a server's memory was written");
              }
            }
            continue;
          }
        } else if (service == null) {
          service = group.serve();
        }
        int sum = workers * workers * (workers + 1) / 2;
        for (int i = 0; i < count && rank < workers; i++) {
          int expected = sum * (i % 5) / (op == ReduceOp.SUM ? 1 : workers);
          if (expected != out.get(i)) {
            throw new AssertionError(
                type
                    + " "
                    + op
                    + " of "
                    + count
                    + ", "
                    + i
                    + ": "
                    + out.get(i)
                    + ", not "
                    + expected);
          }
        }
      }
    }
    if (rank < workers) {
      assertThrows(IllegalStateException.class, group::serve);
      whole.close();
    } else {
      service.await();
    }
  }

  /** Numbers of a type in memory of some kind. */
  private static final class Numbers {
    final Payload payload;
    private final ElementBuffer elements;

    Numbers(ElementType type, int count, boolean array) {
      payload =
          array
              ? new Payload.OfArray(type, type.newArray(count), 0, count)
              : Payload.of(
                  ByteBuffer.allocateDirect(count * type.bytes()).order(ByteOrder.nativeOrder()),
                  type);
      elements = new ElementBuffer(payload);
    }

    void set(int i, int value) {
      elements.setValue(i, value);
    }

    int get(int i) {
      return (int) elements.value(i);
    }
  }

  // ------------------------------------------------------------------ bits

  /**
   * Dedicated servers and as many among the workers give the same bits, but for a server's own
   * contribution, which crosses no link that would round it; and all workers have the same.
   */
  @Test
  void bitsAreTheSameWhereverServersAre() throws Exception {
    int workers = 3;
    int servers = 2;
    List<Communicator> worlds = ranks(workers + servers);
    ConcurrentHashMap<String, float[]> results = new ConcurrentHashMap<>();
    for (WireType wire : WireType.values()) {
      Roles apart = Roles.dedicated(workers + servers, servers);
      RankThreads.run(
          worlds,
          world -> {
            try (ParameterServers made = ParameterServers.of(world.using(wire), apart, 1)) {
              if (made.isWorker()) {
                float[] values = random(world.rank());
                made.reduction().reduce(0, Payload.of(values), ReduceOp.AVERAGE).await();
                results.put(wire + " apart " + world.rank(), values);
              } else {
                made.serve();
              }
            }
          });
      RankThreads.run(
          worlds.subList(0, workers),
          world -> {
            Communicator group = world.using(wire).group(0, 1, 2);
            try (ParameterServers made =
                ParameterServers.of(group, Roles.shared(workers, servers), 1)) {
              float[] values = random(world.rank());
              made.reduction().reduce(0, Payload.of(values), ReduceOp.AVERAGE).await();
              results.put(wire + " among " + world.rank(), values);
            }
          });
      for (int rank = 0; rank < workers; rank++) {
        assertArrayEquals(
            results.get(wire + " apart 0"), results.get(wire + " apart " + rank), "" + wire);
        String other = wire == WireType.AS_IN_MEMORY ? " apart 0" : " among 0";
        assertArrayEquals(
            results.get(wire + other), results.get(wire + " among " + rank), "" + wire);
      }
    }
  }

  private static final UserOp SECOND =
      UserOp.inRankOrder("second").withFloats((left, right) -> right);

  /** Dedicated servers, and such among the workers, add in whatever order they are asked to. */
  @Test
  void sumsAreTakenInEveryOrder() throws Exception {
    int ranks = 5;
    List<Communicator> worlds = ranks(ranks);
    for (Algorithm.ParameterServer algorithm : SERVERS.subList(1, 3)) {
      WireType wire = algorithm.shared() > 0 ? WireType.AS_IN_MEMORY : WireType.BFLOAT16;
      int workers = ranks - algorithm.dedicated();
      List<Throwable> outcomes =
          RankThreads.outcomes(
              worlds,
              world -> {
                Communicator group = world.group(all(ranks)).using(algorithm).using(wire);
                if (world.rank() >= workers) {
                  group.serve(SECOND).await();
                } else {
                  orders(group, workers);
                }
              });
      for (Throwable outcome : outcomes) {
        assertInstanceOf(AbortedException.class, outcome, algorithm + ", " + wire);
        String message = outcome.getMessage();
        assertTrue(message.contains("\"larger\"") && message.contains("[second]"), message);
      }
    }
  }

  private static void orders(Communicator group, int workers) {
    WireType wire = group.settings().wireType();
    float[] mine = random(group.rank());
    float[] second = mine.clone();
    group.allReduce(second, SECOND);
    float[] last = random(workers - 1);
    for (int i = 0; i < last.length; i++) {
      last[i] = onWire(last[i], wire);
    }
    assertArrayEquals(last, second);
    for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE)) {
      int divisor = op == ReduceOp.SUM ? 1 : workers;
      float[] inOrder = new float[mine.length];
      double[] exactly = new double[mine.length];
      for (int rank = 0; rank < workers; rank++) {
        float[] theirs = random(rank);
        for (int i = 0; i < mine.length; i++) {
          inOrder[i] = rank == 0 ? onWire(theirs[i], wire) : inOrder[i] + onWire(theirs[i], wire);
          exactly[i] += onWire(theirs[i], wire);
        }
      }
      float[] rounded = new float[mine.length];
      for (int i = 0; i < mine.length; i++) {
        inOrder[i] = onWire(inOrder[i] / divisor, wire);
        rounded[i] = onWire((float) exactly[i] / divisor, wire);
      }
      float[] sum = mine.clone();
      group.using(Repeatability.RANK_ORDER).allReduce(sum, op);
      assertArrayEquals(inOrder, sum);
      sum = mine.clone();
      group.using(Repeatability.EXACT).allReduce(sum, op);
      assertArrayEquals(rounded, sum);
      int total = workers * workers * (workers + 1) / 2 / divisor;
      float[] floats = new float[mine.length];
      Arrays.fill(floats, workers * (group.rank() + 1));
      group.using(Repeatability.ARRIVAL_ORDER).allReduce(floats, op);
      float[] totals = new float[mine.length];
      Arrays.fill(totals, total);
      assertArrayEquals(totals, floats);
    }
    group.allReduce(mine, UserOp.commutative("larger").withFloats(Math::max));
  }

  private static float onWire(float value, WireType wire) {
    return wire == WireType.BFLOAT16 ? Bfloat16.toFloat(Bfloat16.of(value)) : value;
  }

  private static float[] random(int rank) {
    Random random = new Random(SEED + rank);
    float[] values = new float[3001];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextFloat() * (1 << random.nextInt(20));
    }
    return values;
  }

  /**
   * The loss by rounding to int8, from contributions and from sums, is made up for in later steps,
   * wherever servers are: results added up are off by about one rounding each way. Without that the
   * same is lost in every step.
   */
  @Test
  void whatServersAndWorkersLoseIsMadeUpFor() throws Exception {
    int steps = 20;
    int count = 501;
    float[][] gradients = new float[3][count];
    double[] exact = new double[count];
    Random random = new Random(SEED);
    for (float[] of : gradients) {
      for (int i = 0; i < count; i++) {
        of[i] = random.nextFloat() * 2 - 1;
        exact[i] += of[i] / 3.0;
      }
    }
    // Contributions, and so averages, are less than 1, and multiples of 1/64 on their way.
    double roundings = 2 * 1 / 128.0;
    for (Roles roles :
        List.of(
            Roles.dedicated(5, 2),
            new Roles(List.of(Role.WORKER, Role.BOTH, Role.SERVER, Role.WORKER, Role.SERVER)))) {
      RankThreads.run(
          ranks(5),
          world -> {
            Communicator narrow = world.using(WireType.INT8).using(Repeatability.ARRIVAL_ORDER);
            try (ParameterServers servers = ParameterServers.of(narrow, roles)) {
              if (!servers.isWorker()) {
                servers.serve();
                return;
              }
              float[] mine = gradients[servers.workers().rank()];
              double[] sums = new double[count];
              try (BufferReduction reduction = servers.reduction()) {
                for (int step = 0; step < steps; step++) {
                  // Buffers of other lengths and numbers, whose residuals are theirs.
                  float[] other = new float[count - 1];
                  Arrays.fill(other, 1000 * (step + 1));
                  reduction.reduce(2, Payload.of(other), ReduceOp.SUM).await();
                  float[] buffer = mine.clone();
                  reduction.reduce(0, Payload.of(buffer), ReduceOp.AVERAGE).await();
                  for (int i = 0; i < count; i++) {
                    sums[i] += buffer[i];
                  }
                }
              }
              assertTrue(error(sums, exact, steps) <= roundings, error(sums, exact, steps) + "");
            }
          });
      closeAll();
      opened.clear();
    }
    RankThreads.run(
        ranks(5),
        world -> {
          Communicator whole = world.group(all(5));
          Communicator group = whole.using(Algorithm.parameterServer(2, 2)).using(WireType.INT8);
          if (world.rank() >= 3) {
            group.serve().await();
            return;
          }
          Payload some = Payload.of(new float[3]);
          Payload lost = Payload.of(new float[3]);
          NumberedReduction numbered = (NumberedReduction) group.async();
          assertThrows(
              IllegalArgumentException.class,
              () -> numbered.allReduce(some, some, ReduceOp.SUM, lost, 0));
          double[] sums = new double[count];
          for (int step = 0; step < steps; step++) {
            float[] buffer = gradients[group.rank()].clone();
            group.allReduce(buffer, ReduceOp.AVERAGE);
            for (int i = 0; i < count; i++) {
              sums[i] += buffer[i];
            }
          }
          assertTrue(error(sums, exact, steps) > 10 * roundings, error(sums, exact, steps) + "");
          whole.close();
        });
  }

  private static double error(double[] sums, double[] exact, int steps) {
    return IntStream.range(0, sums.length)
        .mapToDouble(i -> Math.abs(sums[i] - steps * exact[i]))
        .max()
        .orElseThrow();
  }

  // ------------------------------------------------------------------ training

  private static final int[] COUNTS = {7, 900, 1, 333, 2000, 64};

  /** A reducer's tensors, and a step of them. */
  private static final class Model {
    final GradientReducer reducer;
    final float[][] gradients = new float[COUNTS.length][];
    final List<Tensor> tensors = new ArrayList<>();
    final int rank;

    /** The tensor whose last gradient is another number, if there is one. */
    int spoil = -1;

    float spoilt = Float.NaN;

    Model(ParameterServers servers, FusionSettings fusion) {
      rank = servers.workers().rank();
      reducer = GradientReducer.of(servers.workers(), fusion, servers.reduction());
      for (int i = 0; i < COUNTS.length; i++) {
        gradients[i] = new float[COUNTS[i]];
        tensors.add(reducer.register("t" + i, Payload.of(gradients[i])));
      }
    }

    void step(GradientReducer by, int step) {
      for (int i = 0; i < COUNTS.length; i++) {
        int tensor = rank % 2 == 0 ? i : COUNTS.length - 1 - i;
        Arrays.fill(gradients[tensor], rank + step + tensor);
        if (tensor == spoil) {
          gradients[tensor][COUNTS[tensor] - 1] = spoilt;
        }
        by.ready(tensors.get(tensor));
      }
      by.await();
    }

    void checkAverages(int averageRank, int step) {
      check(1, averageRank, step);
    }

    void check(int contributors, int sumOfRanks, int step) {
      for (int tensor = 0; tensor < COUNTS.length; tensor++) {
        float[] expected = new float[COUNTS[tensor]];
        Arrays.fill(expected, sumOfRanks + contributors * (step + tensor));
        assertArrayEquals(expected, gradients[tensor], "step " + step + ", tensor " + tensor);
      }
    }
  }

  private static final FusionSettings SUMS =
      FusionSettings.balancedBuffers().withOp(ReduceOp.SUM).withBufferLength(1600);

  /** Balanced buffers, uneven steps, roles in any order; servers end when the workers close. */
  @Test
  void trainsWithDedicatedServers() throws Exception {
    Roles roles = new Roles(List.of(Role.SERVER, Role.WORKER, Role.BOTH, Role.SERVER, Role.WORKER));
    assertEquals("3 workers, 1 of which serve, and 2 dedicated servers", roles.toString());
    RankThreads.run(
        ranks(5),
        world -> {
          try (ParameterServers servers = ParameterServers.of(world, roles)) {
            if (!servers.isWorker()) {
              assertThrows(IllegalStateException.class, servers::workers);
              assertTrue(servers.toString().contains(" bytes for frames"), servers.toString());
              servers.serve();
              return;
            }
            assertThrows(IllegalStateException.class, servers::serve);
            Model model = new Model(servers, SUMS.withUneven(true));
            for (int step = 0; step < 3; step++) {
              model.step(model.reducer, step);
              model.check(3, 3, step);
            }
            assertTrue(
                model.reducer.toString().contains("1600 + 1600 + 1600 + 1600 + 1600 + 1600 + 1600"),
                model.reducer.toString());
            assertTrue(
                model.reducer.explain().contains("balanced buffers of up to 1600 bytes: as it was"),
                model.reducer.explain());
            if (model.rank != 1) {
              model.step(model.reducer, 3);
            } else {
              assertTrue(model.reducer.join());
            }
            model.check(2, 2, 3);
            assertFalse(model.reducer.join());
            model.reducer.close();
          }
        });
  }

  /** With a lane for each buffer, those that are ready are summed, whatever comes before them. */
  @Test
  void withALaneForEachBufferNoneWaitsForAnother() throws Exception {
    Roles roles = new Roles(List.of(Role.WORKER, Role.SERVER, Role.WORKER));
    RankThreads.run(
        ranks(3),
        world -> {
          try (ParameterServers servers = ParameterServers.of(world, roles, 16)) {
            if (!servers.isWorker()) {
              servers.serve();
              return;
            }
            Model model = new Model(servers, SUMS);
            model.step(model.reducer, 0); // Rank 0 makes them ready from the first to the last.
            for (int tensor = COUNTS.length - 1; tensor >= 0; tensor--) {
              Arrays.fill(model.gradients[tensor], tensor);
              model.reducer.ready(model.tensors.get(tensor));
              if (tensor == COUNTS.length - 2) {
                Tensor last = model.tensors.get(tensor + 1);
                long deadline = System.nanoTime() + CALLS.timeout().toNanos();
                while (!model.reducer.isReduced(last)) {
                  assertTrue(System.nanoTime() < deadline, "the last buffer waits for another");
                  Thread.onSpinWait();
                }
              }
            }
            model.reducer.await();
            for (int tensor = 0; tensor < COUNTS.length; tensor++) {
              assertEquals(2 * tensor, model.gradients[tensor][0]);
            }
            model.reducer.close();
          }
        });
  }

  /** A way of reducing for each step of a job. */
  private enum Manner {
    FLOAT16 {
      @Override
      Communicator of(Communicator world) {
        return world.using(WireType.FLOAT16).checkingFinite();
      }
    },
    BFLOAT16_BY_RANK {
      @Override
      Communicator of(Communicator world) {
        return world.using(WireType.BFLOAT16).using(Repeatability.RANK_ORDER);
      }
    },
    EXACT {
      @Override
      Communicator of(Communicator world) {
        return world.using(Repeatability.EXACT).checkingFinite();
      }
    },
    AS_THEY_COME {
      @Override
      Communicator of(Communicator world) {
        return world.using(Repeatability.ARRIVAL_ORDER).checkingFinite();
      }
    };

    abstract Communicator of(Communicator world);
  }

  /**
   * Averages by dedicated servers: narrow wires, every order, uneven ends, and what is not finite,
   * which is the same news to all workers.
   */
  @Test
  void averagesInEveryManner() throws Exception {
    List<Communicator> worlds = ranks(4);
    for (Manner manner : Manner.values()) {
      RankThreads.run(
          worlds,
          world -> {
            Communicator job = manner.of(world);
            try (ParameterServers servers = ParameterServers.of(job, Roles.dedicated(4, 1))) {
              if (!servers.isWorker()) {
                servers.serve();
                return;
              }
              Model model = new Model(servers, SUMS.withOp(ReduceOp.AVERAGE).withUneven(true));
              model.step(model.reducer, 0);
              model.checkAverages(1, 0);
              assertEquals(Optional.empty(), model.reducer.nonFinite());
              if (job.settings().finiteCheck()) {
                model.spoil = model.rank == 1 ? 3 : -1;
                model.step(model.reducer, 1);
                model.spoil = -1;
                NonFiniteGradient found = model.reducer.nonFinite().orElseThrow();
                assertEquals(1, found.worldRank());
                assertEquals("t3", found.tensor());
                assertEquals(332, found.index());
                assertTrue(Double.isNaN(found.value()));
              }
              if (manner == Manner.FLOAT16) {
                // All contributions are finite, but this one is too large for the wire.
                model.spoil = model.rank == 1 ? 3 : -1;
                model.spoilt = 70_000;
                model.step(model.reducer, 1);
                model.spoil = -1;
                assertEquals(
                    new NonFiniteGradient(-1, "t3", 332, Double.POSITIVE_INFINITY),
                    model.reducer.nonFinite().orElseThrow());
              }
              if (model.rank != 1) {
                model.step(model.reducer, 2);
              } else {
                assertTrue(model.reducer.join());
              }
              model.checkAverages(1, 2);
              assertEquals(Optional.empty(), model.reducer.nonFinite());
              assertFalse(model.reducer.join());
              model.reducer.close();
            }
          });
    }
  }

  /** A worker's mistake is the same error at its servers as at the other workers. */
  @Test
  void aMistakeOfAWorkerEndsTheServers() throws Exception {
    List<Throwable> outcomes =
        RankThreads.outcomes(
            ranks(4),
            world -> {
              try (ParameterServers servers = ParameterServers.of(world, Roles.dedicated(4, 2))) {
                if (!servers.isWorker()) {
                  servers.serve();
                  return;
                }
                Model model = new Model(servers, SUMS);
                model.step(model.reducer, 0);
                if (model.rank == 1) {
                  model.reducer.ready(model.tensors.get(2));
                  model.reducer.ready(model.tensors.get(2));
                } else {
                  model.step(model.reducer, 1);
                }
              }
            });
    for (Throwable outcome : outcomes) {
      AbortedException error = assertInstanceOf(AbortedException.class, outcome);
      assertEquals(1, error.worldRank());
      assertTrue(error.getMessage().startsWith("step 1 of the gradient reducer"), "" + error);
      assertTrue(error.getMessage().contains("tensor \"t2\" became ready twice"), "" + error);
    }
  }

  // ------------------------------------------------------------------ failures

  /** A worker or a server leaves without a word; who is left goes on with those who are left. */
  @Test
  void survivorsGoOn() throws Exception {
    for (int[] job : new int[][] {{2, 1}, {2, 4}, {1, 4}}) {
      survivorsGoOn(Roles.dedicated(5, job[0]), job[1]);
    }
  }

  /**
   * A proxy leaves without a word, or a worker, after which there are more proxies than workers.
   */
  @Test
  void survivorsOfProxiesAndHostsGoOn() throws Exception {
    Roles roles = Roles.dedicated(6, 1, 2).withHosts(List.of("a", "a", "b", "b", "c", "c"));
    survivorsGoOn(roles, 4);
    survivorsGoOn(Roles.dedicated(4, 1, 2), 0);
  }

  private void survivorsGoOn(Roles roles, int lost) throws Exception {
    List<Communicator> worlds = ranks(roles.size());
    RankThreads.run(
        worlds,
        world -> {
          ParameterServers servers = ParameterServers.of(world, roles);
          Model model = null;
          CollectiveException error = null;
          try {
            if (servers.isWorker()) {
              model = new Model(servers, SUMS);
              model.step(model.reducer, 0);
            }
            if (world.rank() == lost) {
              world.close();
              return;
            } else if (model == null) {
              servers.serve();
            } else {
              model.step(model.reducer, 1);
            }
          } catch (CollectiveException e) {
            error = e;
          }
          assertInstanceOf(RankFailedException.class, error, "rank " + world.rank());
          assertEquals(lost, ((RankFailedException) error).worldRank(), "" + error);
          Communicator left = world.shrink().group();
          assertEquals(roles.size() - 1, left.size());
          try (ParameterServers next = servers.on(left)) {
            if (model == null) {
              assertFalse(next.isWorker());
              next.serve();
              return;
            }
            int workers = next.roles().workers();
            assertEquals(roles.workers() - (roles.of(lost) == Role.WORKER ? 1 : 0), workers);
            GradientReducer reducer = model.reducer.on(next.workers(), next.reduction());
            model.step(reducer, 2);
            // The values are those of the old ranks.
            int sumOfRanks = roles.workers() * (roles.workers() - 1) / 2;
            model.check(workers, sumOfRanks - (lost < roles.workers() ? lost : 0), 2);
            reducer.close();
          }
        });
    closeAll();
    opened.clear();
  }

  // ------------------------------------------------------------------ roles

  @Test
  void rolesComeFromTheEnvironmentsOfAllRanks() throws Exception {
    RankThreads.run(
        ranks(4),
        world -> {
          int rank = world.rank();
          assertEquals(Roles.shared(4, 4), Roles.fromEnvironment(world, Map.of("PATH", "/bin")));
          assertEquals(
              Roles.dedicated(4, 2),
              Roles.fromEnvironment(
                  world, rank == 2 ? Map.of("COLLECTIVES_SERVERS", "2") : Map.of()));
          assertEquals(
              Roles.dedicated(4, 1, 2).withHosts(List.of("a", "a", "", "")),
              Roles.fromEnvironment(
                  world,
                  rank == 1
                      ? Map.of("COLLECTIVES_PROXIES", "2", "COLLECTIVES_HIERARCHY", "true")
                      : Map.of("COLLECTIVES_SERVERS", "1")));
          assertTrue(
              assertThrows(
                      IllegalArgumentException.class,
                      () -> Roles.fromEnvironment(world, Map.of("COLLECTIVES_PROXIES", "2")))
                  .getMessage()
                  .startsWith("COLLECTIVES_PROXIES=2, but neither"));
          assertEquals(
              "COLLECTIVES_HIERARCHY of rank 2: must be true or false",
              assertThrows(
                      IllegalArgumentException.class,
                      () ->
                          Roles.fromEnvironment(
                              world, rank == 2 ? Map.of("COLLECTIVES_HIERARCHY", "2") : Map.of()))
                  .getMessage());
          assertThrows(
              IllegalArgumentException.class,
              () -> Roles.fromEnvironment(world, Map.of("COLLECTIVES_HIERARCHY", "" + (rank > 0))));
          String[] roles = {"both", "", "server", "Worker"};
          assertEquals(
              new Roles(List.of(Role.BOTH, Role.WORKER, Role.SERVER, Role.WORKER)),
              Roles.fromEnvironment(
                  world, Map.of("COLLECTIVES_ROLE", roles[rank], "COLLECTIVES_SERVERS", "2")));
          String wrong =
              assertThrows(
                      IllegalArgumentException.class,
                      () ->
                          Roles.fromEnvironment(
                              world, Map.of("COLLECTIVES_ROLE", rank == 3 ? "boss" : "both")))
                  .getMessage();
          assertEquals("COLLECTIVES_ROLE of rank 3: must be worker, server or both", wrong);
          assertThrows(
              IllegalArgumentException.class,
              () ->
                  Roles.fromEnvironment(
                      world, Map.of("COLLECTIVES_ROLE", roles[rank], "COLLECTIVES_SERVERS", "3")));
        });
  }
}
