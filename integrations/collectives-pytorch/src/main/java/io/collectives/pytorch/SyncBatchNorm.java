package io.collectives.pytorch;

import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNorm3dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;

/**
 * Batch norm by the mean and variance of the examples of all ranks, so that it does not depend on
 * how examples are divided. One object serves all layers of a model:
 *
 * <pre>{@code
 * SyncBatchNorm sync = new SyncBatchNorm(world);
 * ...
 * x = sync.forward(norm, x);            // instead of norm.forward(x)
 * }</pre>
 *
 * <p>The layer keeps its parameters and running statistics, which become the same on all ranks.
 * While it is not training, the layer alone computes. In training a pass forward makes two small
 * all-reduces that wait for each other, and a pass backward two more; so all ranks pass forward and
 * backward the same number of times, and steps must not be uneven.
 *
 * <p>The ranks' statistics are those of one process within rounding: sums of rank's sums, and then
 * of squared deviations from the mean of all. The loss of each rank is a mean over its examples, as
 * {@link DistributedDataParallel} wants it.
 *
 * <p>An object is used by one thread at a time. It must live until the backward passes of its
 * outputs have run.
 */
public final class SyncBatchNorm {
  private final Communicator group;

  /** A hook for all tensors, because JavaCPP allows ten objects of such a class. */
  private final TensorTensorHook backward = new SumBackward();

  /**
   * Makes an object for the layers of a model.
   *
   * @param group the ranks whose examples are normalised together; each makes the same calls in the
   *     same order, and no others by this communicator during a pass backward
   */
  public SyncBatchNorm(Communicator group) {
    this.group = group;
  }

  /** Normalises examples of shape (examples, features) or (examples, features, length). */
  public Tensor forward(BatchNorm1dImpl norm, Tensor input) {
    return norm.is_training() ? normalize(norm, norm.options(), input) : norm.forward(input);
  }

  /** Normalises images of shape (examples, channels, height, width). */
  public Tensor forward(BatchNorm2dImpl norm, Tensor input) {
    return norm.is_training() ? normalize(norm, norm.options(), input) : norm.forward(input);
  }

  /** Normalises volumes of shape (examples, channels, depth, height, width). */
  public Tensor forward(BatchNorm3dImpl norm, Tensor input) {
    return norm.is_training() ? normalize(norm, norm.options(), input) : norm.forward(input);
  }

  private Tensor normalize(Module norm, BatchNormOptions options, Tensor input) {
    long[] others = LongStream.range(0, input.dim()).filter(i -> i != 1).toArray();
    long[] shape = LongStream.range(0, input.dim()).map(i -> i == 1 ? input.size(1) : 1).toArray();
    long count = group.allReduce(input.numel() / input.size(1), ReduceOp.SUM);
    Tensor mean = sum(input.sum(others)).div(new Scalar((double) count));
    Tensor centered = input.sub(mean.view(shape));
    Tensor variance = sum(centered.mul(centered).sum(others)).div(new Scalar((double) count));
    if (options.track_running_stats().get()) {
      track(norm.named_buffers(), options.momentum(), mean, variance, count);
    }
    Tensor scale = variance.add(new Scalar(options.eps().get())).rsqrt();
    StringTensorDict parameters = norm.named_parameters();
    if (!parameters.contains("weight")) {
      return centered.mul(scale.view(shape));
    }
    Tensor weight = scale.mul(parameters.get("weight"));
    return centered.mul(weight.view(shape)).add(parameters.get("bias").view(shape));
  }

  @SuppressWarnings("try") // The guard is in force as long as it is open.
  private static void track(
      StringTensorDict buffers, DoubleOptional momentum, Tensor mean, Tensor variance, long count) {
    try (NoGradGuard unrecorded = new NoGradGuard()) {
      Tensor batches = buffers.get("num_batches_tracked");
      batches.add_(new Scalar(1L));
      Scalar part = new Scalar(momentum.has_value() ? momentum.get() : 1 / batches.item_double());
      buffers.get("running_mean").lerp_(mean, part);
      Scalar unbiased = new Scalar(count / (count - 1.0));
      buffers.get("running_var").lerp_(variance.mul(unbiased), part);
    }
  }

  /**
   * Sums a tensor over the ranks. Its gradient is the sum of the gradients of all ranks, as each
   * rank's number contributes to all sums.
   */
  private Tensor sum(Tensor local) {
    Tensor total = local.clone(); // Autograd takes the sum that is written here for the copy.
    group.allReduce(TensorPayload.of(total), ReduceOp.SUM);
    if (total.requires_grad()) {
      total.register_hook(backward);
    }
    return total;
  }

  /** Sums gradients over the ranks. */
  private final class SumBackward extends TensorTensorHook {
    @Override
    public TensorBase call(TensorBase gradient) {
      return HookFailure.keeping(
          () -> {
            Tensor total = new Tensor(gradient).contiguous().clone();
            group.allReduce(TensorPayload.of(total), ReduceOp.SUM);
            return total;
          });
    }
  }
}
