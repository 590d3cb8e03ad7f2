package io.collectives.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.util.Pair;
import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.LongStream;

/**
 * Data-parallel training with DJL: every rank has the model, computes gradients of its own
 * examples, and updates its weights by the averages over all ranks. This listener averages the
 * gradients after each backward pass and before the step that uses them, in {@code EasyTrain.fit}
 * and in loops of a program's own that call {@code EasyTrain.trainBatch}.
 *
 * <pre>{@code
 * try (Communicator world = Collectives.join();
 *     DataParallelListener parallel = new DataParallelListener(world);
 *     Trainer trainer = model.newTrainer(config.addTrainingListeners(parallel))) {
 *   trainer.initialize(shape);
 *   parallel.begin(trainer);              // the weights of rank 0
 *   EasyTrain.fit(trainer, epochs, parallel.shard(dataset), null);
 * }
 * }</pre>
 *
 * <p><b>What is averaged.</b> The gradients are, in the memory where the engine keeps them. They
 * are those of one process that has the batches of all ranks, if all batches have one size and the
 * loss is a mean. All ranks must have the same number of batches, as {@link #shard} divides them.
 *
 * <p><b>Batch norm.</b> DJL's layer normalises each rank's batch by its own mean and variance,
 * which cannot be changed from outside. Its running statistics are averaged with the gradients, so
 * that evaluation and checkpoints are the same on all ranks; a switch leaves them as each rank has
 * them.
 *
 * <p><b>Limits.</b> The engine is PyTorch, and a rank trains on one device, the CPU.
 *
 * <p><b>Errors.</b> If another rank fails, the method of DJL that trains a batch ends with the
 * {@link CollectiveException} that names it, and gradients are undefined.
 *
 * <p><b>Threads.</b> One thread uses the listener: the one that trains.
 */
public final class DataParallelListener extends TrainingListenerAdapter implements AutoCloseable {
  private final Communicator group;
  private final GradientReducer reducer;
  private final boolean isAveragingStatistics;
  private final List<Reduced> arrays = new ArrayList<>();
  private boolean hasBegun;
  private long trained;
  private long validated;
  private long trainedInEpoch;
  private long validatedInEpoch;

  private record Reduced(NDArray array, boolean isGradient, GradientReducer.Tensor tensor) {
    /** Returns the array to reduce, which is to be closed if it {@link #isGradient}. */
    NDArray current() {
      return isGradient ? array.getGradient() : array;
    }
  }

  /**
   * Makes a listener that averages running statistics, too.
   *
   * @param group the ranks that train; all make one at the same time
   */
  public DataParallelListener(Communicator group) {
    this(group, true);
  }

  /**
   * Makes a listener.
   *
   * @param group the ranks that train; all make one at the same time
   * @param isAveragingStatistics whether running means and variances of batch norm become averages
   *     in each step; the same on all ranks
   */
  public DataParallelListener(Communicator group, boolean isAveragingStatistics) {
    this.group = group;
    this.reducer = GradientReducer.of(group, FusionSettings.defaults().withEnvironment());
    this.isAveragingStatistics = isAveragingStatistics;
  }

  /**
   * Gives all ranks the parameters of rank 0. All ranks call this once, after {@link
   * Trainer#initialize} and before they train.
   *
   * @throws IllegalArgumentException if the trainer has several devices, or a parameter cannot be
   *     {@linkplain ArrayPayload#of reduced}
   */
  public void begin(Trainer trainer) {
    if (trainer.getDevices().length > 1) {
      throw new IllegalArgumentException(
          "a trainer of "
              + trainer.getDevices().length
              + " devices: a rank trains on one; start a rank for each, and set"
              + " optDevices(Device.cpu())");
    }
    List<Payload> weights = new ArrayList<>();
    Map<Parameter, String> names = new LinkedHashMap<>(); // A shared one has several names.
    for (Pair<String, Parameter> named : trainer.getModel().getBlock().getParameters()) {
      names.putIfAbsent(named.getValue(), named.getKey());
    }
    names.keySet().forEach(parameter -> weights.add(ArrayPayload.of(parameter.getArray())));
    group.broadcast(Payload.of(weights), 0);
    makeGradients(trainer);
    names.forEach((parameter, name) -> register(name, parameter));
    hasBegun = true;
  }

  /**
   * Lets the engine make all gradients, by a pass whose gradients are zeros. Those of parameters
   * that a batch does not use would not exist otherwise, and DJL would show zeros in their place
   * that nobody reads.
   */
  private static void makeGradients(Trainer trainer) {
    try (GradientCollector collector = trainer.newGradientCollector()) {
      NDArray loss = trainer.getManager().create(0f);
      for (Parameter parameter : trainer.getModel().getBlock().getParameters().values()) {
        if (parameter.requiresGradient()) {
          loss = loss.add(parameter.getArray().mul(0).sum());
        }
      }
      collector.backward(loss);
    }
  }

  private void register(String name, Parameter parameter) {
    boolean isStatistic =
        parameter.getType() == Parameter.Type.RUNNING_MEAN
            || parameter.getType() == Parameter.Type.RUNNING_VAR;
    boolean isGradient = parameter.requiresGradient();
    if (!isGradient && !(isStatistic && isAveragingStatistics)) {
      return;
    }
    NDArray array = parameter.getArray();
    if (isGradient) {
      try (NDArray gradient = array.getGradient()) {
        arrays.add(new Reduced(array, true, reducer.register(name, ArrayPayload.of(gradient))));
      }
    } else {
      arrays.add(new Reduced(array, false, reducer.register(name, ArrayPayload.of(array))));
    }
  }

  /**
   * Averages the gradients. DJL calls this between the backward pass and the step.
   *
   * @throws IllegalStateException if {@link #begin} was not called
   * @throws CollectiveException if another rank failed, is late, or has another model
   */
  @Override
  public void onTrainingBatch(Trainer trainer, BatchData batch) {
    if (!hasBegun) {
      throw new IllegalStateException(
          "a batch before begin(trainer): call it after trainer.initialize(...), so that all ranks"
              + " have the weights of rank 0");
    }
    List<NDArray> gradients = new ArrayList<>();
    try {
      for (Reduced reduced : arrays) {
        NDArray current = reduced.current();
        if (reduced.isGradient()) {
          gradients.add(current);
        }
        reducer.ready(reduced.tensor(), ArrayPayload.view(current));
      }
      reducer.await();
    } finally {
      gradients.forEach(NDArray::close);
    }
    trainedInEpoch += batch.getBatch().getSize();
  }

  @Override
  public void onValidationBatch(Trainer trainer, BatchData batch) {
    validatedInEpoch += batch.getBatch().getSize();
  }

  @Override
  public void onEpoch(Trainer trainer) {
    trained = trainedInEpoch;
    validated = validatedInEpoch;
    trainedInEpoch = 0;
    validatedInEpoch = 0;
  }

  /**
   * Returns this rank's share of a dataset: every size-th example from its rank on, as many on each
   * rank; examples that are left over are dropped. Its batches are made as those of the dataset
   * are, so the size of a batch is that of one rank.
   */
  public RandomAccessDataset shard(RandomAccessDataset dataset) {
    long share = dataset.size() / group.size();
    return dataset.subDataset(
        LongStream.range(0, share).mapToObj(i -> i * group.size() + group.rank()).toList());
  }

  /**
   * Returns the last epoch's evaluations over all ranks: the mean of each number of {@code
   * trainer.getTrainingResult()}, weighted by the examples of each rank; those of a part that no
   * rank has are left out. All ranks call this after an epoch; evaluations come from a listener of
   * DJL, such as {@code EvaluatorTrainingListener}.
   */
  public Map<String, Double> metrics(Trainer trainer) {
    return mean(trainer.getTrainingResult().getEvaluations());
  }

  Map<String, Double> mean(Map<String, Float> evaluations) {
    Map<String, Float> local = new TreeMap<>(evaluations); // One order on all ranks.
    Map<String, Double> means = new TreeMap<>();
    long allTrained = group.allReduce(trained, ReduceOp.SUM);
    long allValidated = group.allReduce(validated, ReduceOp.SUM);
    local.forEach(
        (name, value) -> {
          boolean isValidation = name.startsWith("validate");
          long all = isValidation ? allValidated : allTrained;
          long mine = isValidation ? validated : trained;
          if (all > 0) {
            double weighted = mine == 0 ? 0 : (double) mine * value;
            means.put(name, group.allReduce(weighted, ReduceOp.SUM) / all);
          }
        });
    return means;
  }

  /** Leaves the groups in which gradients are averaged. Close the listener before the trainer. */
  @Override
  public void close() {
    reducer.close();
  }
}
