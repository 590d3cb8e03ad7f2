package io.collectives.engine.memory;

import io.collectives.ReduceOp;
import io.collectives.internal.MemoryKernels;
import io.collectives.internal.MemoryKernels.Kernel;
import io.collectives.spi.FrameBytes;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The memories of one call of a kernel: operands, then results. To be begun, filled, and run, which
 * empties it. Belongs to one thread at a time.
 */
final class KernelCall {
  static final Scratch.Key<KernelCall> KEY = new Scratch.Key<>(KernelCall::new);

  private static final int MOST = MemoryKernels.MOST;

  private final @Nullable Object[] memories = new Object[2 * MOST];
  private final int[] first = new int[2 * MOST];
  private int count;
  private int size;
  private int results;
  private int arrays;

  /** If false, the memories are too many or of kinds that kernels cannot take. */
  private boolean isFit;

  /** An empty call. */
  KernelCall() {}

  /** Returns whether there may be a kernel for so many elements that is worth looking for. */
  static boolean isWorthwhile(int count, Kernels kernels) {
    return count >= Elements.SHORT && !kernels.isEmpty();
  }

  /** Begins a call for so many elements. */
  KernelCall begin(int newCount) {
    count = newCount;
    size = 0;
    results = 0;
    arrays = 0;
    isFit = true;
    return this;
  }

  /** Adds an operand. */
  void add(@Nullable Memory memory, long position) {
    put(size, memory, position);
    isFit &= ++size <= MOST;
  }

  /** Adds an operand. */
  void add(FrameBytes frame, int index) {
    put(size, Kernels.memory(frame), index);
    isFit &= ++size <= MOST;
  }

  /** Adds a result, after all operands. */
  void addResult(Memory memory, long position) {
    put(size + results, memory, position);
    isFit &= ++results <= MOST;
  }

  private void put(int at, @Nullable Memory memory, long position) {
    if (at >= memories.length || !(memory instanceof FlatMemory flat)) {
      isFit = false;
      return;
    }
    Objects.checkFromIndexSize(position, count, flat.count());
    Object array = flat.array();
    if (array != null) {
      arrays |= 1 << at;
    }
    put(at, array != null ? array : flat.kernelMemory(), flat.index((int) position));
  }

  private void put(int at, @Nullable Object memory, int index) {
    isFit &= memory != null;
    if (isFit) {
      memories[at] = memory;
      first[at] = index;
    }
  }

  /**
   * Runs the kernel for these memories, if there is one.
   *
   * @param op an average adds
   * @return the number of elements that are done, from the first one on
   */
  int run(ReduceOp.Standard op, int divisor, Elements elements, Kernels kernels) {
    ReduceOp.Standard by = op == ReduceOp.AVERAGE ? ReduceOp.SUM : op;
    Kernel kernel = isFit ? kernels.of(elements.type, by, divisor, size, results, arrays) : null;
    int done = kernel == null ? 0 : run(kernel, divisor);
    Arrays.fill(memories, null); // Lets go of users' memory.
    return done;
  }

  @SuppressWarnings("NullAway") // What the kernel reads is there.
  int run(Kernel kernel, int divisor) {
    return kernel.reduce(memories, first, count, divisor);
  }
}
