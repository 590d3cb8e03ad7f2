package io.collectives.bench.digits;

import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.bench.digits.DigitsNetwork.Parameter;
import io.collectives.bench.model.BitHash;
import io.collectives.ps.Roles;
import io.collectives.ps.store.ParameterStore;
import io.collectives.training.ShardSettings;
import io.collectives.training.ShardedOptimizer;
import io.collectives.training.evaluation.Evaluation;
import io.collectives.training.evaluation.EvenBatches;
import io.collectives.training.evaluation.Metrics;
import io.collectives.training.layer.BatchNorm;
import io.collectives.training.optimizer.LayerwiseOptimizer;
import io.collectives.training.optimizer.LearningRate;
import io.collectives.training.optimizer.Optimizer;
import io.collectives.training.optimizer.Optimizers;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** A rank's part in learning to read digits. */
public final class DigitsRun {
  private static final int EVALUATED = 60;

  private final DigitsTask task;
  private final Digits images = Digits.read(false);
  private final Digits heldOut = Digits.read(true);
  private final Communicator workers;
  private final int batch;
  private final DigitsNetwork network;

  private DigitsRun(Communicator workers, DigitsTask task) {
    this.task = task;
    this.workers =
        workers
            .using(task.reduction().algorithm().forRanks(workers.size()))
            .using(task.reduction().wireType())
            .using(task.reduction().repeatability());
    this.batch = Math.max(1, task.schedule().batch() / workers.size());
    Communicator norms = BatchNorm.groups(workers, task.normRanks());
    this.network = new DigitsNetwork(norms, Math.max(batch, EVALUATED), task.seed());
  }

  /**
   * Takes part in a run; all ranks call this with the same task.
   *
   * @param found is told what each epoch has come to; on workers only
   */
  public static void run(Communicator world, DigitsTask task, Consumer<DigitsResult> found) {
    if (task.distribution().update() != DigitsTask.Update.SERVERS) {
      new DigitsRun(world, task).train(found);
      return;
    }
    Roles roles = Roles.dedicated(world.size(), task.distribution().servers());
    try (ParameterStore store = ParameterStore.of(world, roles, task.distribution().staleness())) {
      if (!store.isWorker()) {
        int workers = world.size() - task.distribution().servers();
        // Out of step each gradient is an update of its own: there are more of them, and smaller.
        int apart = task.distribution().staleness().isSynchronous() ? 1 : workers;
        store.serve(optimizer(task, steps(task, workers) * apart, apart));
        return;
      }
      Communicator workers =
          world.group(IntStream.range(0, world.size() - task.distribution().servers()).toArray());
      DigitsRun run = new DigitsRun(workers, task);
      for (Parameter parameter : run.network.parameters()) {
        store.register(
            parameter.name(), Payload.of(parameter.weights()), Payload.of(parameter.gradients()));
      }
      store.pull();
      run.train(store::step, found);
      store.finish();
    }
  }

  private static long steps(DigitsTask task, int workers) {
    int together = Math.max(1, task.schedule().batch() / workers) * workers;
    return (long) task.schedule().epochs() * (Digits.read(false).count() / together);
  }

  private static Optimizer optimizer(DigitsTask task, long steps, int divisor) {
    double greatest =
        (task.schedule().rate() == 0 ? task.rule().rate : task.schedule().rate()) / divisor;
    long warmUp = steps / 20;
    LearningRate rate =
        LearningRate.polynomial(greatest, 0, Math.max(1, steps - warmUp), 1).withWarmUp(warmUp);
    return switch (task.rule()) {
      case MOMENTUM -> Optimizers.nesterov(rate, 0.9, 1e-4);
      case ADAM -> Optimizers.adamW(rate, 0.01);
      case LARS -> Optimizers.lars(rate, 0.9, 1e-4, 0.2);
      case LAMB -> Optimizers.lamb(rate, 0.01);
    };
  }

  private void train(Consumer<DigitsResult> found) {
    Optimizer optimizer = optimizer(task, steps(task, workers.size()), 1);
    if (task.distribution().update() == DigitsTask.Update.SHARDED) {
      try (ShardedOptimizer sharded =
          ShardedOptimizer.of(workers, optimizer, ShardSettings.defaults())) {
        for (Parameter parameter : network.parameters()) {
          sharded
              .register(
                  parameter.name(),
                  Payload.of(parameter.weights()),
                  Payload.of(parameter.gradients()))
              .by(parameter.isBias() ? optimizer.forBiases() : optimizer);
        }
        train(sharded::step, found);
      }
      return;
    }
    try (GradientReducer reducer = GradientReducer.of(workers, FusionSettings.defaults())) {
      List<GradientReducer.Tensor> tensors = new ArrayList<>();
      List<float[][]> states = new ArrayList<>();
      for (Parameter parameter : network.parameters()) {
        tensors.add(reducer.register(parameter.name(), Payload.of(parameter.gradients())));
        states.add(new float[2][parameter.weights().length]);
      }
      long[] updates = {0};
      train(
          () -> {
            for (int i = tensors.size() - 1; i >= 0; i--) {
              reducer.ready(tensors.get(i));
            }
            reducer.await();
            updates[0]++;
            for (int i = 0; i < tensors.size(); i++) {
              Parameter parameter = network.parameters().get(i);
              (parameter.isBias() ? optimizer.forBiases() : optimizer)
                  .update(
                      parameter.weights(),
                      parameter.gradients(),
                      states.get(i),
                      0,
                      parameter.weights().length,
                      updates[0]);
            }
          },
          found);
    }
  }

  private void train(Runnable update, Consumer<DigitsResult> found) {
    float[] pixels = new float[batch * Digits.PIXELS];
    int[] labels = new int[batch];
    float[] scores = new float[batch * Digits.CLASSES];
    List<Integer> order = new ArrayList<>(IntStream.range(0, images.count()).boxed().toList());
    int together = batch * workers.size();
    for (int epoch = 1; epoch <= task.schedule().epochs(); epoch++) {
      Collections.shuffle(order, new Random(task.seed() + epoch)); // Alike on all ranks.
      for (int step = 0; step < images.count() / together; step++) {
        for (int n = 0; n < batch; n++) {
          int image = order.get(step * together + workers.rank() * batch + n);
          System.arraycopy(
              images.images(), image * Digits.PIXELS, pixels, n * Digits.PIXELS, Digits.PIXELS);
          labels[n] = images.labels()[image];
        }
        network.forward(pixels, batch, scores, true);
        losses(scores, labels, batch, true);
        network.backward(scores, batch);
        update.run();
      }
      found.accept(evaluated(epoch));
    }
  }

  /**
   * The cross entropy of each image.
   *
   * @param differentiates whether to replace the scores by the gradients of the mean
   */
  private static float[] losses(float[] scores, int[] labels, int count, boolean differentiates) {
    float[] losses = new float[labels.length];
    for (int n = 0; n < count; n++) {
      int at = n * Digits.CLASSES;
      double greatest = scores[at];
      for (int i = 1; i < Digits.CLASSES; i++) {
        greatest = Math.max(greatest, scores[at + i]);
      }
      double sum = 0;
      for (int i = 0; i < Digits.CLASSES; i++) {
        sum += StrictMath.exp(scores[at + i] - greatest);
      }
      losses[n] = (float) (StrictMath.log(sum) + greatest - scores[at + labels[n]]);
      for (int i = 0; i < Digits.CLASSES && differentiates; i++) {
        double share = StrictMath.exp(scores[at + i] - greatest) / sum;
        scores[at + i] = (float) ((share - (i == labels[n] ? 1 : 0)) / count);
      }
    }
    return losses;
  }

  private DigitsResult evaluated(int epoch) {
    network.share(workers);
    EvenBatches batches =
        new EvenBatches(heldOut.count(), EVALUATED, workers.size(), workers.rank());
    Evaluation evaluation = Evaluation.of(Digits.CLASSES, 1);
    float[] scores = new float[EVALUATED * Digits.CLASSES];
    for (long step = 0; step < batches.steps(); step++) {
      int first = (int) batches.first(step);
      int valid = batches.valid(step);
      float[] pixels = new float[EVALUATED * Digits.PIXELS];
      int[] labels = new int[EVALUATED];
      System.arraycopy(heldOut.images(), first * Digits.PIXELS, pixels, 0, valid * Digits.PIXELS);
      System.arraycopy(heldOut.labels(), first, labels, 0, valid);
      network.forward(pixels, EVALUATED, scores, false);
      evaluation.add(scores, labels, losses(scores, labels, valid, false), valid);
    }
    Metrics metrics = evaluation.reduce(workers);
    BitHash hash = new BitHash();
    network.parameters().forEach(parameter -> hash.add(parameter.weights()));
    return new DigitsResult(epoch, metrics.meanLoss(), metrics.accuracy(1), hash.value());
  }

  /** Returns whether servers can apply an optimizer. */
  public static boolean fitsServers(DigitsTask task) {
    return !(optimizer(task, 100, 1) instanceof LayerwiseOptimizer);
  }
}
