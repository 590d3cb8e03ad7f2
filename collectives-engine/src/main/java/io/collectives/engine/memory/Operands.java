package io.collectives.engine.memory;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The arrays that meet in a reduction, at equal indexes: what is reduced, from the left, and where
 * the result goes. The first result may be the first operand, or nothing that is reduced; any other
 * may be any operand. Belongs to one thread at a time.
 */
final class Operands {
  static final Scratch.Key<Operands> KEY = new Scratch.Key<>(Operands::new);

  /** The operands; the first {@link #size} of them count. */
  @Nullable Object[] own = new Object[Loops.MOST];

  /** The results; the first {@link #resultSize} of them count. */
  @Nullable Object[] results = new Object[Loops.MOST];

  int size;
  int resultSize;

  /** No operands. */
  Operands() {}

  /** Operands whose first is the result, too. */
  static Operands of(Object... own) {
    Operands operands = new Operands();
    operands.own = own.clone();
    operands.size = own.length;
    operands.addResult(own[0]);
    return operands;
  }

  void add(Object array) {
    if (size == own.length) {
      own = Arrays.copyOf(own, 2 * size);
    }
    own[size++] = array;
  }

  void addResult(Object array) {
    if (resultSize == results.length) {
      results = Arrays.copyOf(results, 2 * resultSize);
    }
    results[resultSize++] = array;
  }

  /** Copies a range of the first result to the others. */
  @SuppressWarnings("SuspiciousSystemArraycopy")
  void copyToOthers(int from, int to) {
    for (int i = 1; i < resultSize; i++) {
      System.arraycopy(results[0], from, results[i], from, to - from);
    }
  }

  /** Lets go of all arrays. */
  void clear() {
    while (size > 0) {
      own[--size] = null;
    }
    while (resultSize > 0) {
      results[--resultSize] = null;
    }
  }
}
