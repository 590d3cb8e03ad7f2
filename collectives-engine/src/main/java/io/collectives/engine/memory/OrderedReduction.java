package io.collectives.engine.memory;

import io.collectives.ReduceOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A reduction of frames and memories in a given order, from the left, or, of a sum, in none, whose
 * result goes to several memories at once: each element is read once from every operand (twice, if
 * the exact sum was in doubt) and written once to every target, block by block, so that a block
 * stays in cache between the two. To be filled by {@link #add}, then {@link #run}, which empties
 * it. Belongs to one thread at a time.
 *
 * <p>Arrays in which all elements have the same indexes are reduced where they are. Else blocks of
 * all operands go through {@link Scratch}, so that the result may be one of them.
 */
public final class OrderedReduction {
  /**
   * The elements of a block that goes through scratch: a few of these, and the lines of the
   * memories that they are copied from, must fit into L1. But long runs of more than two memories
   * go in the longest blocks that there is room for, presumably because with each block a processor
   * begins anew to fetch ahead from each memory.
   */
  private static final int BLOCK = 1024;

  private static final int LONG_RUN = 16 * BLOCK;

  private final Scratch scratch;
  private final Kernels kernels;

  /** Users' arrays. */
  private final Operands arrays = new Operands();

  private @Nullable FrameBytes[] frames = new FrameBytes[2];
  private @Nullable Memory[] memories = new Memory[2];
  private long[] from = new long[2];
  private @Nullable Memory[] targets = new Memory[2];
  private long[] targetAt = new long[2];
  private int size;

  /** The manner in which contributions are combined. */
  public enum Manner {
    /** Each contribution is combined with the result of those before it. */
    SEQUENTIAL,
    /** The sum or average of all, rounded once; of floating-point numbers by SUM or AVERAGE. */
    EXACT
  }

  /**
   * A reduction of nothing.
   *
   * @param scratch of the thread that it belongs to
   */
  public OrderedReduction(Scratch scratch) {
    this(scratch, KernelTrial.PASSED);
  }

  OrderedReduction(Scratch scratch, Kernels kernels) {
    this.scratch = scratch;
    this.kernels = kernels;
  }

  /** Adds the elements of a memory from a position on. */
  public void add(Memory memory, long position) {
    add(memory, position, null, 0);
  }

  /**
   * Adds the elements of a memory from a position on, and a target that is to get the result.
   *
   * @param target may be the same memory, at the same position; nothing if there is none
   */
  public void add(Memory memory, long position, @Nullable Memory target, long at) {
    makeRoom();
    memories[size] = memory;
    targets[size] = target;
    targetAt[size] = at;
    from[size++] = position;
  }

  /**
   * Adds the elements of a frame.
   *
   * @param at the byte where they begin, a multiple of the element's length
   */
  public void add(FrameBytes frame, int at) {
    makeRoom();
    frames[size] = frame;
    from[size++] = at;
  }

  private void makeRoom() {
    if (size == from.length) {
      frames = Arrays.copyOf(frames, 2 * size);
      memories = Arrays.copyOf(memories, 2 * size);
      from = Arrays.copyOf(from, 2 * size);
      targets = Arrays.copyOf(targets, 2 * size);
      targetAt = Arrays.copyOf(targetAt, 2 * size);
    }
  }

  /**
   * {@code result[to+i] = ((first[i] op second[i]) op third[i]) ...} for all i less than {@code
   * count}, divided by {@code divisor}; and the same to every target. Targets get the very bits of
   * the result.
   *
   * @param result may be a memory that was added, at the same position
   * @param divisor 1 unless the op is AVERAGE
   * @param narrow how elements lie in frames, and what those of memories are rounded to, as others
   *     get them; nothing if they are as they are
   */
  public void run(
      ReduceOp op,
      Manner manner,
      Memory result,
      long to,
      int count,
      int divisor,
      @Nullable NarrowWire narrow) {
    try {
      Elements elements = result.elements;
      if (manner == Manner.SEQUENTIAL && narrow == null && bindArrays(result, to, count)) {
        int first = index(result, to);
        elements.reduce(op, divisor, arrays, first, first + count, scratch);
        return;
      }
      int done =
          manner == Manner.SEQUENTIAL
                  && narrow == null
                  && op instanceof ReduceOp.Standard standard
                  && KernelCall.isWorthwhile(count, kernels)
              ? runKernel(standard, elements, result, to, count, divisor)
              : 0;
      int block = narrow == null ? block(elements, manner, count) : narrow.block();
      Operands blocks =
          narrow == null ? scratch.get(elements.blocks) : NarrowWire.operands(scratch);
      Object sum = blocks.own[0];
      for (; done < count; done += block) {
        int length = Math.min(block, count - done);
        if (manner == Manner.EXACT) {
          sumExactly(elements, blocks, done, length, divisor, narrow);
        } else {
          int next = 0;
          do {
            next = load(next, elements, blocks, done, length, narrow);
            elements.reduce(op, next == size ? divisor : 1, blocks, 0, length, scratch);
          } while (next < size);
        }
        result.save(to + done, length, sum);
        for (int i = 0; i < size; i++) {
          Memory target = targets[i];
          if (target != null) {
            target.save(targetAt[i] + done, length, sum);
          }
        }
      }
    } finally {
      // Lets go of users' memory.
      arrays.clear();
      Arrays.fill(frames, 0, size, null);
      Arrays.fill(memories, 0, size, null);
      Arrays.fill(targets, 0, size, null);
      size = 0;
    }
  }

  private int block(Elements elements, Manner manner, int count) {
    return size > 2 && count >= LONG_RUN && manner == Manner.SEQUENTIAL
        ? elements.longestBlock
        : Math.min(elements.block, BLOCK);
  }

  /**
   * Loads as many operands as there are blocks for; the first block holds what those before became.
   *
   * @return the operand after them
   */
  private int load(
      int next,
      Elements elements,
      Operands blocks,
      int done,
      int count,
      @Nullable NarrowWire narrow) {
    int source = next;
    int at = next == 0 ? 0 : 1;
    for (; at < blocks.own.length && source < size; at++) {
      load(source++, elements, done, blocks.own[at], count, narrow);
    }
    blocks.size = at;
    return source;
  }

  private void sumExactly(
      Elements elements,
      Operands blocks,
      int done,
      int count,
      int divisor,
      @Nullable NarrowWire narrow) {
    Object sum = blocks.own[0];
    Object next = blocks.own[1];
    ExactSum exact = ExactSum.of(elements.type, scratch);
    for (int i = 0; i < size; i++) {
      load(i, elements, done, next, count, narrow);
      if (i == 0) {
        exact.begin(next, count, scratch);
      } else {
        exact.add(next, count, scratch);
      }
    }
    if (size == 1) {
      exact.end(count);
    }
    exact.finish(sum, count, size, divisor, scratch);
    while (exact.doubtful() > 0) {
      for (int i = 0; i < size; i++) {
        load(i, elements, done, next, count, narrow);
        exact.look(next);
      }
      exact.settle(sum);
    }
  }

  private void load(
      int source,
      Elements elements,
      int done,
      Object block,
      int count,
      @Nullable NarrowWire narrow) {
    FrameBytes frame = frames[source];
    if (frame != null && narrow != null) {
      int at = (int) from[source] + narrow.length(done);
      narrow.load(frame, at, count, (float[]) block, scratch);
    } else if (frame != null) {
      Buffer view = elements.view(frame);
      elements.get(view, elements.index((int) from[source]) + done, block, 0, count);
    } else {
      memories[source].load(from[source] + done, count, block);
      if (narrow != null) {
        narrow.round((float[]) block, count, scratch);
      }
    }
  }

  /** Reduces by a kernel as much as that does, from the first element on. */
  private int runKernel(
      ReduceOp.Standard op, Elements elements, Memory result, long to, int count, int divisor) {
    KernelCall call = scratch.get(KernelCall.KEY).begin(count);
    for (int i = 0; i < size; i++) {
      FrameBytes frame = frames[i];
      if (frame != null) {
        call.add(frame, elements.index((int) from[i]));
      } else {
        call.add(memories[i], from[i]);
      }
    }
    call.addResult(result, to);
    for (int i = 0; i < size; i++) {
      Memory target = targets[i];
      if (target != null) {
        call.addResult(target, targetAt[i]);
      }
    }
    return call.run(op, divisor, elements, kernels);
  }

  /**
   * Finds the arrays, if all memories are arrays in which the elements have the same indexes, and
   * the result is that of no operand but the first.
   */
  private boolean bindArrays(Memory result, long to, int count) {
    if (!isAligned(result, to, count, result, to)) {
      return false;
    }
    arrays.addResult(array(result));
    for (int i = 0; i < size; i++) {
      Memory target = targets[i];
      if (!isAligned(memories[i], from[i], count, result, to)
          || i > 0 && array(memories[i]) == array(result)
          || target != null && !isAligned(target, targetAt[i], count, result, to)) {
        arrays.clear();
        return false;
      }
      arrays.add(array(memories[i]));
      if (target != null) {
        arrays.addResult(array(target));
      }
    }
    return true;
  }

  private static boolean isAligned(
      @Nullable Memory memory, long at, int count, Memory result, long to) {
    if (memory instanceof ArrayMemory && memory.elements == result.elements) {
      Objects.checkFromIndexSize(at, count, memory.count());
      return index(memory, at) == index(result, to);
    }
    return false;
  }

  private static Object array(@Nullable Memory memory) {
    return ((ArrayMemory) Objects.requireNonNull(memory)).array();
  }

  private static int index(Memory memory, long position) {
    return ((ArrayMemory) memory).index((int) position);
  }
}
