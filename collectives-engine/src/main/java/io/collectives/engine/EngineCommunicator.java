package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Calls;
import io.collectives.CollectiveBuffer;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Explanation;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.Statistics;
import io.collectives.Survivors;
import io.collectives.Trace;
import io.collectives.UserOp;
import io.collectives.WireType;
import io.collectives.engine.choice.AlgorithmTable.Row;
import io.collectives.engine.choice.BufferRows;
import io.collectives.engine.choice.Chooser;
import io.collectives.engine.choice.Locality;
import io.collectives.engine.choice.Tuner;
import io.collectives.engine.report.RunReporter;
import io.collectives.engine.run.Agreement;
import io.collectives.engine.run.Group;
import io.collectives.engine.run.Program;
import io.collectives.internal.DrivenByWaiters;
import io.collectives.internal.StepListener;
import io.collectives.internal.Traceable;
import io.collectives.spi.InlineExchange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A communicator of a group, with settings for its calls. */
final class EngineCommunicator
    implements Communicator, Traceable, StepListener.Source, DrivenByWaiters {

  /** The thing that closing a communicator ends. */
  enum Owns {
    THE_JOB,
    ITS_GROUP,

    /** A view ends nothing: the communicator that made the group, or joined the job, ends it. */
    NOTHING
  }

  private final GroupContext context;
  private final CallSettings settings;
  private final Programs programs;
  private final Submitter submitter;
  private final Calls<CollectiveHandle> async;
  private final Calls<PersistentCall> prepared;
  private final World world;
  private final Owns owns;

  EngineCommunicator(GroupContext context, CallSettings settings, World world, Owns owns) {
    this.context = context;
    this.settings = settings;
    this.world = world;
    this.owns = owns;
    this.programs = new Programs(context, settings);
    this.submitter = new Submitter(context, settings, programs);
    this.async = new AsyncCalls(context, submitter);
    this.prepared = new PreparedCalls(context, submitter);
  }

  @Override
  public int rank() {
    return context.group.rank();
  }

  @Override
  public int size() {
    return context.group.size();
  }

  @Override
  public int worldRank(int rank) {
    Objects.checkIndex(rank, size());
    return context.group.worldRank(rank);
  }

  @Override
  public String host() {
    return world.host();
  }

  @Override
  public void allReduce(float[] buffer, ReduceOp op) {
    submitter.allReduce(ElementType.FLOAT32, buffer, buffer.length, op);
  }

  @Override
  public void allReduce(double[] buffer, ReduceOp op) {
    submitter.allReduce(ElementType.FLOAT64, buffer, buffer.length, op);
  }

  @Override
  public void allReduce(int[] buffer, ReduceOp op) {
    submitter.allReduce(ElementType.INT32, buffer, buffer.length, op);
  }

  @Override
  public void allReduce(long[] buffer, ReduceOp op) {
    submitter.allReduce(ElementType.INT64, buffer, buffer.length, op);
  }

  @Override
  public void allReduce(Payload input, Payload output, ReduceOp op) {
    submitter.allReduce(input, output, op, null, 0, null);
  }

  @Override
  public void allReduce(Payload input, Payload output, ReduceOp op, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    submitter.allReduce(input, output, op, residual, 0, null);
  }

  @Override
  public void barrier() {
    submitter.barrier(null);
  }

  @Override
  public void broadcast(float[] buffer, int root) {
    submitter.broadcast(ElementType.FLOAT32, buffer, buffer.length, root);
  }

  @Override
  public void broadcast(Payload buffer, int root) {
    submitter.broadcast(buffer, root, null);
  }

  @Override
  public void reduce(Payload input, @Nullable Payload output, ReduceOp op, int root) {
    submitter.reduce(input, output, op, root, null, null);
  }

  @Override
  public void reduce(
      Payload input, @Nullable Payload output, ReduceOp op, int root, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    submitter.reduce(input, output, op, root, residual, null);
  }

  @Override
  public void reduceScatter(float[] input, float[] output, ReduceOp op) {
    submitter.reduceScatter(input, output, op);
  }

  @Override
  public void reduceScatter(Payload input, Payload output, ReduceOp op) {
    submitter.reduceScatter(input, output, null, op, null, null);
  }

  @Override
  public void reduceScatter(Payload input, Payload output, ReduceOp op, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    submitter.reduceScatter(input, output, null, op, residual, null);
  }

  @Override
  public void reduceScatter(Payload input, Payload output, long[] counts, ReduceOp op) {
    Objects.requireNonNull(counts, "counts");
    submitter.reduceScatter(input, output, counts, op, null, null);
  }

  @Override
  public void allGather(float[] part, float[] all) {
    submitter.allGather(part, all);
  }

  @Override
  public void allGather(Payload part, Payload all) {
    submitter.allGather(part, all, null, null);
  }

  @Override
  public void allGather(Payload part, Payload all, long[] counts) {
    submitter.allGather(part, all, Objects.requireNonNull(counts, "counts"), null);
  }

  @Override
  public void gather(Payload part, @Nullable Payload all, int root) {
    submitter.gather(part, all, null, root, null);
  }

  @Override
  public void gather(Payload part, @Nullable Payload all, long[] counts, int root) {
    submitter.gather(part, all, Objects.requireNonNull(counts, "counts"), root, null);
  }

  @Override
  public void scatter(@Nullable Payload all, Payload part, int root) {
    submitter.scatter(all, part, null, root, null);
  }

  @Override
  public void scatter(@Nullable Payload all, Payload part, long[] counts, int root) {
    submitter.scatter(all, part, Objects.requireNonNull(counts, "counts"), root, null);
  }

  @Override
  public void allToAll(Payload input, Payload output) {
    submitter.allToAll(input, output, null);
  }

  @Override
  public void allToAll(Payload input, long[] sendCounts, Payload output, long[] receiveCounts) {
    submitter.allToAll(input, sendCounts, output, receiveCounts, null);
  }

  @Override
  public void send(Payload payload, int to) {
    submitter.pass(payload, context.pair(rank(), to), false, null);
  }

  @Override
  public void receive(Payload payload, int from) {
    submitter.pass(payload, context.pair(from, rank()), true, null);
  }

  @Override
  public Calls<CollectiveHandle> async() {
    return async;
  }

  @Override
  public Calls<PersistentCall> prepared() {
    return prepared;
  }

  @Override
  public CollectiveHandle serve(UserOp... ops) {
    Program program = programs.served();
    if (program.contributes()) {
      throw new IllegalStateException(
          "rank "
              + rank()
              + " of "
              + size()
              + " contributes to an all-reduce by the algorithm \""
              + settings.algorithm().name()
              + "\": only dedicated servers can serve; see Algorithm.parameterServer");
    }
    List<UserOp> userOps = List.of(ops);
    AsyncHandle handle = new AsyncHandle(context.driver, context.group, 1);
    Driver driver = context.driver;
    driver.lock();
    try {
      driver
          .engine()
          .serve(context.group, program, programs::served, userOps, submitter.options(), handle);
      driver.submittedAsynchronous(true);
    } finally {
      driver.unlock();
    }
    return handle;
  }

  @Override
  public CollectiveBuffer allocate(ElementType type, long count) {
    return new Allocation(this, context, type, count).run();
  }

  private Communicator view(CallSettings others) {
    return new EngineCommunicator(context, others, world, Owns.NOTHING);
  }

  @Override
  public Communicator using(Algorithm algorithm) {
    return view(settings.withAlgorithm(algorithm));
  }

  @Override
  public Communicator using(WireType wireType) {
    return view(settings.withWireType(wireType));
  }

  @Override
  public Communicator using(Repeatability repeatability) {
    return view(settings.withRepeatability(repeatability));
  }

  @Override
  public Communicator checkingFinite() {
    return view(settings.withFiniteCheck(true));
  }

  @Override
  public void tune() {
    tune(System::nanoTime);
  }

  /** Tunes by another clock, which goes alike on all ranks. */
  void tune(LongSupplier nanoTime) {
    if (size() == 1) {
      return;
    }
    GroupContext own = context.of(IntStream.range(0, size()).toArray());
    Locality locality = context.placement.locality();
    CallSettings plain =
        settings.withRepeatability(Repeatability.FASTEST).withAlgorithm(Algorithm.binomialTree());
    Jfr.Tuning event = Jfr.tuning(context.driver.rank());
    try (Communicator group = new EngineCommunicator(own, plain, world, Owns.ITS_GROUP)) {
      Chooser shipped =
          own.chooser(Algorithm.auto(Algorithm.Auto.SHIPPED), own.known(), BufferRows.ALL);
      Tuner tuner = new Tuner(group, shipped, locality, nanoTime);
      List<Row> rows =
          tuner.run(context.group.inlineChannel() != null ? InlineExchange.CAPACITY + 1 : 0);
      if (rows != null) {
        context.tuned(rows);
      }
      if (event != null) {
        event.found(rows == null ? "" : rows.toString());
      }
    }
  }

  @Override
  public Explanation explain(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("a payload of " + bytes + " bytes: must be at least 0");
    }
    return programs.explain(bytes);
  }

  @Override
  public CallSettings settings() {
    return settings;
  }

  @Override
  public Communicator within(Duration timeout) {
    return view(settings.withTimeout(timeout));
  }

  @Override
  public Communicator split(int color, int key) {
    try (Split split = new Split(context.driver, size(), color, key)) {
      allGather(split.mine(), split.all());
      int[] ranks = split.ranks();
      return of(context.ofSplit(ranks, color, split.channel(ranks)));
    }
  }

  @Override
  public Communicator group(int... ranks) {
    int[] members = ranks.clone();
    for (int rank : members) {
      if (rank < 0 || rank >= size()) {
        throw new IllegalArgumentException(
            "rank "
                + rank
                + " of "
                + Arrays.toString(members)
                + " is not in this group, which has ranks 0 to "
                + (size() - 1));
      }
    }
    if (IntStream.of(members).distinct().count() != members.length) {
      throw new IllegalArgumentException(
          "ranks " + Arrays.toString(members) + ": each may be named once");
    }
    if (IntStream.of(members).noneMatch(rank -> rank == rank())) {
      throw new IllegalArgumentException(
          "rank "
              + rank()
              + " is not among "
              + Arrays.toString(members)
              + ": only members make their group");
    }
    return of(context.of(members));
  }

  private Communicator of(GroupContext other) {
    Algorithm algorithm = settings.algorithm();
    Algorithm instead =
        settings.repeatability().needsAllAtOnce() ? Algorithm.direct() : Algorithm.ring();
    CallSettings fitting = other.suits(algorithm) ? settings : settings.withAlgorithm(instead);
    return new EngineCommunicator(other, fitting, world, Owns.ITS_GROUP);
  }

  @Override
  public long nextSequence() {
    context.driver.lock();
    try {
      return context.group.nextSequence();
    } finally {
      context.driver.unlock();
    }
  }

  @Override
  public void abort(String reason) {
    Driver driver = context.driver;
    driver.lock();
    try {
      context.forEachGroup(group -> driver.engine().abort(group, reason));
    } finally {
      driver.unlock();
    }
    driver.runCompletions();
  }

  @Override
  public String flightRecord() {
    return context.driver.flightRecord();
  }

  @Override
  public Trace trace(Path directory) {
    return context.driver.beginTrace(Objects.requireNonNull(directory, "directory"));
  }

  @Override
  public boolean isTraced() {
    return context.driver.engine().trace().isOn();
  }

  @Override
  public void mark(String name) {
    context.driver.engine().trace().mark(name);
  }

  @Override
  public void beginWaiting() {
    context.driver.beginWaiting();
  }

  @Override
  public void endWaiting() {
    context.driver.endWaiting();
  }

  @Override
  public Statistics statistics() {
    return context.driver.statistics();
  }

  @Override
  public Survivors shrink() {
    Agreement agreement = agree(context.group);
    long resumeAt = agreement.resumeAt();
    int[] survivors = agreement.survivors();
    GroupContext left = context.ofSurvivors(survivors, resumeAt);
    Set<Integer> lost = new TreeSet<>();
    for (int rank = 0; rank < size(); rank++) {
      lost.add(worldRank(rank));
    }
    for (int rank = 0; rank < left.group.size(); rank++) {
      lost.remove(left.group.worldRank(rank));
    }
    return new Survivors(of(left), resumeAt, List.copyOf(lost));
  }

  private Agreement agree(Group group) {
    Driver driver = context.driver;
    Agreement agreement;
    driver.lock();
    try {
      agreement = driver.engine().shrink(group, settings.timeout().toNanos());
    } finally {
      driver.unlock();
    }
    driver.runCompletions();
    driver.await(group, agreement::isOver, null);
    CollectiveException error = agreement.error();
    if (error != null) {
      throw error;
    }
    return agreement;
  }

  @Override
  public Communicator grow() {
    return world.grow(this, context.group, settings);
  }

  @Override
  public @Nullable StepListener stepListener() {
    return world.reporter();
  }

  @Override
  public void close() {
    if (owns == Owns.NOTHING) {
      return;
    }
    Driver driver = context.driver;
    if (owns == Owns.THE_JOB) {
      RunReporter reporter = world.reporter();
      if (reporter != null) {
        reporter.close();
      }
      driver.close();
      context.buffers().forEach(EngineBuffer::close);
      return;
    }
    driver.lock();
    try {
      context.forEachGroup(driver.engine()::leave);
    } finally {
      driver.unlock();
    }
    driver.runCompletions();
    context.buffers().forEach(EngineBuffer::close);
  }

  @Override
  public String toString() {
    return "rank " + rank() + " of " + size() + " in " + context.group + ", " + settings;
  }
}
