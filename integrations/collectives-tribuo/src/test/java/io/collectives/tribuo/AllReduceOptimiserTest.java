package io.collectives.tribuo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.bench.process.LaunchedJob;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tribuo.math.LinearParameters;
import org.tribuo.math.StochasticGradientOptimiser;
import org.tribuo.math.la.DenseMatrix;
import org.tribuo.math.la.DenseVector;
import org.tribuo.math.la.Matrix;
import org.tribuo.math.la.SparseVector;
import org.tribuo.math.la.Tensor;
import org.tribuo.math.optimisers.SGD;

@Timeout(value = 180, unit = TimeUnit.SECONDS)
@Tag("once")
class AllReduceOptimiserTest {
  static {
    Logger.getLogger("org.tribuo").setLevel(Level.WARNING);
  }

  /** The seven digits of the loss, and those of the weights. */
  private static final double DIGITS = 1e-9;

  @ParameterizedTest
  @CsvSource({"sgd, dense", "sgd, sparse", "adagrad, sparse", "averaging, dense"})
  void ranksLearnWhatOneProcessLearns(String optimiser, String kind) throws IOException {
    double[] alone = numbers(TribuoDigits.train(Collectives.inProcess(1).get(0), optimiser, kind));
    assertTrue(alone[0] < 1.5, "it has learned nothing: " + alone[0]);
    for (int ranks : new int[] {2, 4}) {
      List<String> results = new ArrayList<>();
      Collectives.inThreads(
          ranks,
          world -> {
            String result = train(world, optimiser, kind);
            synchronized (results) {
              results.add(result);
            }
          });
      System.out.println(optimiser + " " + kind + ": " + alone[0] + " alone, " + results);
      results.forEach(result -> assertNear(alone, numbers(result)));
    }
  }

  @Test
  void ranksWithOtherRandomWeightsEndWithTheSameOnes() {
    Set<String> losses = new HashSet<>();
    Collectives.inThreads(
        4,
        world -> {
          String loss = train(world, "adagrad", "factors");
          synchronized (losses) {
            losses.add(loss);
          }
        });
    assertEquals(1, losses.size(), losses::toString);
    assertTrue(numbers(losses.iterator().next())[0] < 1.5, losses::toString);
  }

  @ParameterizedTest
  @CsvSource({"1", "2", "4"})
  void processesLearnWhatOneProcessLearns(int ranks) throws Exception {
    double[] alone = numbers(TribuoDigits.train(Collectives.inProcess(1).get(0), "sgd", "sparse"));
    LaunchedJob.Program program =
        new LaunchedJob.Program(TribuoDigits.class, List.of(), List.of("sgd", "sparse"));
    LaunchedJob job = LaunchedJob.run(ranks, List.of(), program, Duration.ofSeconds(150));
    assertEquals(0, job.status(), job::toString);
    assertEquals(ranks, job.lines().size(), job::toString);
    job.lines().forEach(result -> assertNear(alone, numbers(result)));
  }

  /** The ranks have other columns in their sparse gradients, and other weights. */
  @Test
  void sparseGradientsAreSummed() {
    Collectives.inThreads(
        3,
        world -> {
          Recording recording = new Recording();
          AllReduceOptimiser optimiser = new AllReduceOptimiser(recording, world).copy();
          SparseVector column =
              SparseVector.createSparseVector(
                  4, new int[] {world.rank()}, new double[] {world.rank() + 1});
          Matrix outer = DenseVector.createDenseVector(new double[] {1, 10}).outer(column);
          Tensor[] summed = optimiser.step(new Tensor[] {column, outer}, world.rank() + 1);
          assertEquals(2.0, recording.weight);
          assertEquals(
              DenseVector.createDenseVector(new double[] {3, 6, 9, 0}), (DenseVector) summed[0]);
          assertEquals(
              DenseMatrix.createDenseMatrix(new double[][] {{3, 6, 9, 0}, {30, 60, 90, 0}}),
              (DenseMatrix) summed[1]);
        });
  }

  @Test
  void allRanksBeginWithTheWeightsOfRankZero() {
    Collectives.inThreads(
        2,
        world -> {
          DenseMatrix own = new DenseMatrix(2, 3);
          own.foreachInPlace(old -> world.rank() + 1);
          LinearParameters parameters = new LinearParameters(own);
          new AllReduceOptimiser(SGD.getSimpleSGD(1), world).initialise(parameters);
          assertEquals(6, parameters.getWeightMatrix().rowSum().sum());
        });
  }

  @Test
  void otherTensorsAreRefused() {
    Communicator world = Collectives.inProcess(1).get(0);
    Tensor strange =
        (Tensor)
            java.lang.reflect.Proxy.newProxyInstance(
                Tensor.class.getClassLoader(),
                new Class<?>[] {Tensor.class},
                (proxy, method, arguments) ->
                    method.getName().equals("getShape") ? new int[] {1} : null);
    AllReduceOptimiser optimiser = new AllReduceOptimiser(new Recording(), world);
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class, () -> optimiser.step(new Tensor[] {strange}, 1));
    assertTrue(e.getMessage().contains("cannot be summed: matrices and vectors"), e.getMessage());
  }

  private static String train(Communicator world, String optimiser, String kind) {
    try {
      return TribuoDigits.train(world, optimiser, kind);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static double[] numbers(String line) {
    return java.util.Arrays.stream(line.strip().split(" "))
        .mapToDouble(Double::parseDouble)
        .toArray();
  }

  private static void assertNear(double[] alone, double[] found) {
    assertEquals(alone.length, found.length);
    for (int i = 0; i < alone.length; i++) {
      assertEquals(alone[i], found[i], Math.abs(alone[i]) * DIGITS);
    }
  }

  /** Keeps the weight of a step, and returns the gradients as they are. */
  private static final class Recording implements StochasticGradientOptimiser {
    private double weight;

    @Override
    public Tensor[] step(Tensor[] gradients, double given) {
      weight = given;
      return gradients;
    }

    @Override
    public void reset() {}

    @Override
    public Recording copy() {
      return this;
    }

    @Override
    public com.oracle.labs.mlrg.olcut.provenance.ConfiguredObjectProvenance getProvenance() {
      throw new UnsupportedOperationException();
    }
  }
}
