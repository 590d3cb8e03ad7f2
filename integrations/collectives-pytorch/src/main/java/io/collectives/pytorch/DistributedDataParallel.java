package io.collectives.pytorch;

import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import org.bytedeco.pytorch.FunctionPostHook;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItemVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Data-parallel training of a PyTorch model: every rank has the model, computes gradients of its
 * own examples, and updates its weights by the averages over all ranks.
 *
 * <pre>{@code
 * Natives.load();
 * try (Communicator world = Collectives.join();
 *     DistributedDataParallel parallel = DistributedDataParallel.of(world, model)) {
 *   SGD sgd = new SGD(model.parameters(), new SGDOptions(0.1));
 *   for (...) {                           // this rank's examples
 *     sgd.zero_grad(false);
 *     parallel.backward(loss(model, images, labels)); // gradients are averages now
 *     sgd.step();
 *   }
 * }
 * }</pre>
 *
 * <p><b>Weights.</b> All ranks begin with the parameters and buffers of rank 0. Their loss must be
 * the mean over their own examples; if all have the same number, the averages are the gradients of
 * the mean over all examples.
 *
 * <p><b>Gradients.</b> Each parameter that requires a gradient has one from the beginning on, and
 * libtorch adds to it where it lies; ranks reduce it in the same place. So {@code zero_grad(false)}
 * is the way to clear gradients. After {@code zero_grad()}, which drops them, {@link #backward}
 * puts zeros into the place; only if another method computed them without it a gradient is copied.
 *
 * <p><b>Overlap.</b> A hook behind each parameter's accumulation tells a {@link GradientReducer}
 * that its gradient is complete, while the backward pass computes others. Its buffers follow the
 * order in which rank 0's gradients are complete. Hooks run on the thread that runs the backward
 * pass, and start calls without waiting for them.
 *
 * <p><b>Uneven data.</b> With {@link FusionSettings#withUneven} ranks whose examples have ended
 * {@link #join()} the steps of the others.
 *
 * <p><b>Batch norm.</b> Each rank normalises by the statistics of its own examples, unless the
 * model calls {@link SyncBatchNorm}, and has running statistics of its own; {@link
 * #averageBuffers()} makes them equal, before evaluation or a checkpoint.
 *
 * <p><b>Errors.</b> If another rank fails, {@link #backward} ends with the {@link
 * CollectiveException} that names it, and gradients are undefined. If the backward pass of this
 * rank fails, the others get an error that says so.
 *
 * <p><b>Threads.</b> One thread at a time may use an object, and it is the one that runs the
 * model's backward passes.
 */
public final class DistributedDataParallel implements AutoCloseable {
  private final Communicator group;
  private final GradientReducer reducer;
  private final List<Parameter> parameters = new ArrayList<>();
  private final List<Tensor> buffers = new ArrayList<>();
  private boolean isSynchronizing = true;

  private DistributedDataParallel(Communicator group, GradientReducer reducer) {
    this.group = group;
    this.reducer = reducer;
  }

  /**
   * Wraps a model whose ranks have the same number of batches, and use every parameter in each.
   *
   * @param group the ranks, all of which call this at the same time with models of one shape
   * @param model a model in the host's memory
   */
  public static DistributedDataParallel of(Communicator group, Module model) {
    return of(group, model, FusionSettings.defaults().withEnvironment());
  }

  /**
   * Wraps a model.
   *
   * @param group the ranks, all of which call this at the same time with models of one shape
   * @param model a model in the host's memory
   * @param settings the same on all ranks: the length of buffers, whether parameters may be
   *     {@linkplain FusionSettings#withFindUnused unused}, whether data may be {@linkplain
   *     FusionSettings#withUneven uneven}
   * @throws IllegalArgumentException if a parameter or buffer cannot be {@linkplain
   *     TensorPayload#of reduced}
   */
  public static DistributedDataParallel of(
      Communicator group, Module model, FusionSettings settings) {
    GradientReducer reducer = GradientReducer.of(group, settings);
    DistributedDataParallel made = new DistributedDataParallel(group, reducer);
    try {
      made.add(model);
      return made;
    } catch (IllegalArgumentException e) {
      reducer.abort(String.valueOf(e.getMessage()));
      made.close();
      throw e;
    } catch (CollectiveException e) {
      made.close();
      throw e;
    }
  }

  private void add(Module model) {
    List<Tensor> state = new ArrayList<>();
    each(
        model.named_parameters(true),
        (name, value) -> {
          state.add(value);
          if (value.requires_grad()) {
            parameters.add(new Parameter(name, value));
          }
        });
    each(model.named_buffers(true), (name, value) -> buffers.add(value));
    state.addAll(buffers);
    if (!state.isEmpty()) {
      group.broadcast(TensorPayload.of(state), 0);
    }
  }

  private static void each(StringTensorDict named, BiConsumer<String, Tensor> action) {
    StringTensorDictItemVector items = named.items();
    Set<Long> seen = new HashSet<>();
    for (long i = 0; i < items.size(); i++) {
      // The value lies in the vector; a copy refers to the same tensor and outlives it.
      Tensor value = new Tensor(items.get(i).value());
      if (seen.add(value.unsafeGetTensorImpl().address())) { // Layers may share one.
        action.accept(items.get(i).key().getString(), value);
      }
    }
  }

  /**
   * Computes the gradients of this rank's examples, adds them to those that are there, and waits
   * until they are the averages over the ranks that have examples in this step.
   *
   * @param loss a scalar, the mean loss of this rank's examples
   * @throws CollectiveException if another rank failed, is late, or has another model
   * @throws RuntimeException what libtorch or a hook of the program throws; other ranks get an
   *     error
   */
  public void backward(Tensor loss) {
    takePlaces(true);
    run(loss);
    await();
  }

  /**
   * Computes the gradients of some of this rank's examples and adds them to those that are there,
   * without an exchange. The next {@link #backward} averages the sum of all: {@code no_sync()} of
   * PyTorch's class.
   *
   * @param loss a scalar, divided by the program by the number of passes of the step
   */
  public void accumulate(Tensor loss) {
    takePlaces(true);
    isSynchronizing = false;
    try {
      run(loss);
    } finally {
      isSynchronizing = true;
    }
  }

  private void run(Tensor loss) {
    try {
      HookFailure.rethrowing(loss::backward);
    } catch (CollectiveException e) {
      throw e;
    } catch (RuntimeException e) {
      reducer.abort("its backward pass failed: " + e.getMessage());
      throw e;
    }
  }

  /**
   * Waits until all gradients are averages. {@link #backward} does so; only programs that call
   * {@code loss.backward()} themselves call this, after each.
   *
   * @throws CollectiveException as {@link #backward}
   */
  public void await() {
    parameters.forEach(Parameter::settle);
    reducer.await();
    takePlaces(false);
  }

  /**
   * Takes part in a step of the other ranks without examples, after this rank's have ended: the
   * gradients become the averages over the ranks that have examples.
   *
   * <pre>{@code
   * while (parallel.join()) {
   *   sgd.step();
   * }
   * }</pre>
   *
   * @return whether there was a step: false once no rank has examples left
   * @throws IllegalStateException if the settings do not allow {@linkplain
   *     FusionSettings#withUneven uneven} steps
   * @throws CollectiveException as {@link #backward}
   */
  public boolean join() {
    boolean wasStep = reducer.join();
    if (wasStep) {
      takePlaces(false);
    }
    return wasStep;
  }

  /**
   * Makes the model's buffers the same on all ranks: floating-point numbers, such as running means
   * and variances, become averages; of integers, such as counts of batches, each becomes the
   * largest. All ranks call this.
   */
  public void averageBuffers() {
    for (Tensor buffer : buffers) {
      Payload payload = TensorPayload.of(buffer);
      boolean isInteger = !buffer.is_floating_point();
      group.allReduce(payload, isInteger ? ReduceOp.MAX : ReduceOp.AVERAGE);
    }
  }

  /**
   * Returns the engine that reduces the gradients, which tells what {@linkplain
   * GradientReducer#explain() buffers} it made, how many ranks {@linkplain
   * GradientReducer#contributors() had examples}, and which gradient is {@linkplain
   * GradientReducer#nonFinite() not finite}.
   */
  public GradientReducer reducer() {
    return reducer;
  }

  /** Moves gradients that were dropped or set by the program to where they are reduced. */
  @SuppressWarnings("try") // The guard is in force as long as it is open.
  private void takePlaces(boolean isBeforeReduction) {
    try (NoGradGuard unrecorded = new NoGradGuard()) {
      for (Parameter parameter : parameters) {
        parameter.takePlace(isBeforeReduction);
      }
    }
  }

  /** Removes the hooks from the model and leaves the groups of the reducer. */
  @Override
  public void close() {
    parameters.forEach(Parameter::remove);
    parameters.clear();
    reducer.close();
  }

  @Override
  public String toString() {
    return "data-parallel model of " + parameters.size() + " parameters, " + reducer;
  }

  /**
   * A parameter that requires a gradient. The fields keep what libtorch does not: the Java object
   * of the hook, without which a backward pass throws, and the node, without which no hook runs.
   */
  private final class Parameter extends FunctionPostHook {
    private final Tensor value;

    /** The field of the parameter that refers to its gradient. */
    private final Tensor gradient;

    /** The gradient that is reduced. */
    private final Tensor home;

    private final GradientReducer.Tensor registered;
    private final Node accumulation;
    private final long hook;

    /** If true, passes without an exchange were the last that contributed. */
    private boolean isAccumulated;

    Parameter(String name, Tensor value) {
      this.value = value;
      this.gradient = value.mutable_grad();
      this.home = torch.zeros_like(value);
      if (!gradient.defined()) {
        gradient.put(home);
      }
      this.registered = reducer.register(name, TensorPayload.of(home));
      Tensor view = value.view_as(value);
      this.accumulation = Objects.requireNonNull(view.grad_fn().next_edges().get(0).function());
      this.hook = accumulation.add_post_hook(this);
    }

    /** Runs when a backward pass has added the last contribution to the gradient. */
    @Override
    public TensorVector apply(TensorVector outputs, TensorVector inputs) {
      return HookFailure.keeping(
          () -> {
            isAccumulated = !isSynchronizing;
            if (isSynchronizing) {
              takePlace(true);
              reducer.ready(registered);
            }
            return outputs;
          });
    }

    /** Declares a gradient ready to which only passes without an exchange have contributed. */
    void settle() {
      if (isAccumulated) {
        isAccumulated = false;
        reducer.ready(registered);
      }
    }

    /**
     * Makes {@link #home} the gradient.
     *
     * @param isBeforeReduction whether home gets the numbers of the gradient, zeros if it was
     *     dropped; afterwards home has the right ones
     */
    void takePlace(boolean isBeforeReduction) {
      if (gradient.is_same(home)) {
        return;
      }
      if (isBeforeReduction && gradient.defined()) {
        home.copy_(gradient);
      } else if (isBeforeReduction) {
        home.zero_();
      }
      gradient.put(home);
    }

    void remove() {
      accumulation.del_post_hook(hook);
    }
  }
}
