package io.collectives.engine.memory;

import io.collectives.ReduceOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A reduction of two operands: a memory, {@code own}, and another memory or a frame. To be told by
 * {@link #by} how, then to be run as often as that is so. Belongs to one thread at a time.
 *
 * <p>The result is {@code own} itself at the same position (in place), or another memory of its
 * type (out of place). What is reduced is only read; it must not overlap with what is written,
 * unless position by position. AVERAGE adds, and divides where it is told to.
 */
public final class PairReduction {
  private final Scratch scratch;
  private final Kernels kernels;
  private ReduceOp op = ReduceOp.SUM;
  private int divisor = 1;
  private @Nullable NarrowWire narrow;

  /**
   * A reduction by SUM of elements as they are.
   *
   * @param scratch of the thread that it belongs to
   */
  public PairReduction(Scratch scratch) {
    this(scratch, KernelTrial.PASSED);
  }

  PairReduction(Scratch scratch, Kernels kernels) {
    this.scratch = scratch;
    this.kernels = kernels;
  }

  /**
   * Chooses how operands are reduced.
   *
   * @param newDivisor what the result is divided by, 1 if it is not; of standard ops
   * @param newNarrow how elements lie in frames; nothing if they are as they are
   * @return this
   */
  public PairReduction by(ReduceOp newOp, int newDivisor, @Nullable NarrowWire newNarrow) {
    op = newOp;
    divisor = newDivisor;
    narrow = newNarrow;
    return this;
  }

  /**
   * {@code result[to+i] = (own[ownFrom+i] op source[i]) / divisor} for all i less than {@code
   * count}.
   *
   * @param at where in the frame, a multiple of the element's length, of 4 if elements are narrow
   */
  public void run(
      Memory result, long to, int count, Memory own, long ownFrom, FrameBytes source, int at) {
    NarrowWire wire = narrow;
    if (wire != null) {
      int most = wire.block();
      for (int done = 0; done < count; done += most) {
        int block = Math.min(most, count - done);
        Memory widened = wire.widened(source, at + wire.length(done), block, scratch);
        run(result, to + done, block, own, ownFrom + done, widened, 0);
      }
      return;
    }
    check(result, to, count, own, ownFrom);
    Elements elements = result.elements;
    int index = elements.index(at);
    if (count == 0) {
      return;
    }
    int part = result.partAt(to);
    int ownPart = own.partAt(ownFrom);
    for (int done = 0; done < count; ) {
      long here = to + done;
      long ownHere = ownFrom + done;
      int run = own.run(result.run(count - done, part, here), ownPart, ownHere);
      int ownLocal = own.local(ownPart, ownHere);
      reduce(
          result.part(part),
          result.local(part, here),
          run,
          own.part(ownPart),
          ownLocal,
          source,
          index + done);
      done += run;
      part = result.next(part, here + run);
      ownPart = own.next(ownPart, ownHere + run);
    }
  }

  /**
   * {@code result[to+i] = (own[ownFrom+i] op source[from+i]) / divisor} for all i less than {@code
   * count}. Fastest where the three are arrays and the elements have the same indexes in them, so
   * that nothing is copied.
   *
   * @param source a memory of the same type and any kind
   */
  public void run(
      Memory result, long to, int count, Memory own, long ownFrom, Memory source, long from) {
    check(result, to, count, own, ownFrom);
    result.checkType(source);
    Objects.checkFromIndexSize(from, count, source.count());
    if (count == 0) {
      return;
    }
    int part = result.partAt(to);
    int ownPart = own.partAt(ownFrom);
    int sourcePart = source.partAt(from);
    for (int done = 0; done < count; ) {
      long here = to + done;
      long ownHere = ownFrom + done;
      long there = from + done;
      int run = own.run(result.run(count - done, part, here), ownPart, ownHere);
      run = source.run(run, sourcePart, there);
      reduce(
          result.part(part),
          result.local(part, here),
          run,
          own.part(ownPart),
          own.local(ownPart, ownHere),
          source.part(sourcePart),
          source.local(sourcePart, there));
      done += run;
      part = result.next(part, here + run);
      ownPart = own.next(ownPart, ownHere + run);
      sourcePart = source.next(sourcePart, there + run);
    }
  }

  private static void check(Memory result, long to, int count, Memory own, long ownFrom) {
    result.checkType(own);
    Objects.checkFromIndexSize(to, count, result.count());
    Objects.checkFromIndexSize(ownFrom, count, own.count());
  }

  private void reduce(
      FlatMemory result,
      int to,
      int count,
      FlatMemory own,
      int ownFrom,
      FlatMemory source,
      int from) {
    Elements elements = result.elements;
    Object array = result.array();
    Object ownArray = own.array();
    Object sourceArray = source.array();
    int first = result.index(to);
    if (array != null
        && ownArray != null
        && sourceArray != null
        && first == own.index(ownFrom)
        && first == source.index(from)) {
      Operands operands = scratch.get(Operands.KEY);
      operands.addResult(array);
      operands.add(ownArray);
      operands.add(sourceArray);
      try {
        elements.reduce(op, divisor, operands, first, first + count, scratch);
      } finally {
        operands.clear();
      }
      return;
    }
    int done = 0;
    if (op instanceof ReduceOp.Standard standard && KernelCall.isWorthwhile(count, kernels)) {
      KernelCall call = scratch.get(KernelCall.KEY).begin(count);
      call.add(own, ownFrom);
      call.add(source, from);
      call.addResult(result, to);
      done = call.run(standard, divisor, elements, kernels);
    }
    Operands blocks = elements.blocks(2, scratch);
    while (done < count) {
      int step = Math.min(count - done, elements.block);
      source.load(from + done, step, blocks.own[1], 0);
      reduceBlock(result, to + done, step, own, ownFrom + done, blocks);
      done += step;
    }
  }

  private void reduce(
      FlatMemory result,
      int to,
      int count,
      FlatMemory own,
      int ownFrom,
      FrameBytes source,
      int at) {
    Elements elements = result.elements;
    int done = 0;
    if (op instanceof ReduceOp.Standard standard && KernelCall.isWorthwhile(count, kernels)) {
      KernelCall call = scratch.get(KernelCall.KEY).begin(count);
      call.add(own, ownFrom);
      call.add(source, at);
      call.addResult(result, to);
      done = call.run(standard, divisor, elements, kernels);
    }
    Buffer view = elements.view(source);
    Operands blocks = elements.blocks(2, scratch);
    while (done < count) {
      int step = Math.min(count - done, elements.block);
      elements.get(view, at + done, blocks.own[1], 0, step);
      reduceBlock(result, to + done, step, own, ownFrom + done, blocks);
      done += step;
    }
  }

  /** Reduces a block; that of the source lies in the second of the blocks. */
  private void reduceBlock(
      FlatMemory result, int to, int count, FlatMemory own, int ownFrom, Operands blocks) {
    own.load(ownFrom, count, blocks.own[0], 0);
    result.elements.reduce(op, divisor, blocks, 0, count, scratch);
    result.save(to, count, blocks.own[0], 0);
  }
}
