package io.collectives.vector;

import io.collectives.internal.MemoryKernels.Ending;
import io.collectives.internal.MemoryKernels.Kernel;
import io.collectives.internal.MemoryKernels.Kind;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** The template of kernels of {@code long}; see {@link Templates}. */
final class Int64Kernel implements Kernel {
  private static final Kind KIND = Templates.kind(MethodHandles.lookup());
  private static final int SIZE = KIND.size();
  private static final int RESULTS = KIND.results();
  private static final int ARRAYS = KIND.arrays();
  private static final Ending ENDING = KIND.ending();
  private static final VectorSpecies<Long> SPECIES = LongVector.SPECIES_PREFERRED;
  private static final int LANES = SPECIES.length();
  private static final MethodHandle LOAD = Access.load(LongVector.class, SPECIES);
  private static final MethodHandle STORE = Access.store(LongVector.class);

  /** A kernel. */
  Int64Kernel() {}

  @Override
  public int reduce(Object[] memories, int[] first, int count, int divisor) {
    int whole = count - count % LANES;
    Object a = memories[0];
    Object b = SIZE > 1 ? memories[1] : a;
    Object c = SIZE > 2 ? memories[2] : a;
    Object d = SIZE > 3 ? memories[3] : a;
    int aFirst = first[0];
    int bFirst = SIZE > 1 ? first[1] : 0;
    int cFirst = SIZE > 2 ? first[2] : 0;
    int dFirst = SIZE > 3 ? first[3] : 0;
    Object r = memories[SIZE];
    Object s = RESULTS > 1 ? memories[SIZE + 1] : r;
    Object t = RESULTS > 2 ? memories[SIZE + 2] : r;
    Object u = RESULTS > 3 ? memories[SIZE + 3] : r;
    int rFirst = first[SIZE];
    int sFirst = RESULTS > 1 ? first[SIZE + 1] : 0;
    int tFirst = RESULTS > 2 ? first[SIZE + 2] : 0;
    int uFirst = RESULTS > 3 ? first[SIZE + 3] : 0;
    int by = Integer.numberOfTrailingZeros(divisor);
    try {
      for (int i = 0; i < whole; i += LANES) {
        LongVector x = load(0, a, aFirst + i);
        if (SIZE > 1) {
          x = op(x, load(1, b, bFirst + i));
        }
        if (SIZE > 2) {
          x = op(x, load(2, c, cFirst + i));
        }
        if (SIZE > 3) {
          x = op(x, load(3, d, dFirst + i));
        }
        x = end(x, by);
        store(x, 0, r, rFirst + i);
        if (RESULTS > 1) {
          store(x, 1, s, sFirst + i);
        }
        if (RESULTS > 2) {
          store(x, 2, t, tFirst + i);
        }
        if (RESULTS > 3) {
          store(x, 3, u, uFirst + i);
        }
      }
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
    return whole + Access.expectFaults();
  }

  private static LongVector load(int operand, Object memory, int at) throws Throwable {
    return (ARRAYS >> operand & 1) != 0
        ? LongVector.fromArray(SPECIES, (long[]) memory, at)
        : (LongVector) LOAD.invokeExact(memory, (long) at * Long.BYTES);
  }

  private static void store(LongVector x, int result, Object memory, int at) throws Throwable {
    if ((ARRAYS >> SIZE + result & 1) != 0) {
      x.intoArray((long[]) memory, at);
    } else {
      STORE.invokeExact(x, memory, (long) at * Long.BYTES);
    }
  }

  private static LongVector op(LongVector x, LongVector y) {
    return switch (KIND.op()) {
      case SUM, AVERAGE -> x.add(y);
      case MIN -> x.min(y);
      case MAX -> x.max(y);
      case PRODUCT -> x.mul(y);
      default -> throw new AssertionError(KIND.op());
    };
  }

  /** A shift rounds down, so what is negative needs something more to be rounded toward zero. */
  private static LongVector end(LongVector x, int by) {
    return ENDING == Ending.NONE
        ? x
        : x.add(
                x.lanewise(VectorOperators.ASHR, Long.SIZE - 1)
                    .lanewise(VectorOperators.LSHR, Long.SIZE - by))
            .lanewise(VectorOperators.ASHR, by);
  }
}
