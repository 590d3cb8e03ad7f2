package io.collectives.engine.memory;

import io.collectives.ReduceOp;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A reduction of several memories at once whose result goes to several memories at once: each
 * element is read once from every source and written once to every target, block by block, so that
 * a block stays in cache between the two. To be filled by {@link #add}, then {@link #run}, which
 * empties it. Belongs to one thread at a time.
 */
public final class FusedReduction {
  /** The elements of a block: 16 KiB of {@code float}, so that the results of one stay in L1. */
  private static final int BLOCK = 4096;

  /**
   * The elements of a block that goes through {@link Scratch}: up to four of these, and the lines
   * of the memories that they are copied from, must fit into L1. But long runs of more than two
   * memories go in the longest blocks that there is room for, presumably because with each block a
   * processor begins anew to fetch ahead from each memory.
   */
  private static final int SCRATCH_BLOCK = 1024;

  private static final int LONG_RUN = 16 * SCRATCH_BLOCK;

  private Memory[] sources = new Memory[1];
  private long[] sourceAt = new long[1];
  private @Nullable Memory[] targets = new Memory[1];
  private long[] targetAt = new long[1];
  private Object[] sourceArrays = new Object[1];
  private Object[] targetArrays = new Object[1];
  private int size;

  /** A reduction of nothing. */
  public FusedReduction() {}

  /**
   * Adds a source, and a target that is to get the result.
   *
   * @param target may be the source, at the same position; nothing if there is none
   */
  public void add(Memory source, long from, @Nullable Memory target, long at) {
    if (size == sources.length) {
      sources = Arrays.copyOf(sources, 2 * size);
      sourceAt = Arrays.copyOf(sourceAt, 2 * size);
      targets = Arrays.copyOf(targets, 2 * size);
      targetAt = Arrays.copyOf(targetAt, 2 * size);
      sourceArrays = new Object[2 * size];
      targetArrays = new Object[2 * size];
    }
    sources[size] = source;
    sourceAt[size] = from;
    targets[size] = target;
    targetAt[size] = at;
    size++;
  }

  /**
   * {@code result[to+i] = own[ownFrom+i] op source[i] op ...} for all i less than {@code count}, in
   * the order in which the sources were added, divided by {@code divisor}; and the same to every
   * target. Targets get the very bits of the result.
   *
   * @param own {@code result} at the same position (in place), or another memory of its type
   * @param divisor 1 unless the op is AVERAGE
   */
  public void run(
      ReduceOp op,
      Memory result,
      long to,
      int count,
      Memory own,
      long ownFrom,
      int divisor,
      Scratch scratch) {
    try {
      boolean aligned = bindArrays(result, to, count, own, ownFrom);
      Elements elements = result.elements;
      int first = aligned ? index(result, to) : 0;
      if (aligned
          && divisor == 1
          && elements.combineToAll(
              op,
              array(result),
              array(own),
              sourceArrays,
              targetArrays,
              size,
              first,
              first + count)) {
        return;
      }
      int step = aligned ? BLOCK : scratchBlock(elements, count);
      for (int done = 0; done < count; done += step) {
        int block = Math.min(step, count - done);
        if (aligned) {
          int from = first + done;
          elements.combine(
              op, array(result), array(own), sourceArrays, size, from, from + block, scratch);
          if (divisor != 1) {
            result.divide(to + done, block, divisor, scratch);
          }
          for (int i = 0; i < size; i++) {
            if (targets[i] != null) {
              targets[i].replace(targetAt[i] + done, block, result, to + done);
            }
          }
        } else {
          reduceInScratch(op, result, to, own, ownFrom, done, block, divisor, scratch);
        }
      }
    } finally {
      // Lets go of users' memory.
      Arrays.fill(sources, 0, size, null);
      Arrays.fill(targets, 0, size, null);
      Arrays.fill(sourceArrays, 0, size, null);
      Arrays.fill(targetArrays, 0, size, null);
      size = 0;
    }
  }

  private int scratchBlock(Elements elements, int count) {
    return size > 1 && count >= LONG_RUN
        ? elements.longestBlock
        : Math.min(elements.block, SCRATCH_BLOCK);
  }

  /** Every element is loaded once from each source, and saved once to each target. */
  private void reduceInScratch(
      ReduceOp op,
      Memory result,
      long to,
      Memory own,
      long ownFrom,
      int done,
      int count,
      int divisor,
      Scratch scratch) {
    Elements elements = result.elements;
    Object sum = scratch.first(elements);
    Object[] blocks = scratch.more(elements);
    own.load(ownFrom + done, count, sum);
    for (int i = 0; i < size; i += blocks.length) {
      int together = Math.min(blocks.length, size - i);
      for (int k = 0; k < together; k++) {
        sources[i + k].load(sourceAt[i + k] + done, count, blocks[k]);
      }
      elements.combine(op, sum, sum, blocks, together, 0, count, scratch);
    }
    if (divisor != 1) {
      elements.divide(sum, 0, count, divisor, scratch);
    }
    result.save(to + done, count, sum);
    for (int i = 0; i < size; i++) {
      Memory target = targets[i];
      if (target != null) {
        target.save(targetAt[i] + done, count, sum);
      }
    }
  }

  /** Finds the arrays, if all memories are arrays in which the elements have the same indexes. */
  private boolean bindArrays(Memory result, long to, int count, Memory own, long ownFrom) {
    if (!(result instanceof ArrayMemory) || !isAligned(own, ownFrom, count, result, to)) {
      return false;
    }
    for (int i = 0; i < size; i++) {
      if (!isAligned(sources[i], sourceAt[i], count, result, to)
          || !isAligned(targets[i], targetAt[i], count, result, to)) {
        return false;
      }
      sourceArrays[i] = array(sources[i]);
      targetArrays[i] = array(targets[i]);
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

  private static Object array(Memory memory) {
    return ((ArrayMemory) memory).array();
  }

  private static int index(Memory memory, long position) {
    return ((ArrayMemory) memory).index((int) position);
  }
}
