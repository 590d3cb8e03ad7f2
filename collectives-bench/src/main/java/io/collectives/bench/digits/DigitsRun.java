package io.collectives.bench.digits;

import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.bench.digits.DigitsNetwork.Parameter;
import io.collectives.bench.digits.DigitsTask.Kill;
import io.collectives.bench.digits.DigitsTask.Slow;
import io.collectives.bench.model.BitHash;
import io.collectives.ps.Roles;
import io.collectives.ps.store.ParameterStore;
import io.collectives.training.evaluation.Evaluation;
import io.collectives.training.evaluation.EvenBatches;
import io.collectives.training.evaluation.Metrics;
import io.collectives.training.layer.BatchNorm;
import io.collectives.training.optimizer.LayerwiseOptimizer;
import io.collectives.training.optimizer.LearningRate;
import io.collectives.training.optimizer.Optimizer;
import io.collectives.training.optimizer.Optimizers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/** A rank's part in learning to read digits. */
public final class DigitsRun {
  private static final int EVALUATED = 60;

  private final DigitsTask task;
  private final DigitsListener listener;
  private final Digits images = Digits.read(false);
  private final Digits heldOut = Digits.read(true);
  private final Communicator workers;

  /** The ranks that have the same tile as this one, of other images. */
  private final Communicator replicas;

  private final int batch;
  private final DigitsNetwork network;

  private DigitsRun(Communicator workers, DigitsTask task, DigitsListener listener) {
    this.task = task;
    this.listener = listener;
    this.workers =
        workers
            .using(task.reduction().algorithm().forRanks(workers.size()))
            .using(task.reduction().wireType())
            .using(task.reduction().repeatability());
    int tiles = task.layout().tiles().ranks();
    Communicator group =
        workers
            .split(workers.rank() / tiles, workers.rank())
            .using(task.reduction().repeatability());
    this.replicas = workers.split(workers.rank() % tiles, workers.rank());
    this.batch = share(task, workers.size());
    Communicator norms = BatchNorm.groups(workers, task.layout().normRanks());
    this.network =
        new DigitsNetwork(
            norms, group, task.layout().tiles(), Math.max(batch, EVALUATED), task.seed());
  }

  /** The images of a micro-batch of one rank. */
  private static int share(DigitsTask task, int workers) {
    return Math.max(1, task.schedule().batch() / parts(task, workers));
  }

  /** The number of micro-batches of a step, of all ranks. */
  private static int parts(DigitsTask task, int workers) {
    return workers / task.layout().tiles().ranks() * task.schedule().microBatches();
  }

  /**
   * Takes part in a run; all ranks call this with the same task, in which nobody is killed.
   *
   * @param listener is told what each epoch has come to; on workers only
   */
  public static void run(Communicator world, DigitsTask task, DigitsListener listener) {
    if (task.distribution().update() != DigitsTask.Update.SERVERS) {
      DigitsRun run = new DigitsRun(world, task, listener);
      try (WeightUpdate update =
          run.update(new ReducedUpdate.Saved(), Optional.empty(), world.size())) {
        run.train(update, new Progress());
      }
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
      DigitsRun run = new DigitsRun(workers, task, listener);
      run.train(new ServerUpdate(store, run.network.parameters()), new Progress());
      store.finish();
    }
  }

  /**
   * Takes part in a run in which a rank is killed. The others shrink the world, grow it again when
   * the new process has joined, and go on from the end of the epoch before: with the weights and
   * the state that shards were saved with, or that a survivor has. So all ends with the bits of a
   * run in which nobody was killed, unless residuals of int8 gradients were lost.
   *
   * @param isNew whether this rank is the one that takes the place of the killed one
   * @param directory where shards are saved, the same for all ranks
   */
  public static void runThroughDeath(
      Communicator world, DigitsTask task, boolean isNew, Path directory, DigitsListener listener) {
    Kill kill = task.trouble().kill().orElseThrow();
    Progress progress = new Progress();
    ReducedUpdate.Saved saved = new ReducedUpdate.Saved();
    Communicator group = world;
    boolean resumes = isNew;
    try {
      while (true) {
        DigitsRun run = new DigitsRun(group, task, listener);
        try (WeightUpdate update = run.update(saved, Optional.of(directory), group.size())) {
          if (resumes) {
            progress.resume(group, kill.survivor());
            update.resume(kill.survivor());
          }
          run.train(update, progress.of(run.network));
          return;
        } catch (CollectiveException e) {
          if (resumes) {
            throw e; // Only one was to be killed.
          }
        }
        group = group.shrink().group().grow();
        resumes = true;
      }
    } finally {
      if (group != world) {
        group.close();
      }
    }
  }

  /** The epochs that are done, and the running statistics at the end of the last one. */
  private static final class Progress {
    private final long[] epochs = {0};
    private double[] statistics = {};
    private boolean isResumed;

    private Progress of(DigitsNetwork network) {
      if (!isResumed) {
        save(network, 0);
        return this;
      }
      int at = 0;
      for (double[] some : network.statistics()) {
        System.arraycopy(statistics, at, some, 0, some.length);
        at += some.length;
      }
      return this;
    }

    private void save(DigitsNetwork network, int done) {
      epochs[0] = done;
      statistics = network.statistics().stream().flatMapToDouble(Arrays::stream).toArray();
    }

    private void resume(Communicator group, int root) {
      isResumed = true;
      long[] count = {statistics.length};
      group.broadcast(Payload.of(count), root);
      if (group.rank() != root) {
        statistics = new double[(int) count[0]];
      }
      group.broadcast(Payload.of(epochs), root);
      group.broadcast(Payload.of(statistics), root);
    }
  }

  private static long steps(DigitsTask task, int workers) {
    int together = share(task, workers) * parts(task, workers);
    return (long) task.schedule().epochs() * (Digits.read(false).count() / together);
  }

  static Optimizer optimizer(DigitsTask task, long steps, int divisor) {
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

  private WeightUpdate update(ReducedUpdate.Saved saved, Optional<Path> directory, int ranks) {
    Optimizer optimizer = optimizer(task, steps(task, ranks), 1);
    List<Parameter> parameters = network.parameters();
    return task.distribution().update() == DigitsTask.Update.SHARDED
        ? new ShardedUpdate(workers, optimizer, parameters, task.reduction(), directory)
        : new ReducedUpdate(workers, optimizer, parameters, task.reduction(), saved);
  }

  private void train(WeightUpdate update, Progress progress) {
    List<Integer> order = new ArrayList<>(IntStream.range(0, images.count()).boxed().toList());
    int together = batch * parts(task, workers.size());
    long[] stepNanos = new long[images.count() / together];
    for (int epoch = 1; epoch <= task.schedule().epochs(); epoch++) {
      Collections.shuffle(order, new Random(task.seed() + epoch)); // Alike on all ranks.
      if (epoch <= progress.epochs[0]) {
        continue;
      }
      for (int step = 0; step < stepNanos.length; step++) {
        long start = System.nanoTime();
        suffer(step == stepNanos.length / 2 && !progress.isResumed ? epoch : 0);
        step(order.subList(step * together, (step + 1) * together), update);
        stepNanos[step] = System.nanoTime() - start;
      }
      DigitsResult result = evaluated(epoch);
      progress.save(network, epoch);
      update.save();
      listener.found(DigitsEpoch.of(result, stepNanos, together));
    }
  }

  /**
   * Lets happen what is to happen to this rank in this step.
   *
   * @param epoch the epoch in whose middle the step is; 0 if it is in none
   */
  private void suffer(int epoch) {
    if (task.trouble().kill().equals(Optional.of(new Kill(workers.rank(), epoch)))) {
      listener.awaitDeath();
    }
    Optional<Slow> slow = task.trouble().slow();
    if (slow.isPresent() && slow.get().rank() == workers.rank()) {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(slow.get().millis());
      for (long left; (left = end - System.nanoTime()) > 0; ) {
        LockSupport.parkNanos(left);
      }
    }
  }

  private void step(List<Integer> together, WeightUpdate update) {
    float[] pixels = new float[batch * Digits.PIXELS];
    int[] labels = new int[batch];
    float[] scores = new float[batch * Digits.CLASSES];
    int parts = task.schedule().microBatches();
    int replica = workers.rank() / task.layout().tiles().ranks();
    for (int part = 0; part < parts; part++) {
      for (int n = 0; n < batch; n++) {
        int image = together.get((replica * parts + part) * batch + n);
        System.arraycopy(
            images.images(), image * Digits.PIXELS, pixels, n * Digits.PIXELS, Digits.PIXELS);
        labels[n] = images.labels()[image];
      }
      network.forward(pixels, batch, scores, true);
      losses(scores, labels, batch, task.layout().tiles().ranks());
      boolean isLast = part == parts - 1;
      network.backward(scores, batch, isLast ? update::ready : parameter -> {});
      if (isLast) {
        update.step();
      } else {
        update.accumulate();
      }
    }
  }

  /**
   * The cross entropy of each image.
   *
   * @param factor if it is not 0, the scores are replaced by the gradients of the mean, multiplied
   *     by this; the number of tiles, whose gradients are to be added, makes up for an average over
   *     all ranks
   */
  static float[] losses(float[] scores, int[] labels, int count, int factor) {
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
      for (int i = 0; i < Digits.CLASSES && factor > 0; i++) {
        double share = StrictMath.exp(scores[at + i] - greatest) / sum;
        scores[at + i] = (float) (factor * (share - (i == labels[n] ? 1 : 0)) / count);
      }
    }
    return losses;
  }

  private DigitsResult evaluated(int epoch) {
    network.share(workers);
    EvenBatches batches =
        new EvenBatches(heldOut.count(), EVALUATED, replicas.size(), replicas.rank());
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
      evaluation.add(scores, labels, losses(scores, labels, valid, 0), valid);
    }
    Metrics metrics = evaluation.reduce(replicas);
    BitHash hash = new BitHash();
    network.parameters().forEach(parameter -> hash.add(parameter.weights()));
    return new DigitsResult(epoch, metrics.meanLoss(), metrics.accuracy(1), hash.value());
  }

  /** Returns whether servers can apply an optimizer. */
  public static boolean fitsServers(DigitsTask task) {
    return !(optimizer(task, 100, 1) instanceof LayerwiseOptimizer);
  }
}
