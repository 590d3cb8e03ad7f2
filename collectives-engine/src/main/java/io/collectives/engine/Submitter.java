package io.collectives.engine;

import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.CollectiveException;
import io.collectives.ElementType;
import io.collectives.NonFiniteException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.ArrayMemory;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.run.Call;
import io.collectives.engine.run.CallOptions;
import io.collectives.engine.run.Program;
import io.collectives.plan.Chunks;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Checks the arguments of the calls of a group, finds the program and the memory for each, and
 * submits them to the engine. Any thread may call.
 *
 * <p>Each method ends with a handle: without one it waits for the call; with that of an
 * asynchronous call it starts the call; with that of a persistent call it describes the call. The
 * methods for arrays always wait: they bind memory that is there already, and allocate nothing.
 *
 * <p>One class because every collective takes the same steps (checks, program, memory, submission),
 * and the methods behind these steps serve nearly all of them.
 */
final class Submitter {
  private static final Memory NOTHING = Memories.of(Payload.of(new float[0]));

  /** The payloads of calls, as errors of overlaps name them. */
  private static final String INPUT = "the input";

  private static final String OUTPUT = "the output";
  private static final String PART = "the part";
  private static final String WHOLE = "the whole";
  private static final String RESIDUAL = "the residual";
  private static final String PAYLOAD = "the payload";

  private final GroupContext context;
  private final CallSettings settings;
  private final CallOptions options;
  private final Programs programs;

  Submitter(GroupContext context, CallSettings settings, Programs programs) {
    this.context = context;
    this.settings = settings;
    this.options = options(settings);
    this.programs = programs;
  }

  private static CallOptions options(CallSettings settings) {
    return new CallOptions(
        settings.wireType(),
        settings.repeatability(),
        settings.finiteCheck(),
        settings.frameLength(),
        settings.slabsInFlight(),
        settings.timeout().toNanos());
  }

  CallOptions options() {
    return options;
  }

  // ------------------------------------------------------------------ arrays

  void allReduce(ElementType type, Object array, int length, ReduceOp op) {
    Objects.requireNonNull(op, "op");
    submit(programs.allReduce(type, length, op), type, array, length, op);
  }

  void broadcast(ElementType type, Object array, int length, int root) {
    Program program = programs.of(Collective.BROADCAST, root, (long) length * type.bytes());
    submit(program, type, array, length, ReduceOp.SUM);
  }

  void reduceScatter(float[] input, float[] output, ReduceOp op) {
    Shapes.part(output.length, ownCount(input.length), context.group.rank(), "output");
    if (input == output) {
      // For the error only.
      Payload same = Payload.of(input);
      context.overlaps.check(INPUT, same, OUTPUT, same, Overlaps.APART);
    }
    long bytes = (long) input.length * Float.BYTES;
    ElementType type = ElementType.FLOAT32;
    Program program = programs.reduction(Collective.REDUCE_SCATTER, 0, bytes, type, op);
    submit(program, type, input, input.length, output, output.length, op);
  }

  void allGather(float[] part, float[] all) {
    Shapes.part(part.length, ownCount(all.length), context.group.rank(), "part");
    long bytes = (long) all.length * Float.BYTES;
    Program program = programs.of(Collective.ALL_GATHER, 0, bytes);
    submit(program, ElementType.FLOAT32, part, part.length, all, all.length, ReduceOp.SUM);
  }

  private void submit(Program program, ElementType type, Object array, int length, ReduceOp op) {
    submit(program, type, array, length, array, length, op);
  }

  private void submit(
      Program program,
      ElementType type,
      Object input,
      int inputLength,
      Object output,
      int outputLength,
      ReduceOp op) {
    Call call;
    ArrayMemory in;
    ArrayMemory out;
    lock();
    try {
      in = context.takeMemory(type, input, inputLength);
      out = input == output ? in : context.takeMemory(type, output, outputLength);
      call = describe(context, program, in, out, op, null, null);
      if (!submit(call, null)) {
        giveBack(in, out);
        return;
      }
    } finally {
      unlock();
    }
    context.driver.finish(call);
    lock();
    try {
      giveBack(in, out); // Not after an error, when a peer may still look at it.
    } finally {
      unlock();
    }
  }

  private void giveBack(ArrayMemory in, ArrayMemory out) {
    context.giveBack(in);
    if (out != in) {
      context.giveBack(out);
    }
  }

  private long ownCount(long total) {
    int ranks = context.group.size();
    int rank = context.group.rank();
    return Chunks.count(total, rank, ranks);
  }

  // ------------------------------------------------------------------ payloads

  /**
   * An all-reduce, with error feedback if there is a residual.
   *
   * @param number of the buffer, 0 if it has none
   */
  void allReduce(
      Payload input,
      Payload output,
      ReduceOp op,
      @Nullable Payload residual,
      int number,
      @Nullable Handle handle) {
    if (input instanceof Payload.OfTensors several) {
      allReduce(several, output, op, residual, handle);
      return;
    }
    Memory out = result(input, output);
    Memory in = source(input, output, out);
    Memory kept = kept(input, output, residual, op);
    Program program = programs.allReduce(in.type(), in.count(), op);
    program = kept == null ? program : programs.sendingOnce(program);
    Call call;
    boolean isLeft;
    lock();
    try {
      call = describe(context, program, in, out, op, kept, handle);
      call.numbered(number);
      isLeft = submit(call, handle);
    } finally {
      unlock();
    }
    if (isLeft) {
      context.driver.finish(call);
    }
  }

  private void allReduce(
      Payload.OfTensors input,
      Payload output,
      ReduceOp op,
      @Nullable Payload residual,
      @Nullable Handle handle) {
    List<Payload> inputs = input.byType();
    List<Payload> outputs = Shapes.sameTypes(input, output);
    Memory residuals = residual == null ? null : residuals(input, output, residual, op);
    context.overlaps.check(INPUT, input, OUTPUT, output, 0);
    Batch batch = context.takeBatch();
    for (int i = 0; i < inputs.size(); i++) {
      Memory out = result(inputs.get(i), outputs.get(i));
      Memory in = source(inputs.get(i), outputs.get(i), out);
      Memory kept = in.type() == ElementType.FLOAT32 ? residuals : null;
      Program program = programs.allReduce(in.type(), in.count(), op);
      batch.add(kept == null ? program : programs.sendingOnce(program), in, out, kept);
    }
    submit(context, batch, op, handle);
  }

  void barrier(@Nullable Handle handle) {
    submit(context, programs.barrier(), NOTHING, NOTHING, ReduceOp.SUM, handle);
  }

  void broadcast(Payload buffer, int root, @Nullable Handle handle) {
    boolean isRoot = context.group.rank() == root;
    if (buffer instanceof Payload.OfTensors several) {
      if (!isRoot) {
        context.overlaps.check("the buffer", buffer);
      }
      Batch batch = context.takeBatch();
      for (Payload each : several.byType()) {
        Memory memory = isRoot ? context.memory(each) : writable(each);
        batch.add(programs.of(Collective.BROADCAST, root, bytes(each)), memory, memory, null);
      }
      submit(context, batch, ReduceOp.SUM, handle);
      return;
    }
    Program program = programs.of(Collective.BROADCAST, root, bytes(buffer));
    Memory memory = isRoot ? context.memory(buffer) : writable("the buffer", buffer);
    submit(context, program, memory, memory, ReduceOp.SUM, handle);
  }

  void reduce(
      Payload input,
      @Nullable Payload output,
      ReduceOp op,
      int root,
      @Nullable Payload residual,
      @Nullable Handle handle) {
    if (input instanceof Payload.OfTensors several) {
      reduce(several, output, op, root, residual, handle);
      return;
    }
    Program program = programs.reduction(Collective.REDUCE, root, bytes(input), input.type(), op);
    Payload written = context.group.rank() == root ? Shapes.atRoot(output, "output", root) : null;
    Memory out = written == null ? NOTHING : result(input, written);
    Memory in = written == null ? context.memory(input) : source(input, written, out);
    Memory kept = kept(input, written, residual, op);
    submit(context, program, in, out, op, kept, handle);
  }

  private void reduce(
      Payload.OfTensors input,
      @Nullable Payload output,
      ReduceOp op,
      int root,
      @Nullable Payload residual,
      @Nullable Handle handle) {
    List<Payload> inputs = input.byType();
    List<Payload> outputs = inputs;
    Payload written = context.group.rank() == root ? Shapes.atRoot(output, "output", root) : null;
    if (written != null) {
      outputs = Shapes.sameTypes(input, written);
      context.overlaps.check(INPUT, input, OUTPUT, written, 0);
    }
    Memory residuals = residual == null ? null : residuals(input, written, residual, op);
    Batch batch = context.takeBatch();
    for (int i = 0; i < inputs.size(); i++) {
      Payload each = inputs.get(i);
      Memory out = written == null ? NOTHING : result(each, outputs.get(i));
      Memory in = written == null ? context.memory(each) : source(each, outputs.get(i), out);
      Memory kept = in.type() == ElementType.FLOAT32 ? residuals : null;
      batch.add(reduction(Collective.REDUCE, root, in, op), in, out, kept);
    }
    submit(context, batch, op, handle);
  }

  void reduceScatter(
      Payload input,
      Payload output,
      long @Nullable [] counts,
      ReduceOp op,
      @Nullable Payload residual,
      @Nullable Handle handle) {
    Shapes.dealt(
        output, "output", input, "input", counts, context.group.size(), context.group.rank());
    context.overlaps.check(INPUT, input, OUTPUT, output, Overlaps.APART);
    Program program =
        programs.reduction(Collective.REDUCE_SCATTER, 0, bytes(input), input.type(), op);
    Memory in = context.memory(input);
    Memory out = writable(output);
    if (counts == null) {
      submit(context, program, in, out, op, kept(input, output, residual, op), handle);
    } else {
      submitDealt(program, in, out, counts, op, handle);
    }
  }

  void allGather(Payload part, Payload all, long @Nullable [] counts, @Nullable Handle handle) {
    int ranks = context.group.size();
    int rank = context.group.rank();
    Shapes.dealt(part, "part", all, "whole", counts, ranks, rank);
    context.overlaps.check(PART, part, WHOLE, all, Shapes.start(all.count(), counts, rank, ranks));
    Program program = programs.of(Collective.ALL_GATHER, 0, bytes(all));
    submitDealt(program, context.memory(part), writable(all), counts, ReduceOp.SUM, handle);
  }

  void gather(
      Payload part,
      @Nullable Payload all,
      long @Nullable [] counts,
      int root,
      @Nullable Handle handle) {
    Program program = programs.of(Collective.GATHER, root, 0);
    Memory out = NOTHING;
    if (context.group.rank() == root) {
      Payload whole = Shapes.atRoot(all, "whole", root);
      checkShare(part, whole, counts);
      long start = Shapes.start(whole.count(), counts, root, context.group.size());
      context.overlaps.check(PART, part, WHOLE, whole, start);
      out = writable(whole);
    } else {
      checkPart(part, counts);
    }
    submitDealt(program, context.memory(part), out, counts, ReduceOp.SUM, handle);
  }

  void scatter(
      @Nullable Payload all,
      Payload part,
      long @Nullable [] counts,
      int root,
      @Nullable Handle handle) {
    Program program = programs.of(Collective.SCATTER, root, 0);
    context.overlaps.check(PART, part);
    Memory out = writable(part);
    Memory in = out;
    if (context.group.rank() == root) {
      Payload whole = Shapes.atRoot(all, "whole", root);
      checkShare(part, whole, counts);
      long start = Shapes.start(whole.count(), counts, root, context.group.size());
      context.overlaps.check(WHOLE, whole, PART, part, start);
      in = context.memory(whole);
    } else {
      checkPart(part, counts);
    }
    submitDealt(program, in, out, counts, ReduceOp.SUM, handle);
  }

  /** At the root. */
  private void checkShare(Payload part, Payload whole, long @Nullable [] counts) {
    Shapes.shared(part, whole, counts, context.group.size(), context.group.rank());
  }

  /** Elsewhere, where nobody knows the whole. */
  private void checkPart(Payload part, long @Nullable [] counts) {
    if (counts != null) {
      int rank = context.group.rank();
      Shapes.sum(counts, context.group.size(), "counts");
      Shapes.part(part.count(), counts[rank], rank, "part");
    }
  }

  void allToAll(Payload input, Payload output, @Nullable Handle handle) {
    Shapes.sameType(input, output);
    Shapes.count(output.count(), context.group.size() * ownCount(input.count()), "output");
    context.overlaps.check(INPUT, input, OUTPUT, output, Overlaps.APART);
    Program program = programs.of(Collective.ALL_TO_ALL, 0, 0);
    submit(context, program, context.memory(input), writable(output), ReduceOp.SUM, handle);
  }

  void allToAll(
      Payload input,
      long[] sendCounts,
      Payload output,
      long[] receiveCounts,
      @Nullable Handle handle) {
    int ranks = context.group.size();
    int rank = context.group.rank();
    Shapes.sameType(input, output);
    Shapes.count(input.count(), Shapes.sum(sendCounts, ranks, "send counts"), "input");
    Shapes.count(output.count(), Shapes.sum(receiveCounts, ranks, "receive counts"), "output");
    Shapes.part(receiveCounts[rank], sendCounts[rank], rank, "block received from itself");
    context.overlaps.check(INPUT, input, OUTPUT, output, Overlaps.APART);
    Memory in = context.memory(input);
    Memory out = writable(output);
    Call call;
    boolean isLeft;
    lock();
    try {
      Program program = programs.pairwise();
      call = open(context, program, handle);
      call.deal(sendCounts, receiveCounts);
      describe(call, program, in, out, ReduceOp.SUM, null);
      isLeft = submit(call, handle);
    } finally {
      unlock();
    }
    if (isLeft) {
      context.driver.finish(call);
    }
  }

  /**
   * A broadcast in the group of a sender and a receiver.
   *
   * @param pair that group
   * @param written whether this rank receives
   */
  void pass(Payload payload, GroupContext pair, boolean written, @Nullable Handle handle) {
    if (payload instanceof Payload.OfTensors several) {
      if (written) {
        context.overlaps.check(PAYLOAD, payload);
      }
      Batch batch = context.takeBatch();
      for (Payload each : several.byType()) {
        Memory memory = written ? writable(each) : context.memory(each);
        batch.add(pair.message(), memory, memory, null);
      }
      submit(pair, batch, ReduceOp.SUM, handle);
      return;
    }
    Memory memory = written ? writable(PAYLOAD, payload) : context.memory(payload);
    submit(pair, pair.message(), memory, memory, ReduceOp.SUM, handle);
  }

  // ------------------------------------------------------------------ memory

  /** Returns the memory to which a reduction of an input is written. */
  private Memory result(Payload input, Payload output) {
    Shapes.sameTypeAndCount(input, output);
    return writable(output);
  }

  /**
   * The memory of the input of a reduction: that of the output if they are the same, even as other
   * payloads.
   */
  private Memory source(Payload input, Payload output, Memory out) {
    return context.overlaps.check(INPUT, input, OUTPUT, output, 0) ? out : context.memory(input);
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

  /** The memory of the residual of what is float32 in a payload of several types. */
  private Memory residuals(
      Payload.OfTensors input, @Nullable Payload output, Payload residual, ReduceOp op) {
    Shapes.residual(Shapes.floats(input), residual, op, settings.repeatability());
    return residual(input, output, residual);
  }

  private Memory residual(Payload input, @Nullable Payload output, Payload residual) {
    context.overlaps.check(INPUT, input, RESIDUAL, residual, Overlaps.APART);
    if (output != null) {
      context.overlaps.check(OUTPUT, output, RESIDUAL, residual, Overlaps.APART);
    }
    return writable(residual);
  }

  private Memory writable(String name, Payload payload) {
    context.overlaps.check(name, payload);
    return writable(payload);
  }

  private Memory writable(Payload payload) {
    Memory memory = context.memory(payload);
    memory.checkWritable();
    return memory;
  }

  private Program reduction(Collective collective, int root, Memory input, ReduceOp op) {
    return programs.reduction(collective, root, bytes(input), input.type(), op);
  }

  private static long bytes(Payload payload) {
    return payload.count() * payload.type().bytes();
  }

  private static long bytes(Memory memory) {
    return memory.count() * memory.type().bytes();
  }

  // ------------------------------------------------------------------ submission

  private void submit(
      GroupContext by,
      Program program,
      Memory input,
      Memory output,
      ReduceOp op,
      @Nullable Handle handle) {
    submit(by, program, input, output, op, null, handle);
  }

  private void submit(
      GroupContext by,
      Program program,
      Memory input,
      Memory output,
      ReduceOp op,
      @Nullable Memory residual,
      @Nullable Handle handle) {
    Call call;
    boolean isLeft;
    lock();
    try {
      call = describe(by, program, input, output, op, residual, handle);
      isLeft = submit(call, handle);
    } finally {
      unlock();
    }
    if (isLeft) {
      context.driver.finish(call);
    }
  }

  /** Submits a call of the group itself, dealt evenly if there are no counts. */
  private void submitDealt(
      Program program,
      Memory input,
      Memory output,
      long @Nullable [] counts,
      ReduceOp op,
      @Nullable Handle handle) {
    Call call;
    boolean isLeft;
    lock();
    try {
      call = open(context, program, handle);
      if (counts != null) {
        call.deal(counts, null);
      }
      describe(call, program, input, output, op, null);
      isLeft = submit(call, handle);
    } finally {
      unlock();
    }
    if (isLeft) {
      context.driver.finish(call);
    }
  }

  /**
   * Submits calls that have consecutive numbers, whatever other threads submit. Without a handle
   * waits for all of them, whatever becomes of any: till then memory is the library's.
   */
  private void submit(GroupContext by, Batch batch, ReduceOp op, @Nullable Handle handle) {
    lock();
    try {
      for (int i = 0; i < batch.size; i++) {
        Call call =
            describe(
                by,
                Objects.requireNonNull(batch.programs[i]),
                Objects.requireNonNull(batch.inputs[i]),
                Objects.requireNonNull(batch.outputs[i]),
                op,
                batch.residuals[i],
                handle);
        call.followedBy(batch.size - 1 - i);
        if (handle == null) {
          start(call, null);
        } else {
          submit(call, handle);
        }
        batch.calls[i] = call;
      }
    } finally {
      unlock();
    }
    RuntimeException error = null;
    for (int i = 0; handle == null && i < batch.size; i++) {
      try {
        context.driver.finish(Objects.requireNonNull(batch.calls[i]));
      } catch (CollectiveException | NonFiniteException e) {
        error = Batch.graver(error, e);
      }
    }
    context.giveBack(batch);
    if (error != null) {
      throw error;
    }
  }

  private void lock() {
    context.driver.lock();
  }

  private void unlock() {
    context.driver.unlock();
  }

  /** A call to be described, with the lock held. */
  private Call open(GroupContext by, Program program, @Nullable Handle handle) {
    return context
        .driver
        .engine()
        .call(by.group, program, options.slabsInFlight(), handle instanceof PreparedCall);
  }

  private Call describe(
      GroupContext by,
      Program program,
      Memory input,
      Memory output,
      ReduceOp op,
      @Nullable Memory residual,
      @Nullable Handle handle) {
    Call call = open(by, program, handle);
    describe(call, program, input, output, op, residual);
    return call;
  }

  private void describe(
      Call call,
      Program program,
      Memory input,
      Memory output,
      ReduceOp op,
      @Nullable Memory residual) {
    Objects.requireNonNull(op, "op");
    call.describe(options, input, output, op, residual);
  }

  /**
   * Starts a call, with the lock held, and drives it if somebody waits for it; one that is
   * persistent is only prepared.
   *
   * @return whether the call is to be finished without the lock
   */
  private boolean submit(Call call, @Nullable Handle handle) {
    if (handle instanceof PreparedCall prepared) {
      prepared.describedBy(call);
      return false;
    }
    start(call, handle);
    if (handle == null) {
      return !context.driver.runAtOnce(call);
    }
    context.driver.submittedAsynchronous(!call.isInline());
    return false;
  }

  private void start(Call call, @Nullable Handle handle) {
    context.driver.engine().start(call, options.timeoutNanos(), handle);
  }
}
