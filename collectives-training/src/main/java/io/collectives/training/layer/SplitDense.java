package io.collectives.training.layer;

import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.Arrays;

/**
 * A dense layer, {@code y = W x + b}, of which each rank of a group has the weights of a part of
 * the features (Kumar et al. 2021, sections 3.1 and 4.3; Shoeybi et al. 2019). The group is one
 * that shares a model, such as {@code ModelParallel.modelGroup()}; all of its ranks work on the
 * same samples.
 *
 * <ul>
 *   <li>{@linkplain #byOutputs By outputs}: each rank has all of {@code x} and computes its part of
 *       {@code y}, without a message; in the backward pass the gradients of {@code x} are
 *       all-reduced.
 *   <li>{@linkplain #byInputs By inputs}: each rank has its part of {@code x}; the contributions to
 *       {@code y} are all-reduced; the backward pass sends no message.
 * </ul>
 *
 * <p>A layer split by outputs and then one split by inputs make a block of two layers with one
 * all-reduce in each pass. Part i of the features is that of {@link Communicator#partStart}.
 * Weights are parts of a layer: their gradients are reduced among the ranks that have the same
 * part, the <em>peers</em> in other model groups, as by {@code ModelParallel.allReduceGradients} or
 * a {@code ShardedOptimizer} of the replicas whose tensors are {@code split}.
 *
 * <p>Numbers that all ranks of the group get have the same bits on all; they agree with those of
 * the whole layer within rounding errors.
 */
public final class SplitDense {
  private final Communicator group;
  private final boolean isByInputs;
  private final int inputs;
  private final int outputs;
  private final float[] weights;
  private final float[] biases;
  private final float[] weightGradients;
  private final float[] biasGradients;
  private float[] input = {};
  private int batch;

  private SplitDense(Communicator group, boolean isByInputs, int inputs, int outputs) {
    this.group = group;
    this.isByInputs = isByInputs;
    this.inputs = inputs;
    this.outputs = outputs;
    this.weights = new float[Math.multiplyExact(inputs, outputs)];
    this.weightGradients = new float[weights.length];
    this.biases = new float[outputs];
    this.biasGradients = new float[outputs];
  }

  /**
   * Makes a layer whose outputs are split; weights and biases are 0.
   *
   * @param inputs the number of features of {@code x}, at least 1
   * @param outputs the number of features of {@code y} on all ranks together, at least 1
   */
  public static SplitDense byOutputs(Communicator group, int inputs, int outputs) {
    check(inputs, outputs);
    return new SplitDense(group, false, inputs, (int) group.partCount(outputs, group.rank()));
  }

  /**
   * Makes a layer whose inputs are split; weights and biases are 0.
   *
   * @param inputs the number of features of {@code x} on all ranks together, at least 1
   * @param outputs the number of features of {@code y}, at least 1
   */
  public static SplitDense byInputs(Communicator group, int inputs, int outputs) {
    check(inputs, outputs);
    return new SplitDense(group, true, (int) group.partCount(inputs, group.rank()), outputs);
  }

  private static void check(int inputs, int outputs) {
    if (inputs < 1 || outputs < 1) {
      throw new IllegalArgumentException(
          "a dense layer of "
              + inputs
              + " inputs and "
              + outputs
              + " outputs: there must be one of each at least");
    }
  }

  /** Returns the number of features of {@code x} on this rank. */
  public int inputs() {
    return inputs;
  }

  /** Returns the number of features of {@code y} on this rank. */
  public int outputs() {
    return outputs;
  }

  /**
   * Computes this rank's part of {@code y}.
   *
   * @param x {@link #inputs} features of each sample, one sample after the other; they must not
   *     change until {@link #backward}
   * @param batchSize the number of samples, the same on all ranks
   * @param y the array for {@link #outputs} features of each sample
   */
  public void forward(float[] x, int batchSize, float[] y) {
    SlidingWindows.check("input", x, (long) batchSize * inputs);
    SlidingWindows.check("result", y, (long) batchSize * outputs);
    input = x;
    batch = batchSize;
    // The biases count once.
    boolean adds = !isByInputs || group.rank() == 0;
    for (int n = 0; n < batch; n++) {
      for (int o = 0; o < outputs; o++) {
        y[n * outputs + o] =
            dot(weights, o * inputs, x, n * inputs, inputs) + (adds ? biases[o] : 0);
      }
    }
    if (isByInputs) {
      group.allReduce(Payload.of(y, 0, batch * outputs), ReduceOp.SUM);
    }
  }

  private static float dot(float[] a, int fromA, float[] b, int fromB, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
      sum += a[fromA + i] * b[fromB + i];
    }
    return (float) sum;
  }

  /**
   * Computes the gradients of the last {@link #forward}.
   *
   * @param dy the gradients of this rank's part of {@code y}
   * @param dx the array for the gradients of this rank's part of {@code x}
   */
  public void backward(float[] dy, float[] dx) {
    SlidingWindows.check("gradients of the result", dy, (long) batch * outputs);
    SlidingWindows.check("gradients of the input", dx, (long) batch * inputs);
    Arrays.fill(weightGradients, 0);
    Arrays.fill(biasGradients, 0);
    Arrays.fill(dx, 0, batch * inputs, 0);
    for (int n = 0; n < batch; n++) {
      for (int o = 0; o < outputs; o++) {
        float gradient = dy[n * outputs + o];
        biasGradients[o] += gradient;
        add(gradient, input, n * inputs, weightGradients, o * inputs, inputs);
        add(gradient, weights, o * inputs, dx, n * inputs, inputs);
      }
    }
    if (!isByInputs) {
      group.allReduce(Payload.of(dx, 0, batch * inputs), ReduceOp.SUM);
    }
  }

  private static void add(float factor, float[] from, int at, float[] to, int there, int count) {
    for (int i = 0; i < count; i++) {
      to[there + i] += factor * from[at + i];
    }
  }

  /** Returns, for each output of this rank, the weights of each of its inputs. */
  public float[] weights() {
    return weights;
  }

  /**
   * Returns the bias of each output of this rank; biases are the same on all ranks if the layer is
   * split by inputs.
   */
  public float[] biases() {
    return biases;
  }

  /** Returns the gradients of {@link #weights}, set by {@link #backward}. */
  public float[] weightGradients() {
    return weightGradients;
  }

  /** Returns the gradients of {@link #biases}, set by {@link #backward}. */
  public float[] biasGradients() {
    return biasGradients;
  }
}
