package io.collectives.engine.memory;

import io.collectives.ReduceOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A reduction of frames and a memory in a given order, from the left. To be filled by {@link #add},
 * then {@link #run}, which empties it. Belongs to one thread at a time.
 */
public final class OrderedReduction {
  private @Nullable FrameBytes[] frames = new FrameBytes[2];
  private @Nullable Memory[] memories = new Memory[2];
  private long[] from = new long[2];
  private int size;

  /** A reduction of nothing. */
  public OrderedReduction() {}

  /** Adds the elements of a memory from a position on. */
  public void add(Memory memory, long position) {
    makeRoom();
    memories[size] = memory;
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
    }
  }

  /**
   * {@code result[to+i] = ((first[i] op second[i]) op third[i]) ...} for all i less than {@code
   * count}, divided by {@code divisor}.
   *
   * @param result may be the memory that was added, at the same position
   * @param divisor 1 unless the op is AVERAGE
   * @param narrow how elements lie in frames, and what those of memories are rounded to, as others
   *     get them; nothing if they are as they are
   */
  public void run(
      ReduceOp op,
      Memory result,
      long to,
      int count,
      int divisor,
      @Nullable NarrowWire narrow,
      Scratch scratch) {
    try {
      int block = narrow == null ? result.elements.block : NarrowWire.BLOCK;
      for (int done = 0; done < count; done += block) {
        reduce(op, result, to, done, Math.min(block, count - done), divisor, narrow, scratch);
      }
    } finally {
      // Lets go of users' memory.
      Arrays.fill(frames, 0, size, null);
      Arrays.fill(memories, 0, size, null);
      size = 0;
    }
  }

  private void reduce(
      ReduceOp op,
      Memory result,
      long to,
      int done,
      int count,
      int divisor,
      @Nullable NarrowWire narrow,
      Scratch scratch) {
    Elements elements = result.elements;
    // Narrow numbers come in longer blocks.
    Object sum = narrow == null ? scratch.first(elements) : scratch.wide();
    Object next = narrow == null ? scratch.second(elements) : scratch.widened();
    load(0, elements, done, sum, count, narrow, scratch);
    for (int i = 1; i < size; i++) {
      load(i, elements, done, next, count, narrow, scratch);
      elements.combine(op, sum, sum, next, 0, count, scratch);
    }
    if (divisor != 1) {
      elements.divide(sum, 0, count, divisor, scratch);
    }
    result.save(to + done, count, sum);
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
