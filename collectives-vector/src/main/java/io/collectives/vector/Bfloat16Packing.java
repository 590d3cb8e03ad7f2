package io.collectives.vector;

import io.collectives.internal.MemoryKernels.Packing;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Loops between float32 and its upper halves; the bits are those of {@code Bfloat16}. A block goes
 * in parts, whose loop C2 compiles after as few blocks as it does a group of {@link Int8Packing}.
 */
final class Bfloat16Packing implements Packing {
  private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
  private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
  private static final int UPPER = 0xffff_0000;
  private static final int QUIET = 0x40_0000;

  /** The loops. */
  Bfloat16Packing() {}

  @Override
  public long pack(float[] values, int from, int[] packed, int ints) {
    for (int i = 0; i < ints; i += MULTIPLE) {
      packFew(values, from + i, ints, packed, i);
    }
    return 0;
  }

  private static void packFew(float[] values, int from, int ints, int[] packed, int to) {
    for (int i = 0; i < MULTIPLE; i += INTS.length()) {
      IntVector low = rounded(values, from + i).lanewise(VectorOperators.LSHR, 16);
      IntVector high = rounded(values, from + i + ints).and(UPPER);
      low.or(high).intoArray(packed, to + i);
    }
  }

  /** The nearest numbers in the upper halves, and anything in the lower ones. */
  private static IntVector rounded(float[] values, int at) {
    FloatVector floats = FloatVector.fromArray(FLOATS, values, at);
    IntVector bits = floats.reinterpretAsInts();
    IntVector last = bits.lanewise(VectorOperators.LSHR, 16).and(1);
    return bits.add(last.add(0x7fff))
        .blend(bits.or(QUIET), floats.compare(VectorOperators.NE, floats).cast(INTS));
  }

  @Override
  public void unpack(long exponents, int[] packed, int ints, float[] values, int to) {
    for (int i = 0; i < ints; i += MULTIPLE) {
      unpackFew(packed, i, values, to + i, ints);
    }
  }

  private static void unpackFew(int[] packed, int from, float[] values, int to, int ints) {
    for (int i = 0; i < MULTIPLE; i += INTS.length()) {
      IntVector both = IntVector.fromArray(INTS, packed, from + i);
      both.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats().intoArray(values, to + i);
      both.and(UPPER).reinterpretAsFloats().intoArray(values, to + i + ints);
    }
  }
}
