package io.collectives.djl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Batch;
import ai.djl.training.initializer.ConstantInitializer;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListener.BatchData;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.StackBatchifier;
import io.collectives.Collectives;
import io.collectives.Communicator;
import java.util.Map;

/**
 * Checks of a listener in a job of two processes. Ranks that are threads cannot train with DJL,
 * because a process collects gradients of one pass at a time, and clears those of all arrays first.
 */
final class ListenerChecks {
  private ListenerChecks() {}

  public static void main(String[] args) throws Exception {
    try (Communicator world = Collectives.join()) {
      ranksStepByTheAveragesFromTheWeightsOfRank0(world);
      parametersThatARankDoesNotUseStayTheSameOnAllRanks(world);
      aBatchBeforeTheBeginningIsRefused(world);
      metricsAreWeightedByExamples(world);
    }
    System.out.println("passed");
  }

  /** A trainer of two layers of one weight. */
  private static final class Job implements AutoCloseable {
    final DataParallelListener parallel;
    final Model model;
    final Trainer trainer;

    Job(Communicator world) {
      model = Model.newInstance("two", Device.cpu());
      model.setBlock(
          new SequentialBlock()
              .add(Linear.builder().setUnits(1).optBias(false).build())
              .add(Linear.builder().setUnits(1).optBias(false).build()));
      parallel = new DataParallelListener(world);
      trainer =
          model.newTrainer(
              new DefaultTrainingConfig(Loss.l2Loss())
                  .optInitializer(new ConstantInitializer(2 + world.rank()), Parameter.Type.WEIGHT)
                  .optDevices(new Device[] {Device.cpu()})
                  .optOptimizer(Optimizer.sgd().setLearningRateTracker(Tracker.fixed(1)).build())
                  .addTrainingListeners(new EvaluatorTrainingListener(), parallel));
      trainer.initialize(new Shape(1, 1));
    }

    NDArray weight(int layer) {
      return model.getBlock().getParameters().valueAt(layer).getArray();
    }

    /** Computes the gradients of {@code x * weight(0) + y * weight(1)}. */
    void backward(float x, float y) {
      try (GradientCollector collector = trainer.newGradientCollector()) {
        NDArray loss = weight(0).mul(x).sum();
        collector.backward(y == 0 ? loss : loss.add(weight(1).mul(y).sum()));
      }
    }

    void average(int examples) {
      NDManager manager = trainer.getManager();
      NDList none = new NDList(manager.zeros(new Shape(examples, 1)));
      Batch batch =
          new Batch(
              manager, none, none, examples, new StackBatchifier(), new StackBatchifier(), 1, 1);
      parallel.onTrainingBatch(trainer, new BatchData(batch, Map.of(), Map.of()));
    }

    @Override
    public void close() {
      parallel.close();
      trainer.close();
      model.close();
    }
  }

  private static void ranksStepByTheAveragesFromTheWeightsOfRank0(Communicator world)
      throws Exception {
    try (Job job = new Job(world)) {
      job.parallel.begin(job.trainer);
      assertEquals(2, job.weight(0).getFloat());
      for (int step = 0; step < 3; step++) {
        job.backward(1 + world.rank(), 0.5f);
        job.average(1);
        job.trainer.step();
        assertEquals(2 - 1.5 * (step + 1), job.weight(0).getFloat(), 1e-6);
        assertEquals(2 - 0.5 * (step + 1), job.weight(1).getFloat(), 1e-6);
      }
    }
  }

  private static void parametersThatARankDoesNotUseStayTheSameOnAllRanks(Communicator world)
      throws Exception {
    try (Job job = new Job(world)) {
      job.parallel.begin(job.trainer);
      job.backward(1, world.rank()); // Rank 0 has no gradient for the second layer.
      job.average(1);
      job.trainer.step();
      assertEquals(1, job.weight(0).getFloat());
      assertEquals(1.5, job.weight(1).getFloat());
    }
  }

  private static void aBatchBeforeTheBeginningIsRefused(Communicator world) throws Exception {
    try (Job job = new Job(world)) {
      IllegalStateException error = assertThrows(IllegalStateException.class, () -> job.average(1));
      assertTrue(error.getMessage().contains("begin(trainer)"), error.getMessage());
    }
  }

  private static void metricsAreWeightedByExamples(Communicator world) throws Exception {
    try (Job job = new Job(world)) {
      job.parallel.begin(job.trainer);
      job.backward(1, 1);
      job.average(1 + 2 * world.rank()); // 1 and 3 examples.
      job.parallel.onEpoch(job.trainer);
      Map<String, Double> metrics =
          job.parallel.mean(Map.of("train_loss", 4f * world.rank(), "validate_loss", 1f));
      assertEquals(Map.of("train_loss", 3.0), metrics);
    }
  }
}
