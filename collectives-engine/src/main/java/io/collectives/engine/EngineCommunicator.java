package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Survivors;
import io.collectives.engine.memory.ArrayMemory;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.run.Agreement;
import io.collectives.engine.run.Call;
import io.collectives.engine.run.Group;
import io.collectives.engine.run.Program;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A seat in a group, with settings for its calls. */
final class EngineCommunicator implements Communicator {
  private static final Memory NOTHING = Memory.of(Payload.of(new float[0]));

  private final Seat seat;
  private final CallSettings settings;
  private final Program allReduce;
  private final Program barrier;
  private final long timeoutNanos;
  private final World world;
  private final boolean isWorld;

  EngineCommunicator(Seat seat, CallSettings settings, World world, boolean isWorld) {
    this.seat = seat;
    this.settings = settings;
    this.world = world;
    this.isWorld = isWorld;
    this.allReduce = seat.program(settings.algorithm(), Collective.ALL_REDUCE);
    this.barrier = seat.program(settings.algorithm(), Collective.BARRIER);
    this.timeoutNanos = settings.timeout().toNanos();
    int shortest = allReduce.widestTransfer() * Long.BYTES;
    if (settings.frameLength() < shortest) {
      throw new IllegalArgumentException(
          "frame length "
              + settings.frameLength()
              + ": the algorithm \""
              + settings.algorithm().name()
              + "\" for "
              + size()
              + " ranks sends "
              + allReduce.widestTransfer()
              + " chunks at once, which takes at least "
              + shortest
              + " bytes");
    }
  }

  @Override
  public int rank() {
    return seat.group.rank();
  }

  @Override
  public int size() {
    return seat.group.size();
  }

  @Override
  public int worldRank(int rank) {
    Objects.checkIndex(rank, size());
    return seat.group.worldRank(rank);
  }

  @Override
  public void allReduce(float[] buffer, int offset, int count, ReduceOp op) {
    Objects.checkFromIndexSize(offset, count, buffer.length);
    allReduceArray(ElementType.FLOAT32, buffer, offset, count, op);
  }

  @Override
  public void allReduce(double[] buffer, int offset, int count, ReduceOp op) {
    Objects.checkFromIndexSize(offset, count, buffer.length);
    allReduceArray(ElementType.FLOAT64, buffer, offset, count, op);
  }

  @Override
  public void allReduce(int[] buffer, int offset, int count, ReduceOp op) {
    Objects.checkFromIndexSize(offset, count, buffer.length);
    allReduceArray(ElementType.INT32, buffer, offset, count, op);
  }

  @Override
  public void allReduce(long[] buffer, int offset, int count, ReduceOp op) {
    Objects.checkFromIndexSize(offset, count, buffer.length);
    allReduceArray(ElementType.INT64, buffer, offset, count, op);
  }

  private void allReduceArray(ElementType type, Object array, int offset, int count, ReduceOp op) {
    Objects.requireNonNull(op, "op");
    ArrayMemory memory = seat.borrow(type);
    memory.bind(array, offset, count);
    call(allReduce, memory, memory, op);
    // Not after an error, when a peer may still look at it.
    seat.giveBack(memory);
  }

  @Override
  public void allReduce(Payload input, Payload output, ReduceOp op) {
    Memory in = input(input, op);
    call(allReduce, in, output(input, in, output), op);
  }

  @Override
  public CollectiveHandle allReduceAsync(Payload input, Payload output, ReduceOp op) {
    Memory in = input(input, op);
    return start(allReduce, in, output(input, in, output), op);
  }

  @Override
  public void barrier() {
    call(barrier, NOTHING, NOTHING, ReduceOp.SUM);
  }

  @Override
  public CollectiveHandle barrierAsync() {
    return start(barrier, NOTHING, NOTHING, ReduceOp.SUM);
  }

  private Memory input(Payload input, ReduceOp op) {
    Objects.requireNonNull(op, "op");
    return seat.memory(input);
  }

  private Memory output(Payload input, Memory in, Payload output) {
    if (input.type() != output.type() || input.count() != output.count()) {
      throw new IllegalArgumentException(
          "the input has "
              + input.count()
              + " elements of "
              + input.type()
              + " and the output "
              + output.count()
              + " of "
              + output.type()
              + ": both must be the same");
    }
    Memory out = isSame(input, output) ? in : seat.memory(output);
    out.checkWritable();
    return out;
  }

  /** Buffers are not compared, because their equals compares contents. */
  private static boolean isSame(Payload input, Payload output) {
    return input == output || input instanceof Payload.OfArray && input.equals(output);
  }

  private void call(Program program, Memory input, Memory output, ReduceOp op) {
    Driver driver = seat.driver;
    Call call = submit(program, input, output, op, null);
    driver.await(call);
    CollectiveException error = call.error();
    driver.lock();
    try {
      driver.engine().recycle(call);
    } finally {
      driver.unlock();
    }
    if (error != null) {
      driver.logFailures();
      throw error;
    }
  }

  private CollectiveHandle start(Program program, Memory input, Memory output, ReduceOp op) {
    Handle handle = new Handle(seat.driver, seat.group);
    submit(program, input, output, op, handle);
    return handle;
  }

  private Call submit(
      Program program, Memory input, Memory output, ReduceOp op, @Nullable Handle handle) {
    Driver driver = seat.driver;
    driver.lock();
    try {
      Call call =
          driver
              .engine()
              .submit(
                  seat.group,
                  program,
                  input,
                  output,
                  op,
                  settings.frameLength(),
                  settings.slabsInFlight(),
                  timeoutNanos,
                  handle);
      if (handle != null) {
        driver.submittedAsynchronous();
      }
      return call;
    } finally {
      driver.unlock();
    }
  }

  @Override
  public Communicator using(Algorithm algorithm) {
    return new EngineCommunicator(seat, settings.withAlgorithm(algorithm), world, isWorld);
  }

  @Override
  public Communicator within(Duration timeout) {
    return new EngineCommunicator(seat, settings.withTimeout(timeout), world, isWorld);
  }

  @Override
  public Communicator split(int colour, int key) {
    int size = size();
    long[] wishes = new long[2 * size];
    wishes[2 * rank()] = colour;
    wishes[2 * rank() + 1] = key;
    allReduce(wishes, ReduceOp.SUM);
    int[] ranks =
        IntStream.range(0, size)
            .filter(rank -> wishes[2 * rank] == colour)
            .boxed()
            .sorted(
                (a, b) ->
                    wishes[2 * a + 1] != wishes[2 * b + 1]
                        ? Long.compare(wishes[2 * a + 1], wishes[2 * b + 1])
                        : a - b)
            .mapToInt(Integer::intValue)
            .toArray();
    return of(seat.ofSplit(ranks, colour));
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
    return of(seat.of(members));
  }

  private Communicator of(Seat other) {
    Algorithm algorithm = settings.algorithm();
    CallSettings fitting =
        algorithm.fits(other.group.size()) ? settings : settings.withAlgorithm(Algorithm.ring());
    return new EngineCommunicator(other, fitting, world, false);
  }

  @Override
  public long nextSequence() {
    seat.driver.lock();
    try {
      return seat.group.nextSequence();
    } finally {
      seat.driver.unlock();
    }
  }

  @Override
  public void abort(String reason) {
    Driver driver = seat.driver;
    driver.lock();
    try {
      driver.engine().abort(seat.group, reason);
    } finally {
      driver.unlock();
    }
    driver.runCompletions();
  }

  @Override
  public String flightRecord() {
    Driver driver = seat.driver;
    driver.lock();
    try {
      return driver.engine().flightRecord();
    } finally {
      driver.unlock();
    }
  }

  @Override
  public Survivors shrink() {
    Agreement agreement = agree(seat.group);
    long resumeAt = agreement.resumeAt();
    int[] survivors = agreement.survivors();
    Seat left = seat.ofSurvivors(survivors, resumeAt);
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
    Driver driver = seat.driver;
    Agreement agreement;
    driver.lock();
    try {
      agreement = driver.engine().shrink(group, timeoutNanos);
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
    return world.grow(this, settings);
  }

  @Override
  public void close() {
    Driver driver = seat.driver;
    if (isWorld) {
      driver.close();
      return;
    }
    driver.lock();
    try {
      driver.engine().leave(seat.group);
    } finally {
      driver.unlock();
    }
    driver.runCompletions();
  }

  @Override
  public String toString() {
    return "rank " + rank() + " of " + size() + " in " + seat.group + ", " + settings;
  }
}
