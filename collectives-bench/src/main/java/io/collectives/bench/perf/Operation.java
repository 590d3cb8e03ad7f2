package io.collectives.bench.perf;

import io.collectives.CollectiveBuffer;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.plan.Chunks;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A collective on payloads of its own, which can be made again and again and whose result is known.
 * The root is rank 0. Parts are those of an even deal.
 */
abstract class Operation implements AutoCloseable {
  private final List<CollectiveBuffer> buffers = new ArrayList<>();
  final Communicator group;
  final PerfCase work;
  private @Nullable PersistentCall persistent;

  Operation(Communicator group, PerfCase work) {
    this.group = group;
    this.work = work;
  }

  /** Returns whether this rank contributes to an all-reduce, and gets the result. */
  final boolean contributes() {
    return group.rank() < work.contributors();
  }

  /** The one of a case. */
  static Operation of(Communicator group, PerfCase work) {
    if (work.operand().tensors().isPresent()) {
      return new TensorsOperation(group, work, work.operand().tensors().get());
    }
    return switch (work.collective()) {
      case ALL_REDUCE -> new AllReduce(group, work);
      case REDUCE_SCATTER -> new ReduceScatter(group, work);
      case ALL_GATHER -> new AllGather(group, work);
      case BROADCAST -> new Broadcast(group, work);
      case REDUCE -> new Reduce(group, work);
      case GATHER -> new Gather(group, work);
      case SCATTER -> new Scatter(group, work);
      case ALL_TO_ALL -> new AllToAll(group, work);
      case BARRIER -> new Barrier(group, work);
    };
  }

  /** Writes this rank's input; to be called before {@link #run} if the result is to be checked. */
  abstract void fill();

  /** Makes the call, in the way that the case wants. */
  final void run() {
    if (!work.persistent()) {
      call();
      return;
    }
    PersistentCall prepared = persistent;
    if (prepared == null) {
      persistent = prepared = prepare();
    }
    prepared.run();
  }

  abstract void call();

  abstract PersistentCall prepare();

  /** Returns {@link TensorSums#negotiationMessages}. */
  long negotiationMessages() {
    return 0;
  }

  /** The number of wrong elements at this rank. */
  abstract long wrong();

  /** Gives back what the group has made for this operation. */
  @Override
  public void close() {
    if (persistent != null) {
      persistent.close();
    }
    buffers.forEach(CollectiveBuffer::close);
  }

  /**
   * Payloads of some elements.
   *
   * @param most how many there are at any rank
   */
  final Elements elements(long count, long most) {
    if (work.buffers().memory() == Memory.COMMUNICATOR) {
      CollectiveBuffer buffer = group.allocate(work.operand().type(), most);
      buffers.add(buffer);
      return Elements.of(buffer, Math.toIntExact(count));
    }
    return Elements.allocate(
        work.operand().type(), Math.toIntExact(count), work.buffers().memory());
  }

  final Elements whole() {
    return elements(work.operand().count(), work.operand().count());
  }

  final Elements wholeAtRoot() {
    return elements(group.rank() == 0 ? work.operand().count() : 0, work.operand().count());
  }

  final Elements part() {
    return elements(partCount(group.rank()), longestPart());
  }

  final long partStart(int rank) {
    return Chunks.start(work.operand().count(), rank, group.size());
  }

  final long longestPart() {
    return Chunks.longest(work.operand().count(), group.size());
  }

  final int partCount(int rank) {
    return (int) Chunks.count(work.operand().count(), rank, group.size());
  }

  final long[] counts() {
    return IntStream.range(0, group.size()).mapToLong(this::partCount).toArray();
  }

  /** Writes what a rank contributes from a position of the payload on. */
  final void fill(Elements elements, int rank, long first) {
    elements.fill(work.operand().seed(), rank, first, work.operand().op());
  }

  /** Compares a whole payload with the parts of all ranks. */
  final long wrongParts(Elements all) {
    long wrong = 0;
    for (int rank = 0; rank < group.size(); rank++) {
      int first = (int) partStart(rank);
      wrong +=
          all.wrong(
              work.operand().seed(), rank, first, work.operand().op(), first, partCount(rank));
    }
    return wrong;
  }

  private static final class AllReduce extends Operation {
    private final Elements input = whole();
    private final Elements output = work.buffers().outOfPlace() ? whole() : input;

    AllReduce(Communicator group, PerfCase work) {
      super(group, work);
    }

    @Override
    void fill() {
      fill(input, group.rank(), 0);
    }

    @Override
    void call() {
      group.allReduce(input.payload(), output.payload(), work.operand().op());
    }

    @Override
    PersistentCall prepare() {
      return group.prepared().allReduce(input.payload(), output.payload(), work.operand().op());
    }

    @Override
    long wrong() {
      return contributes()
          ? output.wrongReduction(
              work.operand().seed(), work.contributors(), 0, work.operand().op())
          : 0;
    }
  }

  private static final class ReduceScatter extends Operation {
    private final Elements input = whole();
    private final Elements output = part();

    ReduceScatter(Communicator group, PerfCase work) {
      super(group, work);
    }

    @Override
    void fill() {
      fill(input, group.rank(), 0);
    }

    @Override
    void call() {
      group.reduceScatter(input.payload(), output.payload(), work.operand().op());
    }

    @Override
    PersistentCall prepare() {
      return group.prepared().reduceScatter(input.payload(), output.payload(), work.operand().op());
    }

    @Override
    long wrong() {
      return output.wrongReduction(
          work.operand().seed(), group.size(), partStart(group.rank()), work.operand().op());
    }
  }

  private static final class AllGather extends Operation {
    private final Elements input = part();
    private final Elements output = whole();

    AllGather(Communicator group, PerfCase work) {
      super(group, work);
    }

    @Override
    void fill() {
      fill(input, group.rank(), partStart(group.rank()));
    }

    @Override
    void call() {
      group.allGather(input.payload(), output.payload());
    }

    @Override
    PersistentCall prepare() {
      return group.prepared().allGather(input.payload(), output.payload());
    }

    @Override
    long wrong() {
      return wrongParts(output);
    }
  }

  private static final class Broadcast extends Operation {
    private final Elements buffer = whole();

    Broadcast(Communicator group, PerfCase work) {
      super(group, work);
    }

    @Override
    void fill() {
      fill(buffer, group.rank(), 0);
    }

    @Override
    void call() {
      group.broadcast(buffer.payload(), 0);
    }

    @Override
    PersistentCall prepare() {
      return group.prepared().broadcast(buffer.payload(), 0);
    }

    @Override
    long wrong() {
      return buffer.wrong(work.operand().seed(), 0, 0, work.operand().op(), 0, buffer.count());
    }
  }

  private static final class Reduce extends Operation {
    private final Elements input = whole();
    private final Elements output = wholeAtRoot();

    Reduce(Communicator group, PerfCase work) {
      super(group, work);
    }

    @Override
    void fill() {
      fill(input, group.rank(), 0);
    }

    @Override
    void call() {
      Payload result = group.rank() == 0 ? output.payload() : null;
      group.reduce(input.payload(), result, work.operand().op(), 0);
    }

    @Override
    PersistentCall prepare() {
      return group.prepared().reduce(input.payload(), output.payload(), work.operand().op(), 0);
    }

    @Override
    long wrong() {
      return output.wrongReduction(work.operand().seed(), group.size(), 0, work.operand().op());
    }
  }

  private static final class Gather extends Operation {
    private final Elements input = part();
    private final Elements output = wholeAtRoot();
    private final long[] counts = counts();

    Gather(Communicator group, PerfCase work) {
      super(group, work);
    }

    @Override
    void fill() {
      fill(input, group.rank(), partStart(group.rank()));
    }

    @Override
    void call() {
      Payload all = group.rank() == 0 ? output.payload() : null;
      group.gather(input.payload(), all, counts, 0);
    }

    @Override
    PersistentCall prepare() {
      return group.prepared().gather(input.payload(), output.payload(), counts, 0);
    }

    @Override
    long wrong() {
      return group.rank() == 0 ? wrongParts(output) : 0;
    }
  }

  private static final class Scatter extends Operation {
    private final Elements input = wholeAtRoot();
    private final Elements output = part();
    private final long[] counts = counts();

    Scatter(Communicator group, PerfCase work) {
      super(group, work);
    }

    @Override
    void fill() {
      fill(input, group.rank(), 0);
    }

    @Override
    void call() {
      Payload all = group.rank() == 0 ? input.payload() : null;
      group.scatter(all, output.payload(), counts, 0);
    }

    @Override
    PersistentCall prepare() {
      return group.prepared().scatter(input.payload(), output.payload(), counts, 0);
    }

    @Override
    long wrong() {
      long first = partStart(group.rank());
      return output.wrong(work.operand().seed(), 0, first, work.operand().op(), 0, output.count());
    }
  }

  private static final class AllToAll extends Operation {
    private final Elements input = whole();
    private final Elements output =
        elements(
            (long) group.size() * partCount(group.rank()), (long) group.size() * longestPart());

    AllToAll(Communicator group, PerfCase work) {
      super(group, work);
    }

    @Override
    void fill() {
      fill(input, group.rank(), 0);
    }

    @Override
    void call() {
      group.allToAll(input.payload(), output.payload());
    }

    @Override
    PersistentCall prepare() {
      return group.prepared().allToAll(input.payload(), output.payload());
    }

    @Override
    long wrong() {
      long wrong = 0;
      int block = partCount(group.rank());
      long first = partStart(group.rank());
      for (int from = 0; from < group.size(); from++) {
        wrong +=
            output.wrong(
                work.operand().seed(), from, first, work.operand().op(), from * block, block);
      }
      return wrong;
    }
  }

  private static final class Barrier extends Operation {
    Barrier(Communicator group, PerfCase work) {
      super(group, work);
    }

    @Override
    void fill() {}

    @Override
    void call() {
      group.barrier();
    }

    @Override
    PersistentCall prepare() {
      return group.prepared().barrier();
    }

    /** Returns 0, because a barrier has no payload to check. */
    @Override
    long wrong() {
      return 0;
    }
  }
}
