package io.collectives.training;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.Bfloat16;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.Mesh;
import io.collectives.MismatchException;
import io.collectives.ModelParallel;
import io.collectives.ModelParallelMesh;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.training.exact.Squares;
import io.collectives.training.optimizer.LearningRate;
import io.collectives.training.optimizer.Optimizer;
import io.collectives.training.optimizer.Optimizers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class ShardedOptimizerTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_124L);
  private static final LearningRate RATE = LearningRate.polynomial(0.1, 0.01, 8, 2).withWarmUp(2);
  private static final int[] COUNTS = {700, 10, 0, 1300, 64, 3};
  private static final int STEPS = 5;

  private static List<Optimizer> optimizers() {
    return List.of(
        Optimizers.sgd(RATE),
        Optimizers.momentum(RATE, 0.9, 0.01),
        Optimizers.nesterov(RATE, 0.9, 0.01),
        Optimizers.adam(RATE),
        Optimizers.adamW(RATE, 0.1),
        Optimizers.lars(RATE, 0.9, 0.01, 0.1),
        Optimizers.larsUnscaled(RATE, 0.9, 0.01, 0.1),
        Optimizers.lamb(RATE, 0.01));
  }

  /** Tensors of a rank: the second of each pair is for biases. */
  private static final class Model {
    final float[][] weights = new float[COUNTS.length][];
    final float[][] gradients = new float[COUNTS.length][];

    Model(long seed) {
      Random random = new Random(seed);
      for (int i = 0; i < COUNTS.length; i++) {
        weights[i] = normal(random, COUNTS[i]);
        gradients[i] = new float[COUNTS[i]];
      }
    }

    ShardedOptimizer.Tensor[] register(ShardedOptimizer sharded, Optimizer optimizer) {
      ShardedOptimizer.Tensor[] tensors = new ShardedOptimizer.Tensor[COUNTS.length];
      for (int i = 0; i < COUNTS.length; i++) {
        tensors[i] = sharded.register("t" + i, Payload.of(weights[i]), Payload.of(gradients[i]));
        if (i % 2 == 1) {
          tensors[i].by(optimizer.forBiases());
        }
      }
      return tensors;
    }

    void fill(int step, int rank) {
      Random random = new Random(SEED + 1000L * step + rank);
      for (float[] gradient : gradients) {
        System.arraycopy(normal(random, gradient.length), 0, gradient, 0, gradient.length);
      }
    }
  }

  private static float[] normal(Random random, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }

  /** A rank that does what it would do by itself with reduced gradients. */
  private static final class Unsharded {
    final Model model;
    final Optimizer optimizer;
    final float[][][] states;
    long updates;

    Unsharded(Optimizer optimizer, long seed) {
      this.model = new Model(seed);
      this.optimizer = optimizer;
      this.states = new float[COUNTS.length][][];
      for (int i = 0; i < COUNTS.length; i++) {
        states[i] = new float[2][COUNTS[i]];
      }
    }

    /** Averages the gradients in the model in the order of ranks, and updates. */
    void step(Communicator world, float[][] gradients, double scale, double clip) {
      float[][] reduced = new float[COUNTS.length][];
      double squares = 0;
      for (int i = 0; i < COUNTS.length; i++) {
        reduced[i] = gradients[i].clone();
        world.using(Repeatability.RANK_ORDER).allReduce(Payload.of(reduced[i]), ReduceOp.AVERAGE);
        for (int j = 0; j < reduced[i].length; j++) {
          reduced[i][j] *= (float) scale;
        }
        squares += Math.pow(Squares.norm(reduced[i], 0, COUNTS[i]), 2);
      }
      updates++;
      for (int i = 0; i < COUNTS.length; i++) {
        if (Math.sqrt(squares) > clip) {
          for (int j = 0; j < reduced[i].length; j++) {
            reduced[i][j] *= (float) (clip / Math.sqrt(squares));
          }
        }
        Optimizer by = i % 2 == 1 ? optimizer.forBiases() : optimizer;
        by.update(model.weights[i], reduced[i], states[i], 0, COUNTS[i], updates);
      }
    }
  }

  private static void assertSame(float[][] expected, float[][] actual, String message) {
    for (int i = 0; i < expected.length; i++) {
      assertArrayEquals(expected[i], actual[i], message + ", tensor " + i);
    }
  }

  /** Bit by bit, as there is no rounding but that of the reduction and of the optimizer. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5})
  void isAsGoodAsAnUnshardedOptimizer(int ranks) throws Exception {
    Jobs.run(
        ranks,
        world -> {
          for (Optimizer optimizer : optimizers()) {
            assertAsGoodAsUnsharded(world, Algorithm.direct(), optimizer, 3000);
          }
          for (int bucketLength : new int[] {1, 3000, 1 << 20}) {
            Optimizer optimizer = Optimizers.lamb(RATE, 0.01);
            assertAsGoodAsUnsharded(world, Algorithm.exchange(), optimizer, bucketLength);
          }
        });
  }

  private static void assertAsGoodAsUnsharded(
      Communicator world, Algorithm algorithm, Optimizer optimizer, int bucketLength) {
    Communicator ordered = world.using(Repeatability.RANK_ORDER).using(algorithm);
    ShardSettings settings = ShardSettings.defaults().withBucketLength(bucketLength);
    Model model = new Model(SEED + world.rank()); // Rank 0's are taken.
    Unsharded expected = new Unsharded(optimizer, SEED);
    try (ShardedOptimizer sharded = ShardedOptimizer.of(ordered, optimizer, settings)) {
      model.register(sharded, optimizer);
      for (int step = 0; step < STEPS; step++) {
        model.fill(step, world.rank());
        expected.step(world, model.gradients, 1, Double.POSITIVE_INFINITY);
        assertTrue(sharded.step().applied());
      }
      assertSame(expected.model.weights, model.weights, optimizer.name() + " " + algorithm);
    }
  }

  /** Whatever the algorithm: within some roundings of the reduction, and alike on all ranks. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "ring",
        "torus",
        "hierarchical",
        "weighted",
        "halving",
        "tree",
        "servers",
        "bidirectional",
        "auto"
      })
  void runsByAnyAlgorithm(String name) throws Exception {
    Algorithm algorithm =
        switch (name) {
          case "ring" -> Algorithm.ring();
          case "torus" -> Algorithm.torus(new Mesh(2, 2, true, true));
          case "hierarchical" -> Algorithm.named("hierarchical:2x2");
          case "weighted" -> Algorithm.named("weighted-torus:2x2/2:1");
          case "halving" -> Algorithm.halvingDoubling();
          case "tree" -> Algorithm.doubleBinaryTree();
          case "servers" -> Algorithm.direct();
          case "bidirectional" -> Algorithm.bidirectionalRing();
          default -> Algorithm.auto();
        };
    Jobs.run(
        4,
        world -> {
          for (Optimizer optimizer : List.of(Optimizers.sgd(RATE), Optimizers.lamb(RATE, 0.01))) {
            Model model = new Model(SEED);
            Unsharded expected = new Unsharded(optimizer, SEED);
            try (ShardedOptimizer sharded =
                ShardedOptimizer.of(world.using(algorithm), optimizer, ShardSettings.defaults())) {
              model.register(sharded, optimizer);
              for (int step = 0; step < STEPS; step++) {
                model.fill(step, world.rank());
                expected.step(world, model.gradients, 1, Double.POSITIVE_INFINITY);
                sharded.step();
              }
            }
            for (int i = 0; i < COUNTS.length; i++) {
              // Adam divides small by small: an element that is nearly 0 may turn its sign.
              assertArrayEquals(
                  expected.model.weights[i], model.weights[i], 1e-4f, optimizer.name());
              float[] first = model.weights[i].clone();
              world.broadcast(first, 0);
              assertArrayEquals(first, model.weights[i], "other bits than rank 0");
            }
          }
        });
  }

  /** The bits do not depend on the transport, in the order of ranks nor in a ring. */
  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void transportsGiveTheSameBits(String transport, @TempDir Path directory) throws Exception {
    float[][][] expected = new float[2][][];
    for (String by : List.of("inprocess", transport)) {
      Jobs.run(
          by,
          directory,
          3,
          world -> {
            Communicator[] groups = {
              world.using(Algorithm.direct()).using(Repeatability.RANK_ORDER),
              world.using(Algorithm.ring())
            };
            for (int i = 0; i < groups.length; i++) {
              Optimizer optimizer = Optimizers.lamb(RATE, 0.01);
              Model model = new Model(SEED);
              try (ShardedOptimizer sharded =
                  ShardedOptimizer.of(
                      groups[i], optimizer, ShardSettings.defaults().withBucketLength(2000))) {
                model.register(sharded, optimizer);
                for (int step = 0; step < STEPS; step++) {
                  model.fill(step, world.rank());
                  sharded.step();
                }
              }
              if (!by.equals("inprocess")) {
                assertSame(expected[i], model.weights, transport);
              } else if (world.rank() == 0) {
                expected[i] = model.weights;
              }
            }
          });
    }
  }

  /** Ready in any order, from several threads, with or without: the same weights. */
  @Test
  void overlappedIsAsInOneCall() throws Exception {
    Jobs.run(
        3,
        world -> {
          Optimizer optimizer = Optimizers.lamb(RATE, 0.01);
          ShardSettings settings = ShardSettings.defaults().withBucketLength(1000);
          Model one = new Model(SEED);
          Model other = new Model(SEED);
          Random random = new Random(SEED + world.rank());
          try (ShardedOptimizer whole = ShardedOptimizer.of(world, optimizer, settings);
              ShardedOptimizer overlapped = ShardedOptimizer.of(world, optimizer, settings)) {
            one.register(whole, optimizer);
            List<ShardedOptimizer.Tensor> tensors =
                new ArrayList<>(List.of(other.register(overlapped, optimizer)));
            for (int step = 0; step < STEPS; step++) {
              one.fill(step, world.rank());
              other.fill(step, world.rank());
              whole.step();
              Collections.shuffle(tensors, random);
              List<ShardedOptimizer.Tensor> some = tensors.subList(0, random.nextInt(6));
              some.parallelStream().forEach(overlapped::ready);
              overlapped.step();
              assertSame(one.weights, other.weights, "step " + step);
            }
          }
        });
  }

  @Test
  void aTensorThatIsReadyTwiceIsAnErrorOnAllRanks() throws Exception {
    Jobs.run(
        3,
        world -> {
          Model model = new Model(SEED);
          try (ShardedOptimizer sharded =
              ShardedOptimizer.of(world, Optimizers.sgd(RATE), ShardSettings.defaults())) {
            ShardedOptimizer.Tensor[] tensors = model.register(sharded, Optimizers.sgd(RATE));
            AbortedException error =
                assertThrows(
                    AbortedException.class,
                    () -> {
                      sharded.ready(tensors[0]);
                      if (world.rank() == 1) {
                        sharded.ready(tensors[0]);
                      }
                      sharded.step();
                    });
            assertEquals(1, error.worldRank());
            assertTrue(error.getMessage().contains("\"t0\" became ready twice"), error::toString);
          }
        });
  }

  /**
   * A NaN of one rank, infinity, or a sum that overflows: nobody updates, and nothing has changed.
   */
  @Test
  void aStepThatIsNotFiniteIsSkippedByAll() throws Exception {
    Jobs.run(
        3,
        world -> {
          for (Optimizer optimizer : optimizers()) {
            for (boolean checks : new boolean[] {false, true}) {
              Model model = new Model(SEED);
              Unsharded expected = new Unsharded(optimizer, SEED);
              Communicator group = world.using(Repeatability.RANK_ORDER);
              try (ShardedOptimizer sharded =
                  ShardedOptimizer.of(
                      checks ? group.checkingFinite() : group,
                      optimizer,
                      ShardSettings.defaults())) {
                model.register(sharded, optimizer);
                for (int step = 0; step < STEPS; step++) {
                  model.fill(step, world.rank());
                  if (step == 1 && world.rank() == 2) {
                    model.gradients[3][1234] = Float.NaN;
                  } else if (step == 2 && world.rank() == 0) {
                    model.gradients[1][9] = Float.NEGATIVE_INFINITY;
                  } else if (step == 3) {
                    model.gradients[5][0] = 3e38f;
                  }
                  ShardedStep result = sharded.step();
                  if (step == 1 || step == 2 || step == 3) {
                    assertFalse(result.applied());
                    assertEquals("t" + new int[] {0, 3, 1, 5}[step], result.nonFinite());
                    assertTrue(Double.isNaN(result.gradientNorm()));
                  } else {
                    assertTrue(result.applied());
                    assertNull(result.nonFinite());
                    expected.step(world, model.gradients, 1, Double.POSITIVE_INFINITY);
                  }
                }
                assertEquals(2, sharded.updates());
                assertSame(expected.model.weights, model.weights, optimizer.name());
              }
            }
          }
        });
  }

  /** The norm is that of all tensors together, after division by the scale of the loss. */
  @ParameterizedTest
  @ValueSource(doubles = {0.5, 10, 1e6})
  void clipsByTheGlobalNorm(double clip) throws Exception {
    Jobs.run(
        3,
        world -> {
          for (Optimizer optimizer : optimizers()) {
            Model model = new Model(SEED);
            Unsharded expected = new Unsharded(optimizer, SEED);
            try (ShardedOptimizer sharded =
                ShardedOptimizer.of(
                    world.using(Repeatability.RANK_ORDER),
                    optimizer,
                    ShardSettings.defaults().withClipNorm(clip))) {
              model.register(sharded, optimizer);
              for (int step = 0; step < STEPS; step++) {
                model.fill(step, world.rank());
                expected.step(world, model.gradients, 1 / 4.0, clip);
                ShardedStep result = sharded.step(4);
                assertEquals(Math.sqrt(2077 / 3.0) / 4, result.gradientNorm(), 0.4);
              }
            }
            for (int i = 0; i < COUNTS.length; i++) {
              // The factor is one of a norm that is rounded elsewhere.
              assertArrayEquals(
                  expected.model.weights[i], model.weights[i], 1e-5f, optimizer.name());
            }
          }
        });
  }

  @Test
  void microBatchesAreAveraged() throws Exception {
    Jobs.run(
        2,
        world -> {
          for (ReduceOp op : List.of(ReduceOp.AVERAGE, ReduceOp.SUM)) {
            Optimizer optimizer = Optimizers.adam(RATE);
            Model model = new Model(SEED);
            Unsharded expected = new Unsharded(optimizer, SEED);
            try (ShardedOptimizer sharded =
                ShardedOptimizer.of(
                    world.using(Repeatability.RANK_ORDER),
                    optimizer,
                    ShardSettings.defaults().withOp(op))) {
              ShardedOptimizer.Tensor[] tensors = model.register(sharded, optimizer);
              for (int step = 0; step < STEPS; step++) {
                Model sum = new Model(SEED);
                int batches = step == 2 ? 1 : 3; // No sums are left over.
                for (int batch = 0; batch < batches; batch++) {
                  model.fill(10 * step + batch, world.rank());
                  for (int i = 0; i < COUNTS.length; i++) {
                    for (int j = 0; j < COUNTS[i]; j++) {
                      sum.gradients[i][j] += model.gradients[i][j];
                    }
                  }
                  if (batch < batches - 1) {
                    sharded.accumulate();
                  }
                }
                sharded.ready(tensors[4]);
                sharded.step();
                double scale = op == ReduceOp.SUM ? 2 : 1.0 / batches;
                expected.step(world, sum.gradients, (float) scale, Double.POSITIVE_INFINITY);
              }
              assertSame(expected.model.weights, model.weights, op.toString());
            }
          }
        });
  }

  /** Ranks compute with rounded weights; updates are not lost in the rounding. */
  @Test
  void weightsTravelAsBfloat16() throws Exception {
    Jobs.run(
        3,
        world -> {
          for (int bucketLength : new int[] {1, 1000, 1 << 20}) {
            Optimizer optimizer = Optimizers.momentum(step -> 0.001, 0.9);
            Model model = new Model(SEED + world.rank());
            Unsharded expected = new Unsharded(optimizer, SEED);
            try (ShardedOptimizer sharded =
                ShardedOptimizer.of(
                    world.using(Repeatability.RANK_ORDER),
                    optimizer,
                    ShardSettings.defaults()
                        .withWeightType(WireType.BFLOAT16)
                        .withBucketLength(bucketLength))) {
              model.register(sharded, optimizer);
              sharded.load(0);
              for (int step = 0; step < 4 * STEPS; step++) {
                for (int i = 0; i < COUNTS.length; i++) {
                  for (int j = 0; j < COUNTS[i]; j++) {
                    float rounded = Bfloat16.toFloat(Bfloat16.of(expected.model.weights[i][j]));
                    assertEquals(rounded, model.weights[i][j], "step " + step);
                  }
                }
                model.fill(step, world.rank());
                expected.step(world, model.gradients, 1, Double.POSITIVE_INFINITY);
                sharded.step();
              }
            }
          }
        });
  }

  /** Each rank keeps 1/n of the state, to within a block for each bucket. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 7})
  void stateIsDividedByTheRanks(int ranks) throws Exception {
    int count = 100_000;
    Jobs.run(
        ranks,
        CallSettings.defaults(),
        world -> {
          float[] weights = new float[count];
          try (ShardedOptimizer sharded =
              ShardedOptimizer.of(world, Optimizers.adam(RATE), ShardSettings.defaults())) {
            sharded.register("w", Payload.of(weights), Payload.of(new float[count]));
            sharded.step();
            long whole = 3L * 4 * count; // Weights and two means.
            assertTrue(
                sharded.stateLength() <= whole / ranks + 3 * 4 * 64,
                sharded.stateLength() + " of " + whole);
            long[] total = {sharded.stateLength()};
            world.allReduce(total, ReduceOp.SUM);
            assertTrue(total[0] >= whole, "nothing is missing");
          }
        });
  }

  // ------------------------------------------------------------------ saving

  /**
   * A run that was interrupted after some steps has the bits of one that was not: with every
   * optimizer between two numbers of ranks, between all numbers with one.
   */
  @ParameterizedTest
  @CsvSource({"2,2", "3,3", "1,4", "4,1", "3,2", "2,5"})
  void anInterruptedRunEndsWithTheSameBits(int before, int after, @TempDir Path directory)
      throws Exception {
    boolean all = before == 3 && after == 2;
    for (Optimizer optimizer : all ? optimizers() : List.of(Optimizers.adam(RATE))) {
      for (WireType type : List.of(WireType.AS_IN_MEMORY, WireType.BFLOAT16)) {
        Path saved = directory.resolve(optimizer.name() + optimizer.hashCode() + type);
        ShardSettings settings =
            ShardSettings.defaults().withWeightType(type).withBucketLength(1500);
        float[][][] expected = new float[1][][];
        Jobs.run(
            before,
            world -> {
              Model model = new Model(SEED);
              try (ShardedOptimizer sharded =
                  ShardedOptimizer.of(world.using(Repeatability.EXACT), optimizer, settings)) {
                model.register(sharded, optimizer);
                assertFalse(sharded.restore(saved));
                for (int step = 0; step < 2 * STEPS; step++) {
                  if (step == 2 || step == STEPS) {
                    sharded.save(saved);
                  }
                  model.fill(step, 0); // The same on all ranks: so is the average of any number.
                  sharded.step();
                }
              }
              if (world.rank() == 0) {
                expected[0] = model.weights;
              }
            });
        Jobs.run(
            after,
            world -> {
              Model model = new Model(SEED + 7);
              try (ShardedOptimizer sharded =
                  ShardedOptimizer.of(
                      world.using(Repeatability.EXACT),
                      optimizer,
                      settings.withBucketLength(4000))) {
                model.register(sharded, optimizer);
                assertTrue(sharded.restore(saved));
                assertEquals(STEPS, sharded.updates());
                while (sharded.updates() < 2 * STEPS) {
                  model.fill((int) sharded.updates(), 0);
                  sharded.step();
                }
              }
              assertSame(expected[0], model.weights, optimizer.name() + " as " + type);
            });
      }
    }
  }

  private static TrainingException restoreFails(Path directory, int ranks, int tensors)
      throws Exception {
    TrainingException[] errors = new TrainingException[ranks];
    Jobs.run(
        ranks,
        world -> {
          Model model = new Model(SEED);
          try (ShardedOptimizer sharded =
              ShardedOptimizer.of(world, Optimizers.adam(RATE), ShardSettings.defaults())) {
            for (int i = 0; i < tensors; i++) {
              sharded.register(
                  "t" + i, Payload.of(model.weights[i]), Payload.of(model.gradients[i]));
            }
            errors[world.rank()] =
                assertThrows(TrainingException.class, () -> sharded.restore(directory));
            sharded.step(); // Nothing has changed, and the group is whole.
            assertEquals(1, sharded.updates());
          }
        });
    for (TrainingException error : errors) {
      assertEquals(errors[0].getMessage(), error.getMessage(), "the same on all ranks");
    }
    return errors[0];
  }

  @Test
  void whatDoesNotFitIsOneErrorOnAllRanks(@TempDir Path directory) throws Exception {
    Jobs.run(
        3,
        world -> {
          Model model = new Model(SEED);
          try (ShardedOptimizer sharded =
              ShardedOptimizer.of(world, Optimizers.adam(RATE), ShardSettings.defaults())) {
            for (int i = 0; i < 4; i++) {
              sharded.register(
                  "t" + i, Payload.of(model.weights[i]), Payload.of(model.gradients[i]));
            }
            sharded.step();
            sharded.save(directory);
          }
        });
    assertTrue(restoreFails(directory, 2, 5).getMessage().contains("4 tensors, this one has 5"));
    Path second = directory.resolve("step-000000000001.rank-1-of-3.model-0-of-1.shard");
    byte[] bytes = Files.readAllBytes(second);
    for (int at : new int[] {3, 9, 60, bytes.length / 2, bytes.length - 1}) {
      byte[] damaged = bytes.clone();
      damaged[at] ^= 4;
      Files.write(second, damaged);
      String message = restoreFails(directory, 2, 4).getMessage();
      assertTrue(message.contains(second.getFileName().toString()), message);
      assertTrue(message.contains("delete all files of step 1"), message);
    }
    Files.write(second, Arrays.copyOf(bytes, bytes.length - 5));
    String message = restoreFails(directory, 4, 4).getMessage();
    assertTrue(message.contains("ends too early"), message);
    Files.delete(second);
    message = restoreFails(directory, 3, 4).getMessage();
    assertTrue(message.contains("no checkpoint of which all files are there"), message);
  }

  @Test
  void weightsThatAreNotFiniteAreRefused() throws Exception {
    Jobs.run(
        3,
        world -> {
          Model model = new Model(SEED);
          if (world.rank() == 0) {
            model.weights[3][1000] = Float.NaN;
          }
          try (ShardedOptimizer sharded =
              ShardedOptimizer.of(world, Optimizers.sgd(RATE), ShardSettings.defaults())) {
            model.register(sharded, Optimizers.sgd(RATE));
            for (int i = 0; i < 2; i++) {
              TrainingException error = assertThrows(TrainingException.class, sharded::step);
              assertTrue(
                  error.getMessage().contains("weight 1000 of tensor \"t3\" is NaN"),
                  error::toString);
            }
            model.weights[3][1000] = 1;
            assertTrue(sharded.step().applied());
          }
        });
  }

  @Test
  void otherModelsAndSettingsAreAMismatch() throws Exception {
    for (int difference = 0; difference < 4; difference++) {
      int what = difference;
      Jobs.run(
          3,
          world -> {
            boolean odd = world.rank() == 2;
            ShardSettings settings =
                ShardSettings.defaults().withClipNorm(odd && what == 0 ? 2 : 1);
            Optimizer optimizer =
                odd && what == 1 ? Optimizers.adam(RATE) : Optimizers.momentum(RATE, 0.9);
            try (ShardedOptimizer sharded = ShardedOptimizer.of(world, optimizer, settings)) {
              sharded.register(
                  odd && what == 2 ? "x" : "w",
                  Payload.of(new float[10]),
                  Payload.of(new float[10]));
              if (odd && what == 3) {
                sharded.register("more", Payload.of(new float[1]), Payload.of(new float[1]));
              }
              MismatchException error = assertThrows(MismatchException.class, sharded::step);
              assertTrue(error.getMessage().contains("rank 2 has"), error::toString);
            }
          });
    }
  }

  @Test
  void argumentsAreChecked() throws Exception {
    Jobs.run(
        1,
        world -> {
          ShardSettings settings = ShardSettings.defaults();
          assertThrows(IllegalArgumentException.class, () -> settings.withOp(ReduceOp.MAX));
          assertThrows(IllegalArgumentException.class, () -> settings.withBucketLength(0));
          assertThrows(IllegalArgumentException.class, () -> settings.withClipNorm(Double.NaN));
          assertThrows(
              IllegalArgumentException.class, () -> settings.withWeightType(WireType.INT8));
          try (ShardedOptimizer sharded =
              ShardedOptimizer.of(world, Optimizers.sgd(RATE), settings)) {
            Payload ten = Payload.of(new float[10]);
            assertThrows(
                IllegalArgumentException.class,
                () -> sharded.register("w", ten, Payload.of(new float[9])));
            assertThrows(
                IllegalArgumentException.class,
                () -> sharded.register("w", Payload.of(new double[10]), ten));
            ShardedOptimizer.Tensor tensor = sharded.register("w", ten, Payload.of(new float[10]));
            assertThrows(IllegalStateException.class, tensor::split);
            assertThrows(IllegalArgumentException.class, () -> sharded.step(0));
            assertThrows(
                IllegalArgumentException.class, () -> sharded.step(Double.POSITIVE_INFINITY));
            sharded.step();
            assertThrows(
                IllegalStateException.class,
                () -> sharded.register("v", ten, Payload.of(new float[10])));
            assertThrows(IllegalStateException.class, () -> tensor.by(Optimizers.sgd(RATE)));
          }
        });
  }

  // ------------------------------------------------------------------ model parallelism

  /** A layer of which ranks have halves, and one that all have: as without model parallelism. */
  @ParameterizedTest
  @CsvSource({"4,2,2", "2,1,2", "4,1,4"})
  void splitLayersHaveOneNorm(int x, int y, int ways) throws Exception {
    int part = 192;
    Jobs.run(
        x * y,
        world -> {
          for (Optimizer optimizer : optimizers()) {
            ModelParallelMesh mesh = new ModelParallelMesh(Mesh.torus(x, y), ways);
            try (ModelParallel groups = ModelParallel.of(world, mesh)) {
              int shard = mesh.shard(world.rank());
              Random random = new Random(SEED);
              float[] whole = normal(random, part * ways);
              float[] shared = normal(random, 100);
              float[] split = Arrays.copyOfRange(whole, part * shard, part * (shard + 1));
              float[] splitGradients = new float[part];
              float[] sharedGradients = new float[100];
              float[] wanted = whole.clone();
              float[] wantedShared = shared.clone();
              float[][] state = new float[2][whole.length];
              float[][] sharedState = new float[2][100];
              Communicator replicas =
                  groups.replicas().using(Algorithm.direct()).using(Repeatability.EXACT);
              try (ShardedOptimizer sharded =
                  ShardedOptimizer.of(
                      replicas,
                      groups.modelGroup(),
                      optimizer,
                      ShardSettings.defaults().withClipNorm(15))) {
                sharded.register("split", Payload.of(split), Payload.of(splitGradients)).split();
                sharded.register("shared", Payload.of(shared), Payload.of(sharedGradients));
                for (int step = 1; step <= STEPS; step++) {
                  float[] gradients = normal(new Random(step), part * ways);
                  float[] others = normal(new Random(-step), 100);
                  System.arraycopy(gradients, part * shard, splitGradients, 0, part);
                  System.arraycopy(others, 0, sharedGradients, 0, 100);
                  ShardedStep result = sharded.step();
                  double norm =
                      Math.hypot(
                          Squares.norm(gradients, 0, gradients.length),
                          Squares.norm(others, 0, 100));
                  assertEquals(norm, result.gradientNorm(), 1e-12 * norm);
                  float factor = norm > 15 ? (float) (15 / result.gradientNorm()) : 1;
                  for (int i = 0; i < gradients.length; i++) {
                    gradients[i] *= factor;
                  }
                  for (int i = 0; i < others.length; i++) {
                    others[i] *= factor;
                  }
                  optimizer.update(wanted, gradients, state, 0, gradients.length, step);
                  optimizer.update(wantedShared, others, sharedState, 0, 100, step);
                }
                assertArrayEquals(
                    Arrays.copyOfRange(wanted, part * shard, part * (shard + 1)),
                    split,
                    optimizer.name());
                assertArrayEquals(wantedShared, shared, optimizer.name());
                // What one shard of the model finds, all ranks skip.
                if (world.rank() == 0) {
                  splitGradients[5] = Float.NaN;
                }
                assertEquals("split", sharded.step().nonFinite());
              }
            }
          }
        });
  }

  /** The state of each part of a model is its own. */
  @Test
  void modelParallelStateIsRestored(@TempDir Path directory) throws Exception {
    float[][] ends = new float[4][];
    for (int run = 0; run < 2; run++) {
      boolean isSecond = run == 1;
      Jobs.run(
          4,
          world -> {
            ModelParallelMesh mesh = new ModelParallelMesh(Mesh.torus(4, 1), 2);
            try (ModelParallel groups = ModelParallel.of(world, mesh);
                ShardedOptimizer sharded =
                    ShardedOptimizer.of(
                        groups.replicas(),
                        groups.modelGroup(),
                        Optimizers.lamb(RATE, 0.1),
                        ShardSettings.defaults())) {
              float[] weights = normal(new Random(SEED + mesh.shard(world.rank())), 500);
              float[] gradients = new float[500];
              sharded.register("w", Payload.of(weights), Payload.of(gradients)).split();
              assertEquals(isSecond, sharded.restore(directory));
              while (sharded.updates() < STEPS) {
                Random random = new Random(sharded.updates() + world.rank());
                System.arraycopy(normal(random, 500), 0, gradients, 0, 500);
                sharded.step();
                if (sharded.updates() == 2) {
                  sharded.save(directory);
                }
              }
              if (isSecond) {
                assertArrayEquals(ends[world.rank()], weights);
              } else {
                ends[world.rank()] = weights;
              }
            }
          });
    }
    assertFalse(Arrays.equals(ends[0], ends[1]));
    assertArrayEquals(ends[0], ends[2]);
    String message = restoreFails(directory, 2, 1).getMessage();
    assertTrue(message.contains("a model in 2 parts, this group shares it in 1"), message);
  }

  /** Gradients as int8, with error feedback, end near those of float32. */
  @Test
  void gradientsMayTravelNarrow() throws Exception {
    Jobs.run(
        3,
        world -> {
          for (WireType type : List.of(WireType.INT8, WireType.BFLOAT16)) {
            Optimizer optimizer = Optimizers.sgd(step -> 0.01);
            Model model = new Model(SEED);
            Unsharded expected = new Unsharded(optimizer, SEED);
            try (ShardedOptimizer sharded =
                ShardedOptimizer.of(
                    world.using(Algorithm.direct()).using(type),
                    optimizer,
                    ShardSettings.defaults())) {
              model.register(sharded, optimizer);
              for (int step = 0; step < 50; step++) {
                model.fill(1, world.rank()); // The same, so that a bias would add up.
                expected.step(world, model.gradients, 1, Double.POSITIVE_INFINITY);
                sharded.step();
              }
            }
            for (int i = 0; i < COUNTS.length; i++) {
              assertArrayEquals(
                  expected.model.weights[i],
                  model.weights[i],
                  type == WireType.INT8 ? 2e-3f : 1e-2f,
                  type.toString());
            }
          }
        });
  }
}
