package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collective;
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
import io.collectives.Survivors;
import io.collectives.UserOp;
import io.collectives.WireType;
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
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A seat in a group, with settings for its calls. */
final class EngineCommunicator implements Communicator {

  /** What closing it ends. */
  enum Owns {
    THE_JOB,
    ITS_GROUP,

    /** That of a view: whoever made the group, or joined the job, has the one that ends it. */
    NOTHING
  }

  private static final Memory NOTHING = Memory.of(Payload.of(new float[0]));

  /** The payloads of calls, as errors name them. */
  private static final String INPUT = "the input";

  private static final String OUTPUT = "the output";
  private static final String PART = "the part";
  private static final String WHOLE = "the whole";
  private static final String RESIDUAL = "the residual";

  private final Seat seat;
  private final CallSettings settings;
  private final Programs programs;
  private final Calling calls;
  private final World world;
  private final Owns owns;

  EngineCommunicator(Seat seat, CallSettings settings, World world, Owns owns) {
    this.seat = seat;
    this.settings = settings;
    this.world = world;
    this.owns = owns;
    this.programs = new Programs(seat, settings);
    this.calls = new Calling(seat, settings, programs);
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
  public String host() {
    return world.host();
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

  @Override
  public void allReduce(Payload input, Payload output, ReduceOp op, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    if (input instanceof Payload.OfTensors several) {
      calls.finish(allReduce(several, output, op, residual, null));
    } else {
      calls.finish(allReduce(input, output, op, residual, 0, null));
    }
  }

  @Override
  public CollectiveHandle allReduceAsync(
      Payload input, Payload output, ReduceOp op, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    if (input instanceof Payload.OfTensors several) {
      return calls.start(several, handle -> allReduce(several, output, op, residual, handle));
    }
    return calls.start(seat, handle -> allReduce(input, output, op, residual, 0, handle));
  }

  @Override
  public CollectiveHandle allReduceAsync(
      Payload input, Payload output, ReduceOp op, Payload residual, int number) {
    Objects.requireNonNull(residual, "residual");
    Shapes.oneType(input);
    if (number < 1) {
      throw new IllegalArgumentException("buffer number " + number + ": must be at least 1");
    }
    return calls.start(seat, handle -> allReduce(input, output, op, residual, number, handle));
  }

  @Override
  public PersistentCall prepareAllReduce(
      Payload input, Payload output, ReduceOp op, Payload residual) {
    return calls.prepare(
        seat, handle -> allReduce(input, output, op, residual, 0, handle), input, output, residual);
  }

  /**
   * An all-reduce with error feedback.
   *
   * @param number of the buffer, 0 if it has none
   */
  private Call allReduce(
      Payload input,
      Payload output,
      ReduceOp op,
      Payload residual,
      int number,
      @Nullable Handle handle) {
    Memory out = result(input, output);
    Memory in = source(input, output, out);
    Memory kept = kept(input, output, residual, op);
    Program program = programs.sendingOnce(programs.allReduce(in, op));
    return calls.submit(seat, program, in, out, null, null, 0, number, op, kept, handle);
  }

  private Batch allReduce(
      Payload.OfTensors input,
      Payload output,
      ReduceOp op,
      @Nullable Payload residual,
      @Nullable Handle handle) {
    List<Payload> inputs = input.byType();
    List<Payload> outputs = Shapes.sameTypes(input, output);
    Memory residuals = null;
    if (residual != null) {
      Shapes.residual(Shapes.floats(input), residual, op, settings.repeatability());
      residuals = residual(input, output, residual);
    }
    seat.overlaps.check(INPUT, input, OUTPUT, output, 0);
    Batch batch = seat.borrowBatch();
    for (int i = 0; i < inputs.size(); i++) {
      Memory out = result(inputs.get(i), outputs.get(i));
      Memory in = source(inputs.get(i), outputs.get(i), out);
      boolean isKept = residual != null && in.type() == ElementType.FLOAT32;
      Memory kept = isKept ? residuals : null;
      Program program = programs.allReduce(in, op);
      batch.add(isKept ? programs.sendingOnce(program) : program, in, out, kept);
    }
    return calls.submit(seat, batch, op, handle);
  }

  private void allReduceArray(ElementType type, Object array, int offset, int count, ReduceOp op) {
    Objects.requireNonNull(op, "op");
    ArrayMemory memory = seat.borrow(type);
    memory.bind(array, offset, count);
    calls.finish(calls.submit(programs.allReduce(memory, op), memory, memory, op, null));
    // Not after an error, when a peer may still look at it.
    seat.giveBack(memory);
  }

  @Override
  public void allReduce(Payload input, Payload output, ReduceOp op) {
    if (input instanceof Payload.OfTensors several) {
      calls.finish(allReduce(several, output, op, null, null));
      return;
    }
    Memory out = result(input, output);
    Memory in = source(input, output, out);
    calls.finish(calls.submit(programs.allReduce(in, op), in, out, op, null));
  }

  @Override
  public CollectiveHandle allReduceAsync(Payload input, Payload output, ReduceOp op) {
    if (input instanceof Payload.OfTensors several) {
      return calls.start(several, handle -> allReduce(several, output, op, null, handle));
    }
    Memory out = result(input, output);
    Memory in = source(input, output, out);
    return calls.start(
        seat, handle -> calls.submit(programs.allReduce(in, op), in, out, op, handle));
  }

  @Override
  public PersistentCall prepareAllReduce(Payload input, Payload output, ReduceOp op) {
    return calls.prepare(
        seat,
        handle -> {
          Memory out = result(input, output);
          Memory in = source(input, output, out);
          calls.submit(programs.allReduce(in, op), in, out, op, handle);
        },
        input,
        output);
  }

  @Override
  public CollectiveHandle serveAsync(UserOp... ops) {
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
    AsyncHandle handle = new AsyncHandle(seat.driver, seat.group, 1);
    Driver driver = seat.driver;
    driver.lock();
    try {
      driver
          .engine()
          .serve(
              seat.group,
              program,
              programs::served,
              userOps,
              settings.wireType(),
              settings.frameLength(),
              settings.slabsInFlight(),
              settings.timeout().toNanos(),
              handle);
      driver.submittedAsynchronous();
    } finally {
      driver.unlock();
    }
    return handle;
  }

  @Override
  public void barrier() {
    calls.finish(calls.submit(programs.barrier(), NOTHING, NOTHING, ReduceOp.SUM, null));
  }

  @Override
  public CollectiveHandle barrierAsync() {
    return calls.start(
        seat, handle -> calls.submit(programs.barrier(), NOTHING, NOTHING, ReduceOp.SUM, handle));
  }

  @Override
  public PersistentCall prepareBarrier() {
    return calls.prepare(
        seat, handle -> calls.submit(programs.barrier(), NOTHING, NOTHING, ReduceOp.SUM, handle));
  }

  @Override
  public void broadcast(float[] buffer, int offset, int count, int root) {
    Objects.checkFromIndexSize(offset, count, buffer.length);
    Program program = programs.of(Collective.BROADCAST, root, (long) count * Float.BYTES);
    ArrayMemory memory = seat.borrow(ElementType.FLOAT32);
    memory.bind(buffer, offset, count);
    calls.finish(calls.submit(program, memory, memory, ReduceOp.SUM, null));
    seat.giveBack(memory);
  }

  @Override
  public void broadcast(Payload buffer, int root) {
    if (buffer instanceof Payload.OfTensors several) {
      calls.finish(broadcast(several, root, null));
    } else {
      calls.finish(broadcast(buffer, root, null));
    }
  }

  @Override
  public CollectiveHandle broadcastAsync(Payload buffer, int root) {
    if (buffer instanceof Payload.OfTensors several) {
      return calls.start(several, handle -> broadcast(several, root, handle));
    }
    return calls.start(seat, handle -> broadcast(buffer, root, handle));
  }

  @Override
  public PersistentCall prepareBroadcast(Payload buffer, int root) {
    return calls.prepare(seat, handle -> broadcast(buffer, root, handle), buffer);
  }

  private Call broadcast(Payload buffer, int root, @Nullable Handle handle) {
    Program program = programs.of(Collective.BROADCAST, root, bytes(buffer));
    Memory memory = rank() == root ? seat.memory(buffer) : writable("the buffer", buffer);
    return calls.submit(program, memory, memory, ReduceOp.SUM, handle);
  }

  private Batch broadcast(Payload.OfTensors buffer, int root, @Nullable Handle handle) {
    List<Payload> buffers = buffer.byType();
    if (rank() != root) {
      seat.overlaps.check("the buffer", buffer);
    }
    Batch batch = seat.borrowBatch();
    for (int i = 0; i < buffers.size(); i++) {
      Payload each = buffers.get(i);
      Memory memory = rank() == root ? seat.memory(each) : writable(each);
      batch.add(programs.of(Collective.BROADCAST, root, bytes(each)), memory, memory, null);
    }
    return calls.submit(seat, batch, ReduceOp.SUM, handle);
  }

  @Override
  public void reduce(Payload input, @Nullable Payload output, ReduceOp op, int root) {
    reduceNow(input, output, op, root, null);
  }

  @Override
  public void reduce(
      Payload input, @Nullable Payload output, ReduceOp op, int root, Payload residual) {
    reduceNow(input, output, op, root, Objects.requireNonNull(residual, "residual"));
  }

  private void reduceNow(
      Payload input, @Nullable Payload output, ReduceOp op, int root, @Nullable Payload residual) {
    if (input instanceof Payload.OfTensors several) {
      calls.finish(reduce(several, output, op, root, residual, null));
    } else {
      calls.finish(reduce(input, output, op, root, residual, null));
    }
  }

  @Override
  public CollectiveHandle reduceAsync(
      Payload input, @Nullable Payload output, ReduceOp op, int root) {
    return reduceLater(input, output, op, root, null);
  }

  @Override
  public CollectiveHandle reduceAsync(
      Payload input, @Nullable Payload output, ReduceOp op, int root, Payload residual) {
    return reduceLater(input, output, op, root, Objects.requireNonNull(residual, "residual"));
  }

  private CollectiveHandle reduceLater(
      Payload input, @Nullable Payload output, ReduceOp op, int root, @Nullable Payload residual) {
    if (input instanceof Payload.OfTensors several) {
      return calls.start(several, handle -> reduce(several, output, op, root, residual, handle));
    }
    return calls.start(seat, handle -> reduce(input, output, op, root, residual, handle));
  }

  private Batch reduce(
      Payload.OfTensors input,
      @Nullable Payload output,
      ReduceOp op,
      int root,
      @Nullable Payload residual,
      @Nullable Handle handle) {
    List<Payload> inputs = input.byType();
    List<Payload> outputs = inputs;
    Payload written = rank() == root ? Shapes.atRoot(output, "output", root) : null;
    if (written != null) {
      outputs = Shapes.sameTypes(input, written);
      seat.overlaps.check(INPUT, input, OUTPUT, written, 0);
    }
    Memory residuals = null;
    if (residual != null) {
      Shapes.residual(Shapes.floats(input), residual, op, settings.repeatability());
      residuals = residual(input, written, residual);
    }
    Batch batch = seat.borrowBatch();
    for (int i = 0; i < inputs.size(); i++) {
      Payload each = inputs.get(i);
      Memory out = written == null ? NOTHING : result(each, outputs.get(i));
      Memory in = written == null ? seat.memory(each) : source(each, outputs.get(i), out);
      boolean isKept = residual != null && in.type() == ElementType.FLOAT32;
      Memory kept = isKept ? residuals : null;
      batch.add(
          programs.reduction(Collective.REDUCE, root, bytes(each), each.type(), op), in, out, kept);
    }
    return calls.submit(seat, batch, op, handle);
  }

  @Override
  public PersistentCall prepareReduce(
      Payload input, @Nullable Payload output, ReduceOp op, int root) {
    return calls.prepare(
        seat, handle -> reduce(input, output, op, root, null, handle), input, output);
  }

  private Call reduce(
      Payload input,
      @Nullable Payload output,
      ReduceOp op,
      int root,
      @Nullable Payload residual,
      @Nullable Handle handle) {
    Program program = programs.reduction(Collective.REDUCE, root, bytes(input), input.type(), op);
    Payload written = rank() == root ? Shapes.atRoot(output, "output", root) : null;
    Memory out = written == null ? NOTHING : result(input, written);
    Memory in = written == null ? seat.memory(input) : source(input, written, out);
    Memory kept = kept(input, written, residual, op);
    return calls.submit(seat, program, in, out, null, null, op, kept, handle);
  }

  @Override
  public void reduceScatter(float[] input, float[] output, ReduceOp op) {
    Shapes.part(output.length, partCount(input.length, rank()), rank(), "output");
    if (input == output) {
      // For the error only.
      Payload same = Payload.of(input);
      seat.overlaps.check(INPUT, same, OUTPUT, same, Overlaps.APART);
    }
    ArrayMemory in = seat.borrow(ElementType.FLOAT32);
    ArrayMemory out = seat.borrow(ElementType.FLOAT32);
    in.bind(input, 0, input.length);
    out.bind(output, 0, output.length);
    long bytes = (long) input.length * Float.BYTES;
    Program program =
        programs.reduction(Collective.REDUCE_SCATTER, 0, bytes, ElementType.FLOAT32, op);
    calls.finish(calls.submit(program, in, out, op, null));
    seat.giveBack(in);
    seat.giveBack(out);
  }

  @Override
  public void reduceScatter(Payload input, Payload output, ReduceOp op) {
    calls.finish(reduceScatter(input, output, null, op, null, null));
  }

  @Override
  public void reduceScatter(Payload input, Payload output, ReduceOp op, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    calls.finish(reduceScatter(input, output, null, op, residual, null));
  }

  @Override
  public void reduceScatter(Payload input, Payload output, long[] counts, ReduceOp op) {
    calls.finish(reduceScatter(input, output, Objects.requireNonNull(counts), op, null, null));
  }

  @Override
  public CollectiveHandle reduceScatterAsync(Payload input, Payload output, ReduceOp op) {
    return calls.start(seat, handle -> reduceScatter(input, output, null, op, null, handle));
  }

  @Override
  public CollectiveHandle reduceScatterAsync(
      Payload input, Payload output, ReduceOp op, Payload residual) {
    Objects.requireNonNull(residual, "residual");
    return calls.start(seat, handle -> reduceScatter(input, output, null, op, residual, handle));
  }

  @Override
  public CollectiveHandle reduceScatterAsync(
      Payload input, Payload output, long[] counts, ReduceOp op) {
    return calls.start(
        seat,
        handle -> reduceScatter(input, output, Objects.requireNonNull(counts), op, null, handle));
  }

  @Override
  public PersistentCall prepareReduceScatter(Payload input, Payload output, ReduceOp op) {
    return calls.prepare(
        seat, handle -> reduceScatter(input, output, null, op, null, handle), input, output);
  }

  @Override
  public PersistentCall prepareReduceScatter(
      Payload input, Payload output, long[] counts, ReduceOp op) {
    Objects.requireNonNull(counts);
    return calls.prepare(
        seat, handle -> reduceScatter(input, output, counts, op, null, handle), input, output);
  }

  private Call reduceScatter(
      Payload input,
      Payload output,
      long @Nullable [] counts,
      ReduceOp op,
      @Nullable Payload residual,
      @Nullable Handle handle) {
    Shapes.dealt(output, "output", input, "input", counts, size(), rank());
    seat.overlaps.check(INPUT, input, OUTPUT, output, Overlaps.APART);
    return calls.submit(
        seat,
        programs.reduction(Collective.REDUCE_SCATTER, 0, bytes(input), input.type(), op),
        seat.memory(input),
        writable(output),
        counts,
        null,
        op,
        kept(input, output, residual, op),
        handle);
  }

  @Override
  public void allGather(float[] part, float[] all) {
    Shapes.part(part.length, partCount(all.length, rank()), rank(), "part");
    ArrayMemory in = seat.borrow(ElementType.FLOAT32);
    ArrayMemory out = seat.borrow(ElementType.FLOAT32);
    in.bind(part, 0, part.length);
    out.bind(all, 0, all.length);
    long bytes = (long) all.length * Float.BYTES;
    calls.finish(
        calls.submit(programs.of(Collective.ALL_GATHER, 0, bytes), in, out, ReduceOp.SUM, null));
    seat.giveBack(in);
    seat.giveBack(out);
  }

  @Override
  public void allGather(Payload part, Payload all) {
    calls.finish(allGather(part, all, null, null));
  }

  @Override
  public void allGather(Payload part, Payload all, long[] counts) {
    calls.finish(allGather(part, all, Objects.requireNonNull(counts), null));
  }

  @Override
  public CollectiveHandle allGatherAsync(Payload part, Payload all) {
    return calls.start(seat, handle -> allGather(part, all, null, handle));
  }

  @Override
  public CollectiveHandle allGatherAsync(Payload part, Payload all, long[] counts) {
    return calls.start(
        seat, handle -> allGather(part, all, Objects.requireNonNull(counts), handle));
  }

  @Override
  public PersistentCall prepareAllGather(Payload part, Payload all) {
    return calls.prepare(seat, handle -> allGather(part, all, null, handle), part, all);
  }

  @Override
  public PersistentCall prepareAllGather(Payload part, Payload all, long[] counts) {
    Objects.requireNonNull(counts);
    return calls.prepare(seat, handle -> allGather(part, all, counts, handle), part, all);
  }

  private Call allGather(
      Payload part, Payload all, long @Nullable [] counts, @Nullable Handle handle) {
    Shapes.dealt(part, "part", all, "whole", counts, size(), rank());
    seat.overlaps.check(PART, part, WHOLE, all, Shapes.start(all.count(), counts, rank(), size()));
    return calls.submit(
        seat,
        programs.of(Collective.ALL_GATHER, 0, bytes(all)),
        seat.memory(part),
        writable(all),
        counts,
        null,
        ReduceOp.SUM,
        null,
        handle);
  }

  @Override
  public void gather(Payload part, @Nullable Payload all, int root) {
    calls.finish(gather(part, all, null, root, null));
  }

  @Override
  public void gather(Payload part, @Nullable Payload all, long[] counts, int root) {
    calls.finish(gather(part, all, Objects.requireNonNull(counts), root, null));
  }

  @Override
  public CollectiveHandle gatherAsync(Payload part, @Nullable Payload all, int root) {
    return calls.start(seat, handle -> gather(part, all, null, root, handle));
  }

  @Override
  public CollectiveHandle gatherAsync(
      Payload part, @Nullable Payload all, long[] counts, int root) {
    return calls.start(
        seat, handle -> gather(part, all, Objects.requireNonNull(counts), root, handle));
  }

  @Override
  public PersistentCall prepareGather(Payload part, @Nullable Payload all, int root) {
    return calls.prepare(seat, handle -> gather(part, all, null, root, handle), part, all);
  }

  @Override
  public PersistentCall prepareGather(
      Payload part, @Nullable Payload all, long[] counts, int root) {
    Objects.requireNonNull(counts);
    return calls.prepare(seat, handle -> gather(part, all, counts, root, handle), part, all);
  }

  private Call gather(
      Payload part,
      @Nullable Payload all,
      long @Nullable [] counts,
      int root,
      @Nullable Handle handle) {
    Program program = programs.of(Collective.GATHER, root, 0);
    Memory out = NOTHING;
    if (rank() == root) {
      Payload whole = Shapes.atRoot(all, "whole", root);
      Shapes.shared(part, whole, counts, size(), rank());
      long start = Shapes.start(whole.count(), counts, rank(), size());
      seat.overlaps.check(PART, part, WHOLE, whole, start);
      out = writable(whole);
    } else if (counts != null) {
      Shapes.sum(counts, size(), "counts");
      Shapes.part(part.count(), counts[rank()], rank(), "part");
    }
    return calls.submit(
        seat, program, seat.memory(part), out, counts, null, ReduceOp.SUM, null, handle);
  }

  @Override
  public void scatter(@Nullable Payload all, Payload part, int root) {
    calls.finish(scatter(all, part, null, root, null));
  }

  @Override
  public void scatter(@Nullable Payload all, Payload part, long[] counts, int root) {
    calls.finish(scatter(all, part, Objects.requireNonNull(counts), root, null));
  }

  @Override
  public CollectiveHandle scatterAsync(@Nullable Payload all, Payload part, int root) {
    return calls.start(seat, handle -> scatter(all, part, null, root, handle));
  }

  @Override
  public CollectiveHandle scatterAsync(
      @Nullable Payload all, Payload part, long[] counts, int root) {
    return calls.start(
        seat, handle -> scatter(all, part, Objects.requireNonNull(counts), root, handle));
  }

  @Override
  public PersistentCall prepareScatter(@Nullable Payload all, Payload part, int root) {
    return calls.prepare(seat, handle -> scatter(all, part, null, root, handle), all, part);
  }

  @Override
  public PersistentCall prepareScatter(
      @Nullable Payload all, Payload part, long[] counts, int root) {
    Objects.requireNonNull(counts);
    return calls.prepare(seat, handle -> scatter(all, part, counts, root, handle), all, part);
  }

  private Call scatter(
      @Nullable Payload all,
      Payload part,
      long @Nullable [] counts,
      int root,
      @Nullable Handle handle) {
    Program program = programs.of(Collective.SCATTER, root, 0);
    seat.overlaps.check(PART, part);
    Memory out = writable(part);
    Memory in = out;
    if (rank() == root) {
      Payload whole = Shapes.atRoot(all, "whole", root);
      Shapes.shared(part, whole, counts, size(), rank());
      long start = Shapes.start(whole.count(), counts, rank(), size());
      seat.overlaps.check(WHOLE, whole, PART, part, start);
      in = seat.memory(whole);
    } else if (counts != null) {
      Shapes.sum(counts, size(), "counts");
      Shapes.part(part.count(), counts[rank()], rank(), "part");
    }
    return calls.submit(seat, program, in, out, counts, null, ReduceOp.SUM, null, handle);
  }

  @Override
  public void allToAll(Payload input, Payload output) {
    calls.finish(allToAll(input, output, null));
  }

  @Override
  public CollectiveHandle allToAllAsync(Payload input, Payload output) {
    return calls.start(seat, handle -> allToAll(input, output, handle));
  }

  private Call allToAll(Payload input, Payload output, @Nullable Handle handle) {
    Shapes.sameType(input, output);
    Shapes.count(output.count(), size() * partCount(input.count(), rank()), "output");
    seat.overlaps.check(INPUT, input, OUTPUT, output, Overlaps.APART);
    return calls.submit(
        programs.of(Collective.ALL_TO_ALL, 0, 0),
        seat.memory(input),
        writable(output),
        ReduceOp.SUM,
        handle);
  }

  @Override
  public void allToAll(Payload input, long[] sendCounts, Payload output, long[] receiveCounts) {
    calls.finish(allToAll(input, sendCounts, output, receiveCounts, null));
  }

  @Override
  public CollectiveHandle allToAllAsync(
      Payload input, long[] sendCounts, Payload output, long[] receiveCounts) {
    return calls.start(seat, handle -> allToAll(input, sendCounts, output, receiveCounts, handle));
  }

  @Override
  public PersistentCall prepareAllToAll(Payload input, Payload output) {
    return calls.prepare(seat, handle -> allToAll(input, output, handle), input, output);
  }

  @Override
  public PersistentCall prepareAllToAll(
      Payload input, long[] sendCounts, Payload output, long[] receiveCounts) {
    return calls.prepare(
        seat, handle -> allToAll(input, sendCounts, output, receiveCounts, handle), input, output);
  }

  private Call allToAll(
      Payload input,
      long[] sendCounts,
      Payload output,
      long[] receiveCounts,
      @Nullable Handle handle) {
    Shapes.sameType(input, output);
    Shapes.count(input.count(), Shapes.sum(sendCounts, size(), "send counts"), "input");
    Shapes.count(output.count(), Shapes.sum(receiveCounts, size(), "receive counts"), "output");
    Shapes.part(receiveCounts[rank()], sendCounts[rank()], rank(), "block received from itself");
    seat.overlaps.check(INPUT, input, OUTPUT, output, Overlaps.APART);
    return calls.submit(
        seat,
        programs.pairwise(),
        seat.memory(input),
        writable(output),
        sendCounts,
        receiveCounts,
        ReduceOp.SUM,
        null,
        handle);
  }

  @Override
  public void send(Payload payload, int to) {
    Seat pair = seat.pair(rank(), to);
    if (payload instanceof Payload.OfTensors several) {
      calls.finish(pass(several, pair, false, null));
    } else {
      calls.finish(pass(payload, pair, false, null));
    }
  }

  @Override
  public CollectiveHandle sendAsync(Payload payload, int to) {
    return passAsync(payload, seat.pair(rank(), to), false);
  }

  @Override
  public PersistentCall prepareSend(Payload payload, int to) {
    Seat pair = seat.pair(rank(), to);
    return calls.prepare(pair, handle -> pass(payload, pair, false, handle), payload);
  }

  @Override
  public void receive(Payload payload, int from) {
    Seat pair = seat.pair(from, rank());
    if (payload instanceof Payload.OfTensors several) {
      calls.finish(pass(several, pair, true, null));
    } else {
      calls.finish(pass(payload, pair, true, null));
    }
  }

  @Override
  public CollectiveHandle receiveAsync(Payload payload, int from) {
    return passAsync(payload, seat.pair(from, rank()), true);
  }

  private CollectiveHandle passAsync(Payload payload, Seat pair, boolean written) {
    if (payload instanceof Payload.OfTensors several) {
      AsyncHandle handle = new AsyncHandle(seat.driver, pair.group, several.byType().size());
      pass(several, pair, written, handle);
      return handle;
    }
    return calls.start(pair, handle -> pass(payload, pair, written, handle));
  }

  @Override
  public PersistentCall prepareReceive(Payload payload, int from) {
    Seat pair = seat.pair(from, rank());
    return calls.prepare(pair, handle -> pass(payload, pair, true, handle), payload);
  }

  /** A broadcast in the group of a sender and a receiver. */
  private Call pass(Payload payload, Seat pair, boolean written, @Nullable Handle handle) {
    Memory memory = written ? writable("the payload", payload) : seat.memory(payload);
    return calls.submit(
        pair, pair.message(), memory, memory, null, null, ReduceOp.SUM, null, handle);
  }

  private Batch pass(
      Payload.OfTensors payload, Seat pair, boolean written, @Nullable Handle handle) {
    List<Payload> payloads = payload.byType();
    if (written) {
      seat.overlaps.check("the payload", payload);
    }
    Batch batch = seat.borrowBatch();
    for (int i = 0; i < payloads.size(); i++) {
      Payload each = payloads.get(i);
      Memory memory = written ? writable(each) : seat.memory(each);
      batch.add(pair.message(), memory, memory, null);
    }
    return calls.submit(pair, batch, ReduceOp.SUM, handle);
  }

  /** Where a reduction of an input is written. */
  private Memory result(Payload input, Payload output) {
    Shapes.sameTypeAndCount(input, output);
    return writable(output);
  }

  /**
   * The memory of the input of a reduction: that of the output if they are the same, even as other
   * payloads.
   */
  private Memory source(Payload input, Payload output, Memory out) {
    return seat.overlaps.check(INPUT, input, OUTPUT, output, 0) ? out : seat.memory(input);
  }

  /** The memory of a residual, if there is one. */
  private @Nullable Memory kept(
      Payload input, @Nullable Payload output, @Nullable Payload residual, ReduceOp op) {
    if (residual == null) {
      return null;
    }
    Shapes.residual(input, residual, op, settings.repeatability());
    return residual(input, output, residual);
  }

  private Memory residual(Payload input, @Nullable Payload output, Payload residual) {
    seat.overlaps.check(INPUT, input, RESIDUAL, residual, Overlaps.APART);
    if (output != null) {
      seat.overlaps.check(OUTPUT, output, RESIDUAL, residual, Overlaps.APART);
    }
    return writable(residual);
  }

  private Memory writable(String name, Payload payload) {
    seat.overlaps.check(name, payload);
    return writable(payload);
  }

  private Memory writable(Payload payload) {
    Memory memory = seat.memory(payload);
    memory.checkWritable();
    return memory;
  }

  private static long bytes(Payload payload) {
    return payload.count() * payload.type().bytes();
  }

  @Override
  public CollectiveBuffer allocate(ElementType type, long count) {
    return new Allocation(this, seat, type, count).run();
  }

  private Communicator view(CallSettings others) {
    return new EngineCommunicator(seat, others, world, Owns.NOTHING);
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

  /** The same by another clock, which goes alike on all ranks. */
  void tune(LongSupplier nanoTime) {
    if (size() == 1) {
      return;
    }
    Seat own = seat.of(IntStream.range(0, size()).toArray());
    CallSettings plain =
        settings.withRepeatability(Repeatability.FASTEST).withAlgorithm(Algorithm.binomialTree());
    try (Communicator group = new EngineCommunicator(own, plain, world, Owns.ITS_GROUP)) {
      Tuner tuner =
          new Tuner(
              group,
              seat.driver.medium(),
              frames -> new EngineCommunicator(own, framed(plain, frames), world, Owns.NOTHING),
              nanoTime);
      Chooser tuned = tuner.run();
      if (tuned != null) {
        seat.decideBy(tuned);
      }
    }
  }

  private static CallSettings framed(CallSettings settings, double frames) {
    return settings.withFrameLength(Chooser.frameLength(settings.frameLength(), frames));
  }

  @Override
  public Explanation explain(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("a payload of " + bytes + " bytes: must be at least 0");
    }
    return seat.chooser()
        .explain(
            bytes,
            settings.repeatability().needsAllAtOnce(),
            settings.wireType(),
            programs::sentBytes,
            settings.frameLength(),
            seat.driver.memoryLimit(),
            seat.driver.transports());
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
  public Communicator split(int colour, int key) {
    int size = size();
    long[] wishes = new long[2 * size];
    allGather(Payload.of(new long[] {colour, key}), Payload.of(wishes));
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
    Algorithm instead =
        settings.repeatability().needsAllAtOnce() ? Algorithm.direct() : Algorithm.ring();
    CallSettings fitting = other.suits(algorithm) ? settings : settings.withAlgorithm(instead);
    return new EngineCommunicator(other, fitting, world, Owns.ITS_GROUP);
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
      seat.forEachGroup(group -> driver.engine().abort(group, reason));
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
    return world.grow(this, seat.group, settings);
  }

  @Override
  public void close() {
    if (owns == Owns.NOTHING) {
      return;
    }
    Driver driver = seat.driver;
    if (owns == Owns.THE_JOB) {
      driver.close();
      seat.buffers().forEach(EngineBuffer::close);
      return;
    }
    driver.lock();
    try {
      seat.forEachGroup(driver.engine()::leave);
    } finally {
      driver.unlock();
    }
    driver.runCompletions();
    seat.buffers().forEach(EngineBuffer::close);
  }

  @Override
  public String toString() {
    return "rank " + rank() + " of " + size() + " in " + seat.group + ", " + settings;
  }
}
