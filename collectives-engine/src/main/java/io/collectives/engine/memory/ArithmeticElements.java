package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.UserOp;
import io.collectives.internal.MemoryKernels.Ending;
import java.nio.Buffer;
import org.jspecify.annotations.Nullable;

/** Elements of a type that Java calculates with; their loops are those of a template. */
abstract class ArithmeticElements extends Elements {
  private static final int OPS = ReduceOp.Standard.values().length;
  private static final int ENDINGS = Ending.values().length;

  private final Class<? extends Loops> template;

  /** By all that makes a {@link Loops.Kind}; made when first used. */
  private final @Nullable Loops[] loops = new Loops[OPS * ENDINGS * Loops.MOST * 4];

  ArithmeticElements(
      ElementType type,
      Class<?> array,
      Class<? extends Buffer> buffer,
      Class<? extends Loops> template) {
    super(type, array, buffer);
    this.template = template;
  }

  /** {@code result[i] = own[i] op other[i]}. */
  abstract void combine(UserOp op, Object result, Object own, Object other, int from, int to);

  @Override
  final void reduce(
      ReduceOp op, int divisor, Operands operands, int from, int to, Scratch scratch) {
    int size = operands.size;
    boolean toAll = operands.resultSize > 1;
    if (op instanceof ReduceOp.Standard standard
        && size <= Loops.MOST
        && (!toAll || operands.resultSize == size)) {
      reduce(standard, divisor, operands, from, to, toAll);
      return;
    }
    for (int at = from; at < to; at += pass) {
      int end = Math.min(to, at + pass);
      if (op instanceof UserOp users) {
        combine(users, operands, at, end);
      } else {
        combine((ReduceOp.Standard) op, divisor, operands, at, end);
      }
      operands.copyToOthers(at, end);
    }
  }

  private void reduce(
      ReduceOp.Standard op, int divisor, Operands operands, int from, int to, boolean toAll) {
    Object[] own = operands.own;
    loops(op, divisor, operands.size, toAll, to - from)
        .reduce(operands.results, own[0], own, 1, from, to, divisor);
  }

  /** Combines operands, as many at once as a loop takes. */
  private void combine(ReduceOp.Standard op, int divisor, Operands operands, int from, int to) {
    Object left = operands.own[0];
    for (int i = 1; i < operands.size; i += Loops.MOST - 1) {
      int more = Math.min(Loops.MOST - 1, operands.size - i);
      int by = i + more == operands.size ? divisor : 1;
      loops(op, by, 1 + more, false, to - from)
          .reduce(operands.results, left, operands.own, i, from, to, by);
      left = operands.results[0];
    }
  }

  private void combine(UserOp op, Operands operands, int from, int to) {
    Object left = operands.own[0];
    for (int i = 1; i < operands.size; i++) {
      combine(op, operands.results[0], left, operands.own[i], from, to);
      left = operands.results[0];
    }
  }

  private Loops loops(ReduceOp.Standard op, int divisor, int size, boolean toAll, int length) {
    Ending ending = Ending.of(divisor);
    boolean isShort = length < SHORT;
    int index = (op.ordinal() * ENDINGS + ending.ordinal()) * Loops.MOST + size - 1;
    index = index * 4 + (toAll ? 2 : 0) + (isShort ? 1 : 0);
    Loops made = loops[index];
    return made != null
        ? made
        : make(index, new Loops.Kind(type, op, ending, size, toAll, isShort));
  }

  private synchronized Loops make(int index, Loops.Kind kind) {
    Loops made = loops[index];
    if (made == null) {
      loops[index] = made = Loops.of(template, kind);
    }
    return made;
  }
}
