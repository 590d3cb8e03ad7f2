package io.collectives.bench.digits;

import io.collectives.BufferReduction;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.bench.digits.DigitsNetwork.Parameter;
import io.collectives.training.optimizer.Optimizer;
import java.util.ArrayList;
import java.util.List;

/** An update that each rank does by itself, with all-reduced gradients. */
final class ReducedUpdate implements WeightUpdate {
  private final Communicator workers;
  private final Optimizer optimizer;
  private final List<Parameter> parameters;
  private final GradientReducer reducer;
  private final List<GradientReducer.Tensor> tensors = new ArrayList<>();
  private final boolean overlaps;
  private final Saved saved;

  /** Weights, state and the number of updates of the last epoch's end: they outlive a group. */
  static final class Saved {
    private final List<float[]> weights = new ArrayList<>();
    private final List<float[][]> states = new ArrayList<>();
    private final List<float[]> savedWeights = new ArrayList<>();
    private final List<float[][]> savedStates = new ArrayList<>();
    private final long[] updates = {0};
    private final long[] savedUpdates = {0};

    private void begin(List<Parameter> parameters) {
      weights.clear();
      parameters.forEach(parameter -> weights.add(parameter.weights()));
      if (states.isEmpty()) {
        for (Parameter parameter : parameters) {
          states.add(new float[2][parameter.weights().length]);
        }
        save();
      }
    }

    private void save() {
      savedWeights.clear();
      savedStates.clear();
      weights.forEach(array -> savedWeights.add(array.clone()));
      states.forEach(state -> savedStates.add(new float[][] {state[0].clone(), state[1].clone()}));
      savedUpdates[0] = updates[0];
    }

    private void resume(Communicator group, int root) {
      updates[0] = savedUpdates[0];
      group.broadcast(Payload.of(updates), root);
      for (int i = 0; i < weights.size(); i++) {
        resume(group, root, savedWeights.get(i), weights.get(i));
        resume(group, root, savedStates.get(i)[0], states.get(i)[0]);
        resume(group, root, savedStates.get(i)[1], states.get(i)[1]);
      }
      save();
    }

    private static void resume(Communicator group, int root, float[] from, float[] to) {
      System.arraycopy(from, 0, to, 0, to.length);
      group.broadcast(Payload.of(to), root);
    }
  }

  ReducedUpdate(
      Communicator workers,
      Optimizer optimizer,
      List<Parameter> parameters,
      DigitsTask.Reduction reduction,
      Saved saved) {
    this.workers = workers;
    this.optimizer = optimizer;
    this.parameters = parameters;
    this.overlaps = reduction.overlaps();
    this.saved = saved;
    saved.begin(parameters);
    FusionSettings fusion =
        FusionSettings.defaults()
            .withBufferLength(reduction.bufferLength())
            .withFirstBufferLength(
                Math.min(reduction.bufferLength(), FusionSettings.defaults().firstBufferLength()));
    reducer =
        reduction.canFeedBack() && !reduction.feedsBack()
            ? GradientReducer.of(workers, fusion, new ForgetfulReduction(workers))
            : GradientReducer.of(workers, fusion, BufferReduction.allReduce(workers, 2));
    for (Parameter parameter : parameters) {
      tensors.add(reducer.register(parameter.name(), Payload.of(parameter.gradients())));
    }
  }

  @Override
  public void ready(int parameter) {
    if (overlaps) {
      reducer.ready(tensors.get(parameter));
    }
  }

  @Override
  public void step() {
    for (int i = tensors.size() - 1; i >= 0 && !overlaps; i--) {
      reducer.ready(tensors.get(i));
    }
    reducer.await();
    long number = ++saved.updates[0];
    for (int i = 0; i < parameters.size(); i++) {
      Parameter parameter = parameters.get(i);
      (parameter.isBias() ? optimizer.forBiases() : optimizer)
          .update(
              parameter.weights(),
              parameter.gradients(),
              saved.states.get(i),
              0,
              parameter.weights().length,
              number);
    }
  }

  @Override
  public void save() {
    saved.save();
  }

  @Override
  public void resume(int root) {
    saved.resume(workers, root);
  }

  @Override
  public void close() {
    reducer.close();
  }
}
