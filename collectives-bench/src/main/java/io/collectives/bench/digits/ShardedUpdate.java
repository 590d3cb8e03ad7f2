package io.collectives.bench.digits;

import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.bench.digits.DigitsNetwork.Parameter;
import io.collectives.training.ShardSettings;
import io.collectives.training.ShardedOptimizer;
import io.collectives.training.optimizer.Optimizer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** An update of which each rank does a shard, and saves it in a file. */
final class ShardedUpdate implements WeightUpdate {
  private final ShardedOptimizer sharded;
  private final List<ShardedOptimizer.Tensor> tensors = new ArrayList<>();
  private final boolean overlaps;
  private final Optional<Path> directory;

  ShardedUpdate(
      Communicator workers,
      Optimizer optimizer,
      List<Parameter> parameters,
      DigitsTask.Reduction reduction,
      Optional<Path> directory) {
    this.overlaps = reduction.overlaps();
    this.directory = directory;
    sharded =
        ShardedOptimizer.of(
            workers,
            optimizer,
            ShardSettings.defaults().withBucketLength(reduction.bufferLength()));
    for (Parameter parameter : parameters) {
      tensors.add(
          sharded
              .register(
                  parameter.name(),
                  Payload.of(parameter.weights()),
                  Payload.of(parameter.gradients()))
              .by(parameter.isBias() ? optimizer.forBiases() : optimizer));
    }
  }

  @Override
  public void ready(int parameter) {
    if (overlaps) {
      sharded.ready(tensors.get(parameter));
    }
  }

  @Override
  public void accumulate() {
    sharded.accumulate();
  }

  @Override
  public void step() {
    sharded.step();
  }

  @Override
  public void save() {
    directory.ifPresent(sharded::save);
  }

  @Override
  public void resume(int root) {
    sharded.restore(directory.orElseThrow());
  }

  @Override
  public void close() {
    sharded.close();
  }
}
