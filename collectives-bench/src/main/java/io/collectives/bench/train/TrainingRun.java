package io.collectives.bench.train;

import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.ReduceOp;
import io.collectives.bench.model.BitHash;
import io.collectives.bench.model.Gradients;
import io.collectives.bench.model.Tensor;
import io.collectives.bench.model.Values;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * A rank's part in a run: for each step new gradients, which become ready in the order of a
 * backward pass and are averaged where they lie, as in a training loop, and a check.
 *
 * <p>The check needs no second copy of the model: any rank can make any other's gradients again,
 * block by block. Each rank compares its share of every tensor with the average in double, and
 * hashes the bits of all of it; as all hashes are equal, every element of every rank has been
 * compared.
 */
public final class TrainingRun {
  private static final int BLOCK = 1024;
  private static final int LEAST_WARM_UPS = 3;

  /**
   * Ranks that share few processors wait long for the one that is checked last; a dead one is
   * noticed anyway.
   */
  private static final Duration LIMIT = Duration.ofMinutes(10);

  private final Communicator world;
  private final GradientReducer reducer;
  private final TrainingTask task;
  private final Gradients gradients;
  private final List<Values> tensors = new ArrayList<>();
  private final List<GradientReducer.Tensor> registered;
  private final BitHash hash = new BitHash();
  private double absoluteError;
  private double relativeError;
  private double greatest;
  private final float[] block = new float[BLOCK];

  private TrainingRun(Communicator world, TrainingTask task) {
    this.world = world.within(LIMIT);
    this.reducer =
        GradientReducer.of(
            this.world.using(task.algorithm().forRanks(world.size())).using(task.wireType()),
            FusionSettings.defaults());
    this.task = task;
    this.gradients = new Gradients(task.seed());
    List<Tensor> shapes = task.model().tensors();
    this.registered = new ArrayList<>();
    for (Tensor shape : shapes) {
      Values tensor = Values.of(task.type(), shape.count());
      tensors.add(tensor);
      registered.add(reducer.register(shape.name(), tensor.payload()));
    }
  }

  /**
   * Takes part in a run; all ranks call this with the same task.
   *
   * @param progress is told what is going on; called by rank 0 only
   */
  public static TrainingResult run(
      Communicator world, TrainingTask task, Consumer<String> progress) {
    TrainingRun run = new TrainingRun(world, task);
    try (run.reducer) {
      return run.run(world.rank() == 0 ? progress : text -> {});
    }
  }

  private TrainingResult run(Consumer<String> progress) {
    progress.accept("warming up");
    fill(0);
    warmUp();
    long[] nanos = new long[task.steps()];
    for (int step = 1; step <= task.steps(); step++) {
      progress.accept("step " + step + " of " + task.steps());
      fill(step);
      nanos[step - 1] = average();
      check(step);
      tensors.forEach(tensor -> tensor.addTo(hash));
    }
    return combined(nanos);
  }

  private void warmUp() {
    long start = System.nanoTime();
    int done = 0;
    long[] more = new long[1];
    do {
      average();
      done++;
      boolean wanted = done < LEAST_WARM_UPS || System.nanoTime() - start < task.warmUp().toNanos();
      more[0] = world.rank() == 0 && wanted ? 1 : 0;
      world.allReduce(more, ReduceOp.MAX);
    } while (more[0] == 1);
  }

  private void fill(int step) {
    for (int t = 0; t < tensors.size(); t++) {
      Values tensor = tensors.get(t);
      for (int first = 0; first < tensor.count(); first += BLOCK) {
        int length = Math.min(BLOCK, tensor.count() - first);
        gradients.fill(step, world.rank(), t, first, block, 0, length);
        put(tensor, first, length);
      }
    }
  }

  private void put(Values values, int at, int length) {
    for (int i = 0; i < length; i++) {
      values.set(at + i, block[i]);
    }
  }

  /** Returns the nanoseconds that this rank took. */
  private long average() {
    world.barrier();
    long start = System.nanoTime();
    for (int t = registered.size() - 1; t >= 0; t--) {
      reducer.ready(registered.get(t));
    }
    reducer.await();
    return System.nanoTime() - start;
  }

  /** Compares this rank's share of every tensor with the average in double. */
  private void check(int step) {
    int ranks = world.size();
    Values part = Values.of(task.type(), BLOCK);
    double[] sum = new double[BLOCK];
    double[] magnitude = new double[BLOCK];
    for (int t = 0; t < tensors.size(); t++) {
      Values tensor = tensors.get(t);
      long count = tensor.count();
      int end = (int) (count * (world.rank() + 1) / ranks);
      for (int first = (int) (count * world.rank() / ranks); first < end; first += BLOCK) {
        int length = Math.min(BLOCK, end - first);
        Arrays.fill(sum, 0);
        Arrays.fill(magnitude, 0);
        for (int rank = 0; rank < ranks; rank++) {
          gradients.fill(step, rank, t, first, block, 0, length);
          put(part, 0, length);
          for (int i = 0; i < length; i++) {
            double value = part.get(i);
            sum[i] += value;
            magnitude[i] += Math.abs(value);
            greatest = Math.max(greatest, Math.abs(value));
          }
        }
        compare(tensor, first, length, sum, magnitude);
      }
    }
  }

  private void compare(Values tensor, int first, int length, double[] sum, double[] magnitude) {
    int ranks = world.size();
    double floor = task.floor();
    for (int i = 0; i < length; i++) {
      double error = Math.abs(tensor.get(first + i) - sum[i] / ranks);
      // Math.max keeps a NaN, so that one is not lost.
      absoluteError = Math.max(absoluteError, error);
      if (!(error <= floor) && !task.isScaledTogether()) {
        relativeError = Math.max(relativeError, (error - floor) / (magnitude[i] / ranks));
      }
    }
  }

  private TrainingResult combined(long[] nanos) {
    world.allReduce(nanos, ReduceOp.MAX);
    Arrays.sort(nanos);
    double[] errors = {absoluteError, relativeError, greatest};
    world.allReduce(errors, ReduceOp.MAX);
    if (task.isScaledTogether() && errors[0] != 0) {
      errors[1] = errors[0] / errors[2];
    }
    long[] least = {hash.value()};
    long[] greatest = {hash.value()};
    world.allReduce(least, ReduceOp.MIN);
    world.allReduce(greatest, ReduceOp.MAX);
    return new TrainingResult(
        world.size(),
        nanos[(nanos.length - 1) / 2],
        nanos[0],
        errors[0],
        errors[1],
        task.tolerance(world.size()),
        least[0] == greatest[0]);
  }
}
