package io.collectives.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.BatchNorm;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.collectives.CollectiveException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.zip.GZIPInputStream;

/**
 * Trains on 1,024 digits in the ways that the arguments name, one after the other, and prints the
 * loss of all digits after each. Each rank has its share of the digits in each step.
 */
final class DigitsTraining {
  private static final int PIXELS = 64;
  private static final int CLASSES = 10;
  private static final int EXAMPLES = 1024;
  private static final int STEPS = 50;
  private static final float RATE = 0.5f;

  /** Ways to train. */
  enum Way {
    /** Without batch norm. */
    PLAIN,
    /** Batch norm, whose running statistics are averaged. */
    NORM,
    /** Batch norm, whose running statistics are those of each rank. */
    LOCAL_NORM,
    /** Rank 2 ends without a word in step 5. */
    KILLED
  }

  private final Communicator world;
  private final Way way;

  private DigitsTraining(Communicator world, Way way) {
    this.world = world;
    this.way = way;
  }

  public static void main(String[] args) throws Exception {
    try (Communicator world = Collectives.join()) {
      for (String arg : args) {
        new DigitsTraining(world, Way.valueOf(arg)).run();
      }
    } catch (CollectiveException e) {
      System.out.println("error " + e.getClass().getSimpleName() + ": " + e.getMessage());
      System.exit(3);
    }
  }

  private void run() throws Exception {
    Engine.getInstance().setRandomSeed(7 + world.rank()); // Rank 0's weights are broadcast.
    DefaultTrainingConfig config =
        new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
            .addEvaluator(new Accuracy())
            .optDevices(new Device[] {Device.cpu()})
            .optOptimizer(Optimizer.sgd().setLearningRateTracker(Tracker.fixed(RATE)).build())
            .addTrainingListeners(new EvaluatorTrainingListener());
    try (NDManager manager = NDManager.newBaseManager(Device.cpu());
        Model model = Model.newInstance("digits", Device.cpu())) {
      model.setBlock(block());
      ArrayDataset all = dataset(manager);
      try (DataParallelListener parallel = new DataParallelListener(world, way != Way.LOCAL_NORM);
          Trainer trainer =
              model.newTrainer(config.addTrainingListeners(parallel, new Death(world, way)))) {
        trainer.initialize(new Shape(EXAMPLES / world.size(), PIXELS));
        parallel.begin(trainer);
        EasyTrain.fit(trainer, STEPS, parallel.shard(all), null);
        parallel.metrics(trainer).forEach((name, value) -> print(name, value)); // Of the last step.
        print("loss", loss(trainer, manager));
        print("statistics", statistics(model));
      }
    }
  }

  private SequentialBlock block() {
    SequentialBlock block = new SequentialBlock().add(Linear.builder().setUnits(64).build());
    if (way == Way.NORM || way == Way.LOCAL_NORM) {
      block.add(BatchNorm.builder().build());
    }
    return block.add(Activation.reluBlock()).add(Linear.builder().setUnits(CLASSES).build());
  }

  /** Returns the mean of the running means. */
  private static double statistics(Model model) {
    return model.getBlock().getParameters().values().stream()
        .filter(parameter -> parameter.getType() == Parameter.Type.RUNNING_MEAN)
        .mapToDouble(parameter -> parameter.getArray().mean().getFloat())
        .sum();
  }

  private static double loss(Trainer trainer, NDManager manager) throws IOException {
    NDList labels = new NDList(labels(manager));
    NDList predictions = trainer.evaluate(new NDList(images(manager)));
    return trainer.getLoss().evaluate(labels, predictions).getFloat();
  }

  private ArrayDataset dataset(NDManager manager) throws IOException {
    return new ArrayDataset.Builder()
        .setData(images(manager))
        .optLabels(labels(manager))
        .setSampling(EXAMPLES / world.size(), false)
        .build();
  }

  private static NDArray images(NDManager manager) throws IOException {
    float[] pixels = new float[EXAMPLES * PIXELS];
    List<String> lines = lines();
    for (int i = 0; i < EXAMPLES; i++) {
      String[] cells = lines.get(i).split(",");
      for (int j = 0; j < PIXELS; j++) {
        pixels[i * PIXELS + j] = Integer.parseInt(cells[j]) / 16f;
      }
    }
    return manager.create(pixels, new Shape(EXAMPLES, PIXELS));
  }

  private static NDArray labels(NDManager manager) throws IOException {
    List<String> lines = lines();
    float[] digits = new float[EXAMPLES];
    for (int i = 0; i < EXAMPLES; i++) {
      digits[i] = Integer.parseInt(lines.get(i).split(",")[PIXELS]);
    }
    return manager.create(digits, new Shape(EXAMPLES, 1));
  }

  /**
   * Digits of the UCI Machine Learning Repository (Alpaydin and Kaynak, doi 10.24432/C50P49, CC BY
   * 4.0), which come with the command line.
   */
  private static List<String> lines() throws IOException {
    try (InputStream resource =
            Objects.requireNonNull(
                DigitsTraining.class.getResourceAsStream(
                    "/io/collectives/bench/digits/digits.csv.gz"));
        BufferedReader reader =
            new BufferedReader(
                new InputStreamReader(new GZIPInputStream(resource), StandardCharsets.US_ASCII))) {
      return reader.lines().toList();
    }
  }

  private void print(String what, double value) {
    System.out.printf(Locale.ROOT, "%s %s %.9g%n", way, what, value);
  }

  /** Ends the process of rank 2 in step 5. */
  private static final class Death extends TrainingListenerAdapter {
    private final Communicator world;
    private final Way way;
    private int epochs;

    Death(Communicator world, Way way) {
      this.world = world;
      this.way = way;
    }

    @Override
    public void onEpoch(Trainer trainer) {
      epochs++;
      if (way == Way.KILLED && world.rank() == 2 && epochs == 5) {
        Runtime.getRuntime().halt(9);
      }
    }
  }
}
