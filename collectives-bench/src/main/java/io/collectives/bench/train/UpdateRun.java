package io.collectives.bench.train;

import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.bench.model.Model;
import io.collectives.bench.model.Tensor;
import io.collectives.training.ShardSettings;
import io.collectives.training.ShardedOptimizer;
import io.collectives.training.optimizer.LearningRate;
import io.collectives.training.optimizer.Optimizer;
import io.collectives.training.optimizer.Optimizers;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * A rank's part in measuring what an optimizer's update takes: done by each rank for all weights,
 * after an all-reduce of the gradients, and for a shard. What the latter takes is the difference to
 * a step that reduce-scatters and all-gathers as much, and changes nothing. It contains the norms
 * of layers and the calls that they need, but for the squares of gradients, which every step adds
 * up to learn whether they are finite.
 */
public final class UpdateRun implements AutoCloseable {
  private final Communicator world;
  private final Optimizer optimizer;
  private final GradientReducer reducer;
  private final List<GradientReducer.Tensor> reduced = new ArrayList<>();
  private final List<float[]> weights = new ArrayList<>();
  private final List<float[]> gradients = new ArrayList<>();
  private final List<float[][]> states = new ArrayList<>();
  private final ShardedOptimizer sharded;
  private final ShardedOptimizer idle;
  private long updates;

  /** An optimizer whose update is measured. */
  public enum Rule {
    MOMENTUM,
    ADAM,
    LARS,
    LAMB;

    private Optimizer optimizer() {
      // So slow that weights stay as they are, however often they are updated.
      LearningRate rate = LearningRate.polynomial(1e-6, 1e-6, 1, 1);
      return switch (this) {
        case MOMENTUM -> Optimizers.nesterov(rate, 0.9, 1e-4);
        case ADAM -> Optimizers.adamW(rate, 0.01);
        case LARS -> Optimizers.lars(rate, 0.9, 1e-4, 0.001);
        case LAMB -> Optimizers.lamb(rate, 0.01);
      };
    }

    /** The name on the command line. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * The times of one round, on the slowest rank, in nanoseconds.
   *
   * @param reduction of an all-reduce of the gradients
   * @param update by each rank, of all weights
   * @param exchange of a step of shards that changes nothing
   * @param sharded of a step of shards
   */
  public record Times(long reduction, long update, long exchange, long sharded) {
    /** Returns, of each time, the lesser one. */
    public Times least(Times other) {
      return new Times(
          Math.min(reduction, other.reduction),
          Math.min(update, other.update),
          Math.min(exchange, other.exchange),
          Math.min(sharded, other.sharded));
    }

    /** Returns what the update of shards takes. */
    public long shardedUpdate() {
      return Math.max(0, sharded - exchange);
    }

    /** Returns the time of a step of shards, divided by that of a step without. */
    public double ratioOfSteps() {
      return (double) sharded / (reduction + update);
    }
  }

  /** An optimizer that changes nothing. */
  private record Idle() implements Optimizer {
    @Override
    public String name() {
      return "idle";
    }

    @Override
    public int stateCount() {
      return 0;
    }

    @Override
    public void update(
        float[] weights, float[] gradients, float[][] state, int from, int to, long step) {}
  }

  /**
   * Makes the tensors of a model; all ranks call this.
   *
   * @param divisor what the length of each tensor is divided by
   */
  public UpdateRun(Communicator world, Model model, int divisor, Rule rule) {
    this.world = world;
    this.optimizer = rule.optimizer();
    this.reducer = GradientReducer.of(world, FusionSettings.defaults());
    this.sharded = ShardedOptimizer.of(world, optimizer, ShardSettings.defaults());
    this.idle = ShardedOptimizer.of(world, new Idle(), ShardSettings.defaults());
    Random random = new Random(world.rank());
    for (Tensor tensor : model.tensors()) {
      int count = Math.max(1, tensor.count() / divisor);
      float[] weight = new float[count];
      float[] gradient = new float[count];
      for (int i = 0; i < count; i++) {
        weight[i] = random.nextFloat() - 0.5f;
        gradient[i] = random.nextFloat() - 0.5f;
      }
      weights.add(weight);
      gradients.add(gradient);
      states.add(new float[optimizer.stateCount()][count]);
      reduced.add(reducer.register(tensor.name(), Payload.of(gradient)));
      Optimizer by = tensor.shape().size() > 1 ? optimizer : optimizer.forBiases();
      sharded.register(tensor.name(), Payload.of(weight), Payload.of(gradient)).by(by);
      idle.register(tensor.name(), Payload.of(weight), Payload.of(gradient));
    }
    idle.step(); // Gives all ranks the same weights.
  }

  /** Returns about how many bytes all ranks of a run need. */
  public static long bytes(Model model, int divisor, int ranks) {
    // Weights, gradients and two numbers of state at each rank; two shards of up to four.
    return model.bytes() / divisor * (4L * ranks + 7);
  }

  /** Measures everything once, in turns. */
  public Times round() {
    long[] nanos = new long[4];
    writeGradients();
    world.barrier();
    long start = System.nanoTime();
    for (int i = reduced.size() - 1; i >= 0; i--) {
      reducer.ready(reduced.get(i));
    }
    reducer.await();
    nanos[0] = System.nanoTime() - start;
    world.barrier();
    start = System.nanoTime();
    updates++;
    for (int i = 0; i < weights.size(); i++) {
      float[] weight = weights.get(i);
      optimizer.update(weight, gradients.get(i), states.get(i), 0, weight.length, updates);
    }
    nanos[1] = System.nanoTime() - start;
    writeGradients();
    world.barrier();
    start = System.nanoTime();
    idle.step();
    nanos[2] = System.nanoTime() - start;
    writeGradients();
    world.barrier();
    start = System.nanoTime();
    sharded.step();
    nanos[3] = System.nanoTime() - start;
    world.allReduce(nanos, ReduceOp.MAX);
    return new Times(nanos[0], nanos[1], nanos[2], nanos[3]);
  }

  /** Writes all gradients, as a backward pass does: then no other rank has them in its cache. */
  private void writeGradients() {
    for (float[] gradient : gradients) {
      for (int i = 0; i < gradient.length; i++) {
        gradient[i] = -gradient[i];
      }
    }
  }

  @Override
  public void close() {
    idle.close();
    sharded.close();
    reducer.close();
  }
}
