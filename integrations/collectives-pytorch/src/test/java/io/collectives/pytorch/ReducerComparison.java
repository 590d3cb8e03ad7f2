package io.collectives.pytorch;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.BackendOptional;
import org.bytedeco.pytorch.BoolVector;
import org.bytedeco.pytorch.FileStore;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.ProcessGroup;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Reducer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.SizeTStringMap;
import org.bytedeco.pytorch.SizeTVector;
import org.bytedeco.pytorch.SizeTVectorVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;

/**
 * Compares {@link DistributedDataParallel} with libtorch's own {@code Reducer} over {@code
 * ProcessGroupGloo}: steps of both, one after the other, on models of one shape in the same
 * processes, and sums of the same gradients by both. Arguments: an empty directory in which gloo's
 * ranks find each other, pairs of steps, and the hidden sizes.
 */
final class ReducerComparison {
  private static final int BATCH = 32;
  private static final int INPUTS = 64;
  private static final int CLASSES = 10;
  private static final int WARM_UP = 5;
  private static final long FIRST_BUCKET = 1 << 20;
  private static final long BUCKET = 25 << 20;

  private final Communicator world;
  private final ProcessGroupGloo gloo;
  private final ProcessGroup group;

  private ReducerComparison(Communicator world, Path directory) {
    this.world = world;
    ProcessGroupGloo.Options options = ProcessGroupGloo.Options.create();
    options.devices().push_back(ProcessGroupGloo.createDeviceForHostname("127.0.0.1"));
    FileStore store = new FileStore(directory.resolve("store").toString(), world.size());
    gloo = new ProcessGroupGloo(store, world.rank(), world.size(), options);
    group = new ProcessGroup(world.rank(), world.size());
    group.setBackend(DeviceType.CPU, ProcessGroup.BackendType.GLOO, new BackendOptional(gloo));
    group.setDefaultBackend(ProcessGroup.BackendType.GLOO);
  }

  public static void main(String[] args) {
    Natives.load();
    try (Communicator world = Collectives.join()) {
      ReducerComparison comparison = new ReducerComparison(world, Path.of(args[0]));
      for (String hidden : List.of(args).subList(2, args.length)) {
        comparison.compare(Integer.parseInt(hidden), Integer.parseInt(args[1]), true);
        comparison.compare(Integer.parseInt(hidden), Integer.parseInt(args[1]), false);
      }
    }
    System.exit(0); // Threads of gloo are left.
  }

  private static final class Net extends Module {
    private final LinearImpl first;
    private final LinearImpl second;
    private final LinearImpl third;
    private final SGD sgd;

    Net(int hidden) {
      torch.manual_seed(1);
      first = register_module("first", new LinearImpl(INPUTS, hidden));
      second = register_module("second", new LinearImpl(hidden, hidden));
      third = register_module("third", new LinearImpl(hidden, CLASSES));
      sgd = new SGD(parameters(), new SGDOptions(0.01));
    }

    /** Clears gradients; those that are views cannot be cleared by the optimizer. */
    void clear(boolean areViews) {
      if (!areViews) {
        sgd.zero_grad(false);
        return;
      }
      for (Tensor parameter : parameters().get()) {
        Tensor gradient = parameter.mutable_grad();
        if (gradient.defined()) {
          gradient.zero_();
        }
      }
    }

    Tensor loss(Tensor images, Tensor labels) {
      Tensor x = first.forward(images).relu();
      return torch.cross_entropy_loss(third.forward(second.forward(x).relu()), labels);
    }
  }

  private void compare(int hidden, int pairs, boolean areViews) {
    torch.manual_seed(100L + world.rank());
    Tensor images = torch.rand(BATCH, INPUTS);
    Tensor labels =
        Tensor.create(LongStream.range(0, BATCH).map(i -> i % CLASSES).toArray(), BATCH);
    Net ours = new Net(hidden);
    Net theirs = new Net(hidden);
    try (DistributedDataParallel parallel = DistributedDataParallel.of(world, ours)) {
      Reducer reducer = reducer(theirs, areViews);
      Runnable own =
          () -> {
            ours.sgd.zero_grad(false);
            parallel.backward(ours.loss(images, labels));
            ours.sgd.step();
          };
      Runnable libtorch =
          () -> {
            theirs.clear(areViews);
            reducer.rebuild_buckets();
            reducer.prepare_for_forward();
            Tensor loss = theirs.loss(images, labels);
            reducer.prepare_for_backward(new TensorVector());
            loss.backward();
            theirs.sgd.step();
          };
      String steps = pairs(own, libtorch, pairs);
      double difference = difference(ours, theirs);
      Tensor[] gradients =
          Arrays.stream(ours.parameters().get()).map(Tensor::grad).toArray(Tensor[]::new);
      io.collectives.Payload payload = TensorPayload.of(List.of(gradients));
      Tensor flat = torch.zeros(payload.count());
      TensorVector flats = new TensorVector(flat);
      String sums =
          pairs(
              () -> world.allReduce(payload, ReduceOp.SUM),
              () -> {
                try (Work work = gloo.allreduce(flats)) {
                  work._wait();
                }
              },
              pairs);
      if (world.rank() == 0) {
        System.out.printf(
            Locale.ROOT,
            "hidden %d, %,d bytes of gradients, libtorch's %s, greatest difference of weights %.1e%n  steps %s%n  sums  %s%n",
            hidden,
            payload.length(),
            areViews ? "in buckets" : "copied",
            difference,
            steps,
            sums);
      }
    }
  }

  /**
   * Makes libtorch's reducer as PyTorch's class does.
   *
   * @param areViews whether gradients lie in its buckets, so that it copies less
   */
  private Reducer reducer(Net net, boolean areViews) {
    TensorVector parameters = net.parameters();
    SizeTVectorVector inOrder =
        torch
            .compute_bucket_assignment_by_size(parameters, new SizeTVector(FIRST_BUCKET, BUCKET))
            .get0();
    List<SizeTVector> reversed = new ArrayList<>();
    for (long i = inOrder.size() - 1; i >= 0; i--) {
      reversed.add(new SizeTVector(inOrder.get(i).get()));
    }
    boolean[] none = new boolean[Math.toIntExact(parameters.size())];
    return new Reducer(
        parameters,
        new SizeTVectorVector(reversed.toArray(SizeTVector[]::new)),
        group,
        new BoolVector(none),
        BUCKET,
        false,
        areViews,
        new SizeTStringMap(),
        FIRST_BUCKET,
        false,
        false);
  }

  private double difference(Net one, Net other) {
    double most = 0;
    Tensor[] weights = one.parameters().get();
    Tensor[] others = other.parameters().get();
    for (int i = 0; i < weights.length; i++) {
      most = Math.max(most, weights[i].sub(others[i]).abs().max().item_double());
    }
    return most;
  }

  /** Runs both in turn, and describes the times of the slowest rank. */
  private String pairs(Runnable own, Runnable libtorch, int pairs) {
    double[][] times = new double[2][pairs];
    for (int i = -WARM_UP; i < pairs; i++) {
      for (int turn = 0; turn < 2; turn++) {
        int which = (turn + i & 1) == 0 ? 0 : 1;
        world.barrier();
        long start = System.nanoTime();
        (which == 0 ? own : libtorch).run();
        if (i >= 0) {
          times[which][i] = System.nanoTime() - start;
        }
      }
    }
    world.allReduce(times[0], ReduceOp.MAX);
    world.allReduce(times[1], ReduceOp.MAX);
    double[] ratios = new double[pairs];
    Arrays.setAll(ratios, i -> times[0][i] / times[1][i]);
    Arrays.sort(ratios);
    Arrays.sort(times[0]);
    Arrays.sort(times[1]);
    return String.format(
        Locale.ROOT,
        "ours %.2f ms least, %.2f median; libtorch's %.2f, %.2f; ratio of least %.2f, of pairs %.2f"
            + " (quartiles %.2f to %.2f)",
        times[0][0] / 1e6,
        times[0][pairs / 2] / 1e6,
        times[1][0] / 1e6,
        times[1][pairs / 2] / 1e6,
        times[0][0] / times[1][0],
        ratios[pairs / 2],
        ratios[pairs / 4],
        ratios[pairs * 3 / 4]);
  }
}
