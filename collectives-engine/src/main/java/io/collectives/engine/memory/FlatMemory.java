package io.collectives.engine.memory;

import io.collectives.ReduceOp;
import io.collectives.spi.Region;
import java.nio.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * Memory of one part. Positions count from its first element; ranges were checked by {@link
 * Memory}.
 *
 * <p>Only two things differ between arrays, buffers and short runs of them: how a block gets into
 * an array and how it gets back. All kernels work on arrays with equal indexes; {@link Elements}
 * says why.
 */
abstract sealed class FlatMemory extends Memory permits ArrayMemory, BufferMemory, StridedMemory {

  FlatMemory(Elements elements) {
    super(elements);
  }

  /** Copies elements into an array of the element's type. */
  abstract void load(int from, int count, Object array, int at);

  /** Copies elements from an array of the element's type. */
  abstract void save(int to, int count, Object array, int at);

  /** Copies elements into a buffer of the element's type. */
  abstract void store(int from, int count, Buffer target, int at);

  /** Copies elements from a buffer of the element's type. */
  abstract void replace(int to, int count, Buffer source, int at);

  final void replace(int to, int count, FlatMemory source, int from) {
    if (source instanceof ArrayMemory memory) {
      save(to, count, memory.array(), memory.index(from));
    } else if (source instanceof BufferMemory memory) {
      replace(to, count, memory.view(), from);
    } else {
      ((StridedMemory) source).copyTo(this, to, count, from);
    }
  }

  /** The region that this is a part of, if any. */
  abstract @Nullable Region region();

  final void reduce(
      ReduceOp op,
      int to,
      int count,
      FlatMemory own,
      int ownFrom,
      FlatMemory source,
      int from,
      Scratch scratch) {
    if (this instanceof ArrayMemory result
        && own instanceof ArrayMemory left
        && source instanceof ArrayMemory right
        && result.index(to) == left.index(ownFrom)
        && result.index(to) == right.index(from)) {
      int first = result.index(to);
      elements.combine(
          op, result.array(), left.array(), right.array(), first, first + count, scratch);
      return;
    }
    Object block = scratch.second(elements);
    for (int done = 0; done < count; ) {
      int step = Math.min(count - done, elements.block);
      source.load(from + done, step, block, 0);
      reduceBlock(op, to + done, step, own, ownFrom + done, scratch);
      done += step;
    }
  }

  final void reduce(
      ReduceOp op,
      int to,
      int count,
      FlatMemory own,
      int ownFrom,
      Buffer source,
      int at,
      Scratch scratch) {
    Object block = scratch.second(elements);
    for (int done = 0; done < count; ) {
      int step = Math.min(count - done, elements.block);
      elements.get(source, at + done, block, 0, step);
      reduceBlock(op, to + done, step, own, ownFrom + done, scratch);
      done += step;
    }
  }

  /** The source lies in the second block. */
  private void reduceBlock(
      ReduceOp op, int to, int count, FlatMemory own, int ownFrom, Scratch scratch) {
    Object block = scratch.first(elements);
    own.load(ownFrom, count, block, 0);
    elements.combine(op, block, block, scratch.second(elements), 0, count, scratch);
    save(to, count, block, 0);
  }

  final void divide(int at, int count, int divisor, Scratch scratch) {
    if (this instanceof ArrayMemory memory) {
      int first = memory.index(at);
      elements.divide(memory.array(), first, first + count, divisor, scratch);
      return;
    }
    Object block = scratch.first(elements);
    for (int done = 0; done < count; ) {
      int step = Math.min(count - done, elements.block);
      load(at + done, step, block, 0);
      elements.divide(block, 0, step, divisor, scratch);
      save(at + done, step, block, 0);
      done += step;
    }
  }

  @Override
  final int partAt(long position) {
    return 0;
  }

  @Override
  final FlatMemory part(int index) {
    return this;
  }

  @Override
  final int first(int index) {
    return 0;
  }

  @Override
  final long start(int index) {
    return 0;
  }

  @Override
  final long end(int index) {
    return count();
  }
}
