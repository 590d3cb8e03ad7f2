package io.collectives.engine;

import io.collectives.ElementType;
import io.collectives.NonFiniteException;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.run.Call;
import io.collectives.engine.run.Program;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a payload of several types, one for each. Reused; belongs to one thread at a time.
 */
final class Batch {
  private static final int MOST = ElementType.values().length;

  final @Nullable Program[] programs = new Program[MOST];
  final @Nullable Memory[] inputs = new Memory[MOST];
  final @Nullable Memory[] outputs = new Memory[MOST];
  final @Nullable Memory[] residuals = new Memory[MOST];
  final @Nullable Call[] calls = new Call[MOST];
  int size;

  void add(Program program, Memory input, Memory output, @Nullable Memory residual) {
    programs[size] = program;
    inputs[size] = input;
    outputs[size] = output;
    residuals[size] = residual;
    size++;
  }

  /**
   * Which of two errors of its calls is to be told: the first that breaks the group; else the same
   * on all ranks, in whatever order calls end.
   */
  static RuntimeException graver(@Nullable RuntimeException one, RuntimeException other) {
    if (one instanceof NonFiniteException a && other instanceof NonFiniteException b) {
      // Results, whose rank is -1, come after all contributions.
      int byRank = Integer.compareUnsigned(a.worldRank(), b.worldRank());
      return byRank < 0 || byRank == 0 && a.type().compareTo(b.type()) < 0 ? a : b;
    }
    return one == null || one instanceof NonFiniteException ? other : one;
  }

  /** Lets go of everything. */
  void clear() {
    Arrays.fill(programs, null);
    Arrays.fill(inputs, null);
    Arrays.fill(outputs, null);
    Arrays.fill(residuals, null);
    Arrays.fill(calls, null);
    size = 0;
  }
}
