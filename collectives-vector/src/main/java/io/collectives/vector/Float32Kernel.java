package io.collectives.vector;

import io.collectives.internal.MemoryKernels.Ending;
import io.collectives.internal.MemoryKernels.Kernel;
import io.collectives.internal.MemoryKernels.Kind;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/** The template of kernels of {@code float}; see {@link Templates}. */
final class Float32Kernel implements Kernel {
  private static final Kind KIND = Templates.kind(MethodHandles.lookup());
  private static final int SIZE = KIND.size();
  private static final int RESULTS = KIND.results();
  private static final int ARRAYS = KIND.arrays();
  private static final Ending ENDING = KIND.ending();
  private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  private static final int LANES = SPECIES.length();
  private static final MethodHandle LOAD = Access.load(FloatVector.class, SPECIES);
  private static final MethodHandle STORE = Access.store(FloatVector.class);

  /** A kernel. */
  Float32Kernel() {}

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
    FloatVector by =
        FloatVector.broadcast(SPECIES, ENDING == Ending.POWER_OF_TWO ? 1f / divisor : divisor);
    try {
      for (int i = 0; i < whole; i += LANES) {
        FloatVector x = load(0, a, aFirst + i);
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

  private static FloatVector load(int operand, Object memory, int at) throws Throwable {
    return (ARRAYS >> operand & 1) != 0
        ? FloatVector.fromArray(SPECIES, (float[]) memory, at)
        : (FloatVector) LOAD.invokeExact(memory, (long) at * Float.BYTES);
  }

  private static void store(FloatVector x, int result, Object memory, int at) throws Throwable {
    if ((ARRAYS >> SIZE + result & 1) != 0) {
      x.intoArray((float[]) memory, at);
    } else {
      STORE.invokeExact(x, memory, (long) at * Float.BYTES);
    }
  }

  private static FloatVector op(FloatVector x, FloatVector y) {
    return switch (KIND.op()) {
      case SUM, AVERAGE -> x.add(y);
      case MIN -> x.min(y);
      case MAX -> x.max(y);
      case PRODUCT -> x.mul(y);
      default -> throw new AssertionError(KIND.op());
    };
  }

  /** The product has the bits of the quotient. */
  private static FloatVector end(FloatVector x, FloatVector by) {
    return switch (ENDING) {
      case NONE -> x;
      case POWER_OF_TWO -> x.mul(by);
      case DIVISION -> x.div(by);
    };
  }
}
