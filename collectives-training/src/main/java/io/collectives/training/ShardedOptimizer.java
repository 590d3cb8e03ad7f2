package io.collectives.training;

import io.collectives.Algorithm;
import io.collectives.Bfloat16;
import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.NonFiniteException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.training.ShardLayout.Bucket;
import io.collectives.training.ShardLayout.Piece;
import io.collectives.training.ShardLayout.Run;
import io.collectives.training.exact.ExactSums;
import io.collectives.training.exact.Squares;
import io.collectives.training.optimizer.LayerwiseOptimizer;
import io.collectives.training.optimizer.Optimizer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An optimizer for weights that all ranks have, of which each rank updates a part: gradients are
 * reduce-scattered, each rank applies the optimizer to its shard, and the new weights are
 * all-gathered. This sends as many bytes as an all-reduce of the gradients, and divides the work of
 * the update and the memory of the optimizer's state by the number of ranks (<em>weight-update
 * sharding</em>: Xu et al. 2020; Kumar et al. 2019, figure 4; Kumar et al. 2021, sections 3.2 and
 * 3.3). It corresponds to PyTorch's {@code ZeroRedundancyOptimizer}.
 *
 * <pre>{@code
 * Optimizer lamb = Optimizers.lamb(rate, 0.01);
 * try (ShardedOptimizer optimizer = ShardedOptimizer.of(world, lamb, ShardSettings.defaults())) {
 *   Tensor weight = optimizer.register("weight", Payload.of(weights), Payload.of(gradients));
 *   Tensor bias = optimizer.register("bias", Payload.of(b), Payload.of(db)).by(lamb.forBiases());
 *   optimizer.restore(directory);      // if there is a checkpoint
 *   while (optimizer.updates() < 1000) {
 *     ...                              // backward pass; optionally, whenever a gradient is ready:
 *     optimizer.ready(bias);
 *     optimizer.ready(weight);
 *     optimizer.step();                // weights are the next ones now, on all ranks
 *   }
 * }
 * }</pre>
 *
 * <p><b>Steps.</b> {@link #step} takes the gradients of all tensors. Gradients that were declared
 * {@link #ready} are reduced during the backward pass, in buckets, from the last tensor to the
 * first, which is the order of a backward pass if tensors are registered in that of the forward
 * pass. The gradients of a rank are never written, except accumulated ones.
 *
 * <p><b>Weights.</b> Before the first step all ranks get rank 0's weights. From then on they belong
 * to the optimizer, and the program only reads them; {@link #load} replaces them. All ranks have
 * the same bits after each step.
 *
 * <p><b>Numbers.</b> Gradients are reduced with the settings of the group, by any algorithm with a
 * reduce-scatter. Sharding adds no rounding: the weights are, bit by bit, those that a rank would
 * have got by itself by applying the same {@link Optimizer} to each tensor with the same reduced
 * gradients. For norms of layers, which LARS and LAMB need, and for clipping, ranks add up integers
 * ({@link Squares}), so that norms do not depend on the assignment of elements to ranks. With
 * {@code Repeatability.RANK_ORDER} reduced gradients depend on nothing but the gradients of the
 * ranks in their order, and so do the weights.
 *
 * <p><b>Messages.</b> In addition to the buckets a step has one small all-reduce, of 136 bytes for
 * each tensor (LARS: 272), for the norms and for the check that all gradients are finite. LAMB, and
 * LARS when it has clipped, has a second one.
 *
 * <p><b>Not finite.</b> If a reduced gradient is infinite or not a number, all ranks skip the
 * update: weights and state stay as they are, and {@link ShardedStep#applied} says so.
 *
 * <p><b>State.</b> {@link #save} writes a file for each rank, {@link #restore} reads those of any
 * number of ranks. A run that goes on from them ends with the same bits as one that was never
 * interrupted, if the group has as many ranks (or reduces gradients exactly) and does not send
 * gradients as {@code int8}.
 *
 * <p><b>Model parallelism.</b> Where ranks share a model, the group is that of the ranks with the
 * same shard of the model ({@code ModelParallel.replicas()}), and {@link #of(Communicator,
 * Communicator, Optimizer, ShardSettings)} takes the group that shares the model beside it: layers
 * that are {@linkplain Tensor#split split} over it have one norm, and all of its ranks skip, or
 * clip, together.
 *
 * <p><b>Memory.</b> Of a model with P parameters on n ranks each has, beside its own weights and
 * gradients, P/n weights, P/n gradients and P/n of each number of state, of 4 bytes; P/n is rounded
 * up by at most 64 elements for each tensor and bucket. With the wire type {@code int8} it also has
 * P floats of error feedback; after {@link #accumulate}, P floats of sums; with {@code bfloat16}
 * weights, twice 2 bytes for each element of a bucket.
 *
 * <p><b>Errors.</b> A {@link CollectiveException} ends the optimizer on all ranks: its groups are
 * broken, and the state of a lost rank is lost. Make a new one of {@linkplain Communicator#shrink()
 * the ranks that are left}, and restore.
 *
 * <p><b>Threads.</b> {@link #ready} may be called by several threads at once, all other methods by
 * one thread at a time, and not while {@link #ready} is under way.
 *
 * <p>One class because a step is one sequence over the same buckets and shard: reduce, compute
 * norms, update, gather.
 */
public final class ShardedOptimizer implements AutoCloseable {
  private final Communicator group;

  /** The group of ranks that share a model; null if each rank has the whole model. */
  private final @Nullable Communicator modelGroup;

  private final Optimizer optimizer;
  private final ShardSettings settings;
  private final boolean feedsBack;
  private final ReentrantLock lock = new ReentrantLock();
  private final List<Tensor> tensors = new ArrayList<>();
  private boolean begun;
  private boolean hasWeights;

  // What follows is there when the first step begins.

  private BucketMemory[] buckets = {};
  private float[] weights = {};
  private float[] gradients = {};
  private float[][] states = {};
  private ExactSums sums = ExactSums.ofSquares(0);
  private boolean hasLayers;
  private boolean hasPreparation;

  /** The bucket that is to be reduced next, -1 if all are reduced. */
  private int next;

  private int microBatches;
  private long updates;

  private ShardedOptimizer(
      Communicator group,
      @Nullable Communicator modelGroup,
      Optimizer optimizer,
      ShardSettings settings) {
    this.optimizer = Objects.requireNonNull(optimizer, "optimizer");
    this.settings = Objects.requireNonNull(settings, "settings");
    this.group = sameRanks(group);
    this.modelGroup = modelGroup == null ? null : sameRanks(modelGroup);
    CallSettings calls = group.settings();
    this.feedsBack =
        calls.wireType() == WireType.INT8
            && !calls.repeatability().needsAllAtOnce()
            && !calls.algorithm().equals(Algorithm.exchange());
  }

  private static Communicator sameRanks(Communicator group) {
    return group.group(IntStream.range(0, group.size()).toArray());
  }

  /**
   * Makes an optimizer whose ranks each have the whole model.
   *
   * @param group the ranks; all of them call this, in the same order as they make other groups of
   *     it. The optimizer has a group of its own, with the settings of this one
   * @param optimizer the optimizer of all tensors that are not given another one
   */
  public static ShardedOptimizer of(
      Communicator group, Optimizer optimizer, ShardSettings settings) {
    return new ShardedOptimizer(group, null, optimizer, settings);
  }

  /**
   * Makes an optimizer whose ranks have a part of the model each.
   *
   * @param replicas the ranks that have the same part as this one
   * @param modelGroup the ranks that have the whole model together; rank i of each has the same
   *     part
   * @param optimizer the optimizer of all tensors that are not given another one
   */
  public static ShardedOptimizer of(
      Communicator replicas, Communicator modelGroup, Optimizer optimizer, ShardSettings settings) {
    return new ShardedOptimizer(replicas, modelGroup, optimizer, settings);
  }

  /** A tensor of weights with its gradients. */
  public final class Tensor {
    final int index;
    final String name;
    final Payload.OfArray weights;
    final Payload.OfArray gradients;
    Optimizer optimizer;
    boolean isSplit;
    boolean isReady;
    float @Nullable [] sum;

    private Tensor(
        int index, String name, Payload.OfArray weights, Payload.OfArray gradients, Optimizer by) {
      this.index = index;
      this.name = name;
      this.weights = weights;
      this.gradients = gradients;
      this.optimizer = by;
    }

    /** Returns the name under which it was registered. */
    public String name() {
      return name;
    }

    /** Gives this tensor an optimizer of its own, before the first step. */
    public Tensor by(Optimizer own) {
      checkNotBegun();
      optimizer = Objects.requireNonNull(own, "optimizer");
      return this;
    }

    /**
     * Declares that this tensor is a part of a layer whose other parts the other ranks of the model
     * group have: the norm is that of all parts. This is called before the first step.
     *
     * @throws IllegalStateException also if the optimizer has no model group
     */
    public Tensor split() {
      checkNotBegun();
      if (modelGroup == null) {
        throw new IllegalStateException(
            "tensor "
                + this
                + " is split, but over no ranks: pass the group that shares the model to"
                + " ShardedOptimizer.of");
      }
      isSplit = true;
      return this;
    }

    private void checkNotBegun() {
      if (begun) {
        throw new IllegalStateException(
            "tensor " + this + " changed after the first step has begun: do it before");
      }
    }

    private int count() {
      return (int) weights.count();
    }

    private float[] weightArray() {
      return (float[]) weights.array();
    }

    private float[] gradientArray() {
      return (float[]) gradients.array();
    }

    @Override
    public String toString() {
      return "\"" + name + "\"";
    }
  }

  /** A bucket of this rank with its payloads. */
  private static final class BucketMemory {
    final Bucket bucket;
    final Payload gradients;
    final Payload weights;
    final float @Nullable [] residual;
    int waiting;
    @Nullable CollectiveHandle reduction;
    @Nullable CollectiveHandle gathering;
    short[] narrow = {};

    BucketMemory(Bucket bucket, List<Tensor> tensors, boolean feedsBack) {
      this.bucket = bucket;
      // What fills is sent as zeros, and received into memory that nobody reads.
      int filling =
          bucket.pieces().stream().filter(piece -> piece.tensor() < 0).mapToInt(Piece::count).sum();
      float[] zeros = new float[filling];
      float[] unread = new float[filling];
      List<Payload> from = new ArrayList<>();
      List<Payload> to = new ArrayList<>();
      int at = 0;
      for (Piece piece : bucket.pieces()) {
        if (piece.tensor() < 0) {
          from.add(Payload.of(zeros, at, piece.count()));
          to.add(Payload.of(unread, at, piece.count()));
          at += piece.count();
        } else {
          Tensor tensor = tensors.get(piece.tensor());
          from.add(tensor.gradients.slice(piece.offset(), piece.count()));
          to.add(tensor.weights.slice(piece.offset(), piece.count()));
        }
      }
      this.gradients = Payload.of(from);
      this.weights = Payload.of(to);
      this.residual = feedsBack ? new float[(int) gradients.count()] : null;
    }

    int tensors() {
      return (int)
          bucket.pieces().stream()
              .mapToInt(Piece::tensor)
              .filter(tensor -> tensor >= 0)
              .distinct()
              .count();
    }

    int count() {
      return (int) gradients.count();
    }
  }

  /**
   * Registers a tensor. All ranks of the group register the same tensors in the same order, that of
   * the forward pass, before the first step.
   *
   * @param name the name in errors and files, of one line
   * @param weights the float32 weights in an array; each step writes them, and on ranks other than
   *     0 they are written before the first
   * @param gradients as many float32 gradients in an array; each step reads them, and writes them
   *     only after {@link #accumulate}. They belong to the library from {@link #ready} until {@link
   *     #step} returns
   */
  public Tensor register(String name, Payload weights, Payload gradients) {
    if (name.indexOf('\n') >= 0) {
      throw new IllegalArgumentException("a tensor's name of several lines: must be one line");
    }
    if (begun) {
      throw new IllegalStateException(
          "tensor \"" + name + "\" after the first step has begun: register all tensors before");
    }
    Tensor tensor =
        new Tensor(
            tensors.size(),
            name,
            array(name, "weights", weights),
            array(name, "gradients", gradients),
            optimizer);
    if (weights.count() != gradients.count()) {
      throw new IllegalArgumentException(
          "tensor "
              + tensor
              + " with "
              + weights.count()
              + " weights and "
              + gradients.count()
              + " gradients: there must be as many");
    }
    tensors.add(tensor);
    return tensor;
  }

  private static Payload.OfArray array(String name, String what, Payload payload) {
    if (payload instanceof Payload.OfArray array && array.type() == ElementType.FLOAT32) {
      return array;
    }
    throw new IllegalArgumentException(
        what + " of tensor \"" + name + "\": must be a float[], or a range of one");
  }

  // ------------------------------------------------------------------ beginning

  /** Synchronizes all ranks; the caller holds the lock. */
  private void begin() {
    setUp();
    if (!hasWeights) {
      take(0);
    }
  }

  private void setUp() {
    if (begun) {
      return;
    }
    begun = true;
    agreeOnModel();
    int[] counts = tensors.stream().mapToInt(Tensor::count).toArray();
    ShardLayout layout =
        new ShardLayout(counts, settings.bucketLength(), group.size(), group.rank());
    buckets =
        layout.buckets.stream()
            .map(bucket -> new BucketMemory(bucket, tensors, feedsBack))
            .toArray(BucketMemory[]::new);
    int stateCount = tensors.stream().mapToInt(t -> t.optimizer.stateCount()).max().orElse(0);
    weights = new float[layout.shardCount];
    gradients = new float[layout.shardCount];
    states = new float[stateCount][layout.shardCount];
    for (Tensor tensor : tensors) {
      if (tensor.optimizer instanceof LayerwiseOptimizer layerwise) {
        hasLayers = true;
        hasPreparation |= layerwise.prepares();
      }
    }
    if (modelGroup != null) {
      // One rank's layers are all ranks' messages.
      int[] has = {hasLayers ? 1 : 0, hasPreparation ? 1 : 0};
      modelGroup.allReduce(has, ReduceOp.MAX);
      hasLayers = has[0] == 1;
      hasPreparation = has[1] == 1;
    }
    sums = ExactSums.ofSquares((hasLayers ? 2 : 1) * tensors.size());
    rewind();
  }

  private void agreeOnModel() {
    // An enum's own hash differs between processes.
    long digest = 31L * settings.bucketLength() + Double.hashCode(settings.clipNorm());
    digest = 31 * digest + settings.op().toString().hashCode();
    digest = 31 * digest + settings.weightType().toString().hashCode();
    long elements = 0;
    for (Tensor tensor : tensors) {
      digest = 31 * digest + tensor.name.hashCode();
      digest = 31 * digest + tensor.count();
      digest = 31 * digest + tensor.optimizer.name().hashCode();
      digest = 31 * digest + (tensor.isSplit ? 1 : 0);
      elements += tensor.count();
    }
    Agreement.same(
        group,
        "a model of [tensors, elements, digest of their names, optimizers and of the settings]",
        tensors.size(),
        elements,
        digest);
    if (modelGroup != null) {
      Agreement.same(modelGroup, "a model of [tensors]", tensors.size());
    }
  }

  /** Returns to the beginning of a step. */
  private void rewind() {
    for (Tensor tensor : tensors) {
      tensor.isReady = tensor.count() == 0;
    }
    for (BucketMemory bucket : buckets) {
      bucket.waiting = bucket.tensors();
      bucket.reduction = null;
    }
    next = buckets.length - 1;
  }

  /**
   * Broadcasts the weights of one rank to all ranks of the group, as is done for rank 0 before the
   * first step. All ranks call this. State and updates stay as they are.
   *
   * @param root the rank that sends its weights
   * @throws TrainingException on all ranks if a weight is not finite
   */
  public void load(int root) {
    Objects.checkIndex(root, group.size());
    lock.lock();
    try {
      setUp();
      take(root);
    } finally {
      lock.unlock();
    }
  }

  private void take(int root) {
    String fault = null;
    for (BucketMemory bucket : buckets) {
      group.broadcast(bucket.weights, root);
      for (Run run : bucket.bucket.runs()) {
        Tensor tensor = tensors.get(run.tensor());
        int from = tensor.weights.offset() + run.offset();
        System.arraycopy(tensor.weightArray(), from, weights, run.local(), run.count());
        int bad = firstNonFinite(weights, run.local(), run.count());
        if (bad >= 0 && fault == null) {
          fault =
              "weight "
                  + (run.offset() + bad)
                  + " of tensor "
                  + tensor
                  + " is "
                  + weights[run.local() + bad]
                  + ": load finite weights";
        }
      }
    }
    agree(fault);
    hasWeights = true;
    if (settings.weightType() == WireType.BFLOAT16) {
      for (Tensor tensor : tensors) {
        float[] values = tensor.weightArray();
        int from = tensor.weights.offset();
        for (int i = from; i < from + tensor.count(); i++) {
          values[i] = Bfloat16.toFloat(Bfloat16.of(values[i]));
        }
      }
    }
  }

  private static int firstNonFinite(float[] values, int from, int count) {
    for (int i = 0; i < count; i++) {
      if (!Float.isFinite(values[from + i])) {
        return i;
      }
    }
    return -1;
  }

  private void agree(@Nullable String fault) {
    TrainingException found = null;
    try {
      Agreement.check(group, fault);
    } catch (TrainingException e) {
      found = e;
    }
    if (modelGroup != null) {
      // Who has found nothing learns from the peers of its model, each with a rank of every shard.
      Agreement.check(modelGroup, found == null ? null : found.getMessage());
    }
    if (found != null) {
      throw found;
    }
  }

  // ------------------------------------------------------------------ steps

  /**
   * Declares that the gradients of a tensor are ready: they may be reduced while others are
   * computed. A program need not call it, since {@link #step} takes all gradients.
   *
   * @throws CollectiveException if the tensor was ready before in this step, which is an error on
   *     all ranks; or if the group is broken
   */
  public void ready(Tensor tensor) {
    lock.lock();
    try {
      check(tensor);
      begin();
      if (tensor.isReady && tensor.count() > 0) {
        throw mistake("tensor " + tensor + " became ready twice; say so once in a step");
      }
      settle(tensor);
    } finally {
      lock.unlock();
    }
  }

  private void check(Tensor tensor) {
    if (tensor.index >= tensors.size() || tensors.get(tensor.index) != tensor) {
      throw new IllegalArgumentException(
          "tensor " + tensor + " is none of this optimizer: register it");
    }
  }

  /** Ends the optimizer on all ranks. */
  private RuntimeException mistake(String what) {
    abort("the sharded optimizer at rank " + group.worldRank(group.rank()) + ": " + what);
    try {
      group.barrier();
    } catch (CollectiveException e) {
      return e;
    }
    return new IllegalStateException(what);
  }

  private void abort(String reason) {
    group.abort(reason);
    if (modelGroup != null) {
      modelGroup.abort(reason);
    }
  }

  private void settle(Tensor tensor) {
    if (tensor.isReady) {
      return;
    }
    float[] sum = tensor.sum;
    if (microBatches > 0 && sum != null) {
      addTo(tensor.gradientArray(), tensor.gradients.offset(), sum);
      Arrays.fill(sum, 0);
    }
    tensor.isReady = true;
    for (int i = 0; i < buckets.length; i++) {
      if (holds(buckets[i], tensor)) {
        buckets[i].waiting--;
      }
    }
    while (next >= 0 && buckets[next].waiting == 0) {
      start(buckets[next--]);
    }
  }

  private static boolean holds(BucketMemory bucket, Tensor tensor) {
    for (Piece piece : bucket.bucket.pieces()) {
      if (piece.tensor() == tensor.index) {
        return true;
      }
    }
    return false;
  }

  /** Computes {@code gradients = sum + gradients}, in the order of the micro-batches. */
  private static void addTo(float[] gradients, int from, float[] sum) {
    for (int i = 0; i < sum.length; i++) {
      gradients[from + i] = sum[i] + gradients[from + i];
    }
  }

  private static void add(float[] sum, float[] gradients, int from) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += gradients[from + i];
    }
  }

  private void start(BucketMemory memory) {
    Bucket bucket = memory.bucket;
    Payload part = Payload.of(gradients, bucket.local(), bucket.part());
    float[] residual = memory.residual;
    memory.reduction =
        residual == null
            ? group.async().reduceScatter(memory.gradients, part, settings.op())
            : group
                .async()
                .reduceScatter(memory.gradients, part, settings.op(), Payload.of(residual));
  }

  /**
   * Adds the present gradients, those of a micro-batch, to the accumulated ones; nothing is sent.
   * The next {@link #step} adds the sum to its own gradients, those of the last micro-batch, and,
   * if gradients are averaged, divides by the number of micro-batches. All ranks call this the same
   * number of times. A step that is skipped drops them all.
   */
  public void accumulate() {
    lock.lock();
    try {
      begin();
      for (Tensor tensor : tensors) {
        if (tensor.isReady && tensor.count() > 0) {
          throw mistake(
              "tensor "
                  + tensor
                  + " is ready within an accumulated micro-batch; say so in the last one only");
        }
        float[] sum = tensor.sum;
        if (sum == null) {
          sum = new float[tensor.count()];
          tensor.sum = sum;
        }
        add(sum, tensor.gradientArray(), tensor.gradients.offset());
      }
      microBatches++;
    } finally {
      lock.unlock();
    }
  }

  /** Updates all weights by the gradients; see {@link #step(double)}. */
  public ShardedStep step() {
    return step(1);
  }

  /**
   * Updates all weights by the gradients of all ranks, and waits for the result. All ranks call
   * this.
   *
   * @param lossScale the factor by which the loss was multiplied, so that small gradients are not
   *     lost: reduced gradients are divided by it. It is the same on all ranks, finite and more
   *     than 0
   * @throws CollectiveException if a rank is lost, has another model or settings, or is late
   */
  public ShardedStep step(double lossScale) {
    if (!(lossScale > 0) || lossScale == Double.POSITIVE_INFINITY) {
      throw new IllegalArgumentException(
          "a loss that was scaled by " + lossScale + ": must be finite and more than 0");
    }
    lock.lock();
    try {
      begin();
      for (int i = tensors.size() - 1; i >= 0; i--) {
        settle(tensors.get(i));
      }
      int batches = settings.op() == ReduceOp.AVERAGE ? microBatches + 1 : 1;
      ShardedStep step = update((float) (1 / (lossScale * batches)));
      microBatches = 0;
      rewind();
      return step;
    } catch (TrainingException e) {
      throw e;
    } catch (CollectiveException e) {
      drain();
      throw e;
    } catch (RuntimeException | Error e) {
      abort("its optimizer has failed: " + e);
      drain();
      throw e;
    } finally {
      lock.unlock();
    }
  }

  private ShardedStep update(float scale) {
    sums.clear();
    for (int i = buckets.length - 1; i >= 0; i--) {
      BucketMemory memory = buckets[i];
      await(memory.reduction);
      for (Run run : memory.bucket.runs()) {
        int to = run.local() + run.count();
        if (scale != 1) {
          multiply(gradients, run.local(), to, scale);
        }
        Squares.add(sums, run.tensor(), gradients, run.local(), to);
        if (tensors.get(run.tensor()).optimizer instanceof LayerwiseOptimizer) {
          Squares.add(sums, tensors.size() + run.tensor(), weights, run.local(), to);
        }
      }
    }
    reduce(sums);
    ExactSums total = ExactSums.ofSquares(1);
    for (int i = 0; i < sums.count(); i++) {
      if (sums.nonFinite(i) > 0) {
        return new ShardedStep(false, Double.NaN, tensors.get(i % tensors.size()).name);
      }
      if (i < tensors.size()) {
        total.add(0, sums, i);
      }
    }
    double norm = Math.sqrt(total.get(0));
    boolean clips = norm > settings.clipNorm();
    long number = updates + 1;
    if (clips || hasPreparation) {
      prepare(clips ? (float) (settings.clipNorm() / norm) : 1, number);
    }
    for (int i = buckets.length - 1; i >= 0; i--) {
      for (Run run : buckets[i].bucket.runs()) {
        update(run, number);
      }
      gather(i);
    }
    for (BucketMemory memory : buckets) {
      finish(memory);
    }
    updates = number;
    return new ShardedStep(true, norm, null);
  }

  /** Clips, lets layerwise optimizers prepare, and computes the norms again. */
  private void prepare(float factor, long number) {
    if (hasLayers) {
      for (int i = 0; i < tensors.size(); i++) {
        sums.clear(i);
      }
    }
    for (int i = buckets.length - 1; i >= 0; i--) {
      for (Run run : buckets[i].bucket.runs()) {
        int to = run.local() + run.count();
        if (factor != 1) {
          multiply(gradients, run.local(), to, factor);
        }
        if (tensors.get(run.tensor()).optimizer instanceof LayerwiseOptimizer layerwise) {
          layerwise.prepare(weights, gradients, states, run.local(), to, number);
          Squares.add(sums, run.tensor(), gradients, run.local(), to);
        }
      }
    }
    if (hasLayers) {
      // Those of the weights are known already: they are contributed by nobody.
      ExactSums again = ExactSums.ofSquares(tensors.size());
      for (int i = 0; i < tensors.size(); i++) {
        again.add(i, sums, i);
      }
      reduce(again);
      for (int i = 0; i < tensors.size(); i++) {
        sums.clear(i);
        sums.add(i, again, i);
      }
    }
  }

  private void update(Run run, long number) {
    Tensor tensor = tensors.get(run.tensor());
    int to = run.local() + run.count();
    if (tensor.optimizer instanceof LayerwiseOptimizer layerwise) {
      double weightNorm = Math.sqrt(sums.get(tensors.size() + tensor.index));
      double gradientNorm = Math.sqrt(sums.get(tensor.index));
      double layerRate = layerwise.layerRate(number, weightNorm, gradientNorm);
      layerwise.apply(weights, gradients, states, run.local(), to, number, layerRate);
    } else {
      tensor.optimizer.update(weights, gradients, states, run.local(), to, number);
    }
  }

  /**
   * Adds up sums over all ranks of the group, and those of split layers also over the model group.
   */
  private void reduce(ExactSums some) {
    group.allReduce(some.words(), ReduceOp.SUM);
    if (modelGroup == null) {
      return;
    }
    if (modelGroup.rank() != 0) {
      for (int i = 0; i < some.count(); i++) {
        if (!tensors.get(i % tensors.size()).isSplit) {
          some.clear(i); // All have it: it counts once.
        }
      }
    }
    modelGroup.allReduce(some.words(), ReduceOp.SUM);
  }

  private static void multiply(float[] values, int from, int to, float factor) {
    for (int i = from; i < to; i++) {
      values[i] *= factor;
    }
  }

  private static void await(@Nullable CollectiveHandle handle) {
    try {
      Objects.requireNonNull(handle).await();
    } catch (NonFiniteException e) {
      // The result is there, and its norm tells all ranks alike.
      return;
    }
  }

  /** Starts to gather a bucket, to which this rank contributes its part. */
  private void gather(int index) {
    BucketMemory memory = buckets[index];
    Bucket bucket = memory.bucket;
    if (settings.weightType() != WireType.BFLOAT16) {
      Payload part = Payload.of(weights, bucket.local(), bucket.part());
      memory.gathering = group.async().allGather(part, memory.weights);
      return;
    }
    // Two buckets are under way at once: the one after the next gives its memory to this one.
    short[] narrow = {};
    if (index + 2 < buckets.length) {
      finish(buckets[index + 2]);
      narrow = buckets[index + 2].narrow;
      buckets[index + 2].narrow = new short[0];
    }
    memory.narrow = narrow.length >= memory.count() ? narrow : new short[memory.count()];
    int at = group.rank() * bucket.part();
    for (int i = 0; i < bucket.part(); i++) {
      memory.narrow[at + i] = Bfloat16.of(weights[bucket.local() + i]);
    }
    memory.gathering =
        group
            .async()
            .allGather(
                Payload.of(memory.narrow, at, bucket.part(), ElementType.BFLOAT16),
                Payload.of(memory.narrow, 0, memory.count(), ElementType.BFLOAT16));
  }

  private void finish(BucketMemory memory) {
    CollectiveHandle gathering = memory.gathering;
    if (gathering == null) {
      return;
    }
    gathering.await();
    memory.gathering = null;
    if (settings.weightType() == WireType.BFLOAT16) {
      int at = 0;
      for (Piece piece : memory.bucket.pieces()) {
        if (piece.tensor() >= 0) {
          Tensor tensor = tensors.get(piece.tensor());
          float[] values = tensor.weightArray();
          int to = tensor.weights.offset() + piece.offset();
          for (int i = 0; i < piece.count(); i++) {
            values[to + i] = Bfloat16.toFloat(memory.narrow[at + i]);
          }
        }
        at += piece.count();
      }
    }
  }

  /** Waits until no call is under way any more, so that all memory belongs to the caller again. */
  private void drain() {
    for (BucketMemory memory : buckets) {
      for (CollectiveHandle handle : Arrays.asList(memory.reduction, memory.gathering)) {
        try {
          if (handle != null) {
            handle.await();
          }
        } catch (CollectiveException | NonFiniteException e) {
          continue; // There is an error already.
        }
      }
      memory.reduction = null;
      memory.gathering = null;
    }
  }

  // ------------------------------------------------------------------ saving

  /**
   * Writes this rank's shard, of weights and state, to a file in a directory. All ranks call this,
   * between two steps. {@link #restore} needs the files of all ranks in one directory. Older files
   * stay.
   *
   * @param directory the directory, which is made if it is missing
   * @throws TrainingException on all ranks if a file cannot be written
   */
  public void save(Path directory) {
    lock.lock();
    try {
      begin();
      ShardFile.Checkpoint checkpoint =
          new ShardFile.Checkpoint(
              updates, group.size(), modelGroup == null ? 1 : modelGroup.size());
      Path file = checkpoint.file(directory, group.rank(), modelRank());
      String fault = null;
      try {
        ShardFile.write(file, updates, shapes(), runs(), weights, states);
      } catch (IOException e) {
        fault = file + " cannot be written: " + e + "; name a directory that can be written to";
      }
      agree(fault);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Reads the newest weights and state in a directory to which all ranks of a run, of the same or
   * another number, have {@linkplain #save saved}. All ranks call this, between two steps, instead
   * of {@link #load} or later. Accumulated gradients stay.
   *
   * @return whether there was a checkpoint, the same on all ranks; if not, nothing has changed
   * @throws TrainingException on all ranks if a file is missing, damaged, or of another model; then
   *     nothing has changed
   */
  public boolean restore(Path directory) {
    lock.lock();
    try {
      setUp();
      ShardFile.Checkpoint checkpoint = agreeOnCheckpoint(directory);
      if (checkpoint == null) {
        return false;
      }
      float[] newWeights = new float[weights.length];
      float[][] newStates = new float[states.length][weights.length];
      agree(read(directory, checkpoint, newWeights, newStates));
      weights = newWeights;
      states = newStates;
      updates = checkpoint.updates();
      hasWeights = true;
      for (BucketMemory memory : buckets) {
        if (memory.residual != null) {
          Arrays.fill(memory.residual, 0);
        }
      }
      for (int i = buckets.length - 1; i >= 0; i--) {
        gather(i);
      }
      for (BucketMemory memory : buckets) {
        finish(memory);
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  private ShardFile.@Nullable Checkpoint agreeOnCheckpoint(Path directory) {
    long[] which = {-1, 0, 0};
    String fault = null;
    if (group.rank() == 0) {
      try {
        ShardFile.Checkpoint newest = ShardFile.newest(directory);
        if (newest != null) {
          which = new long[] {newest.updates(), newest.ranks(), newest.models()};
        }
      } catch (IOException e) {
        fault = directory + " cannot be restored from: " + e.getMessage();
      }
    }
    agree(fault);
    group.broadcast(Payload.of(which), 0);
    if (modelGroup != null) {
      Agreement.same(modelGroup, "a newest checkpoint of [step, ranks, parts of the model]", which);
    }
    int models = modelGroup == null ? 1 : modelGroup.size();
    if (which[0] >= 0 && which[2] != models) {
      throw new TrainingException(
          directory
              + " has a model in "
              + which[2]
              + " parts, this group shares it in "
              + models
              + ": restore with as many");
    }
    return which[0] < 0 ? null : new ShardFile.Checkpoint(which[0], (int) which[1], (int) which[2]);
  }

  private @Nullable String read(
      Path directory, ShardFile.Checkpoint checkpoint, float[] newWeights, float[][] newStates) {
    List<Run> runs = runs();
    long wanted = runs.stream().mapToLong(Run::count).sum();
    long found = 0;
    for (int rank = 0; rank < checkpoint.ranks(); rank++) {
      Path file = checkpoint.file(directory, rank, modelRank());
      try {
        found += ShardFile.read(file, checkpoint.updates(), shapes(), runs, newWeights, newStates);
      } catch (IOException e) {
        return file
            + " cannot be restored: "
            + e.getMessage()
            + "; bring back what was saved by this model, or delete all files of step "
            + checkpoint.updates()
            + " to restore the one before";
      }
    }
    return found == wanted
        ? null
        : "the files of step "
            + checkpoint.updates()
            + " in "
            + directory
            + " have "
            + found
            + " of the "
            + wanted
            + " weights of this shard: bring back all that were saved together";
  }

  private int modelRank() {
    return modelGroup == null ? 0 : modelGroup.rank();
  }

  private List<ShardFile.Shape> shapes() {
    return tensors.stream()
        .map(
            tensor ->
                new ShardFile.Shape(
                    tensor.name,
                    tensor.count(),
                    tensor.optimizer.name(),
                    tensor.optimizer.stateCount()))
        .toList();
  }

  private List<Run> runs() {
    return Arrays.stream(buckets).flatMap(memory -> memory.bucket.runs().stream()).toList();
  }

  // ------------------------------------------------------------------ questions

  /**
   * Returns the number of updates that the weights have had, those before a {@link #restore}
   * included.
   */
  public long updates() {
    return updates;
  }

  /**
   * Returns the number of bytes of weights and of the optimizer's state that this rank keeps in
   * addition to the model's own; known after the first step.
   */
  public long stateLength() {
    return (1L + states.length) * weights.length * Float.BYTES;
  }

  /** Ends the calls under way and leaves the optimizer's groups. Closing again does nothing. */
  @Override
  public void close() {
    group.close();
    if (modelGroup != null) {
      modelGroup.close();
    }
  }

  /** Returns a text with the sizes of this rank's shard and of the buckets. */
  @Override
  public String toString() {
    return "sharded "
        + optimizer.name()
        + " of rank "
        + group.rank()
        + " of "
        + group.size()
        + ": "
        + tensors.size()
        + " tensors in "
        + buckets.length
        + " buckets, "
        + stateLength()
        + " bytes of weights and state, "
        + updates
        + " updates";
  }
}
