package io.collectives.engine.memory;

import io.collectives.ReduceOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A reduction of frames and memories in a given order, from the left, or, of a sum, in none. To be
 * filled by {@link #add}, then {@link #run}, which empties it. Belongs to one thread at a time.
 *
 * <p>Blocks of all operands go through {@link Scratch}, so that the result may be one of them: each
 * element is read once from each (twice, if the exact sum was in doubt) and then written once to
 * each target.
 */
public final class OrderedReduction {
  /**
   * The elements of a block: a few of these, and the lines of what they are copied from, must fit
   * into L1.
   */
  private static final int BLOCK = 1024;

  private @Nullable FrameBytes[] frames = new FrameBytes[2];
  private @Nullable Memory[] memories = new Memory[2];
  private long[] from = new long[2];
  private @Nullable Memory[] targets = new Memory[2];
  private long[] targetAt = new long[2];
  private int size;

  /** How an op is taken. */
  public enum Manner {
    /** One after the other. */
    SEQUENTIAL,
    /** The sum or average of all, rounded once; of floating-point numbers by SUM or AVERAGE. */
    EXACT
  }

  /** A reduction of nothing. */
  public OrderedReduction() {}

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
      @Nullable NarrowWire narrow,
      Scratch scratch) {
    try {
      Elements elements = result.elements;
      int block = narrow == null ? Math.min(BLOCK, elements.block) : narrow.block();
      for (int done = 0; done < count; done += block) {
        int length = Math.min(block, count - done);
        // Narrow numbers come in longer blocks.
        Object sum = narrow == null ? scratch.first(elements) : scratch.wide();
        Object[] next = narrow == null ? scratch.more(elements) : scratch.widenedAlone();
        if (manner == Manner.EXACT) {
          sumExactly(elements, sum, next[0], done, length, divisor, narrow, scratch);
        } else {
          reduce(op, elements, sum, next, done, length, narrow, scratch);
          if (divisor != 1) {
            elements.divide(sum, 0, length, divisor, scratch);
          }
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
      Arrays.fill(frames, 0, size, null);
      Arrays.fill(memories, 0, size, null);
      Arrays.fill(targets, 0, size, null);
      size = 0;
    }
  }

  private void reduce(
      ReduceOp op,
      Elements elements,
      Object sum,
      Object[] next,
      int done,
      int count,
      @Nullable NarrowWire narrow,
      Scratch scratch) {
    load(0, elements, done, sum, count, narrow, scratch);
    for (int i = 1; i < size; i += next.length) {
      int together = Math.min(next.length, size - i);
      for (int k = 0; k < together; k++) {
        load(i + k, elements, done, next[k], count, narrow, scratch);
      }
      elements.combine(op, sum, sum, next, together, 0, count, scratch);
    }
  }

  private void sumExactly(
      Elements elements,
      Object sum,
      Object next,
      int done,
      int count,
      int divisor,
      @Nullable NarrowWire narrow,
      Scratch scratch) {
    ExactSum exact = scratch.exactSum(elements);
    for (int i = 0; i < size; i++) {
      load(i, elements, done, next, count, narrow, scratch);
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
        load(i, elements, done, next, count, narrow, scratch);
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
      @Nullable NarrowWire narrow,
      Scratch scratch) {
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
}
