package io.collectives.bench.digits;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.bench.digits.DigitsNetwork.Parameter;
import io.collectives.training.optimizer.Optimizer;
import java.util.Arrays;
import java.util.List;

/**
 * The times of the parts of a step of one rank that has no others: medians of many steps.
 *
 * @param counts the elements of each parameter, in the order in which their gradients are ready
 * @param readyNanos when the gradients of each are ready, after the beginning of the step
 * @param computeNanos when the backward pass is over
 * @param updateNanos what the update of all parameters takes
 */
public record DigitsProfile(
    long[] counts, double[] readyNanos, double computeNanos, double updateNanos) {
  private static final int WARM_UP = 60;
  private static final int STEPS = 41;

  /** Measures steps of a batch. */
  public static DigitsProfile measure(DigitsTask task, int batch) {
    DigitsProfile[] found = new DigitsProfile[1];
    Collectives.inThreads(1, world -> found[0] = measure(world, task, batch));
    return found[0];
  }

  private static DigitsProfile measure(Communicator world, DigitsTask task, int batch) {
    DigitsNetwork network =
        new DigitsNetwork(world, world, task.layout().tiles(), batch, task.seed());
    Digits images = Digits.read(false);
    float[] pixels = Arrays.copyOf(images.images(), batch * Digits.PIXELS);
    float[] scores = new float[batch * Digits.CLASSES];
    List<Parameter> parameters = network.parameters();
    Optimizer optimizer = DigitsRun.optimizer(task, STEPS + WARM_UP, 1);
    float[][][] states =
        parameters.stream()
            .map(parameter -> new float[2][parameter.weights().length])
            .toArray(float[][][]::new);
    int count = parameters.size();
    double[][] nanos = new double[count + 2][STEPS];
    for (int step = -WARM_UP; step < STEPS; step++) {
      long[] at = new long[count + 2];
      int[] next = {0};
      long start = System.nanoTime();
      network.forward(pixels, batch, scores, true);
      DigitsRun.losses(scores, images.labels(), batch, 1);
      network.backward(scores, batch, parameter -> at[next[0]++] = System.nanoTime() - start);
      at[count] = System.nanoTime() - start;
      for (int i = 0; i < count; i++) {
        Parameter parameter = parameters.get(i);
        (parameter.isBias() ? optimizer.forBiases() : optimizer)
            .update(
                parameter.weights(),
                parameter.gradients(),
                states[i],
                0,
                parameter.weights().length,
                step + WARM_UP + 1);
      }
      at[count + 1] = System.nanoTime() - start - at[count];
      for (int i = 0; i < count + 2 && step >= 0; i++) {
        nanos[i][step] = at[i];
      }
    }
    double[] medians = Arrays.stream(nanos).mapToDouble(DigitsProfile::median).toArray();
    long[] counts = new long[count];
    for (int i = 0; i < count; i++) {
      counts[i] = parameters.get(count - 1 - i).weights().length;
    }
    return new DigitsProfile(
        counts, Arrays.copyOf(medians, count), medians[count], medians[count + 1]);
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
