package io.collectives.vector;

import io.collectives.internal.Int8Exponents;
import io.collectives.internal.MemoryKernels.Packing;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Loops between float32 and numbers of 8 bits of which every {@value #GROUP} ints have a common
 * exponent.
 *
 * <p>The greatest magnitudes of a group come first and lie where its packed numbers will: in one
 * loop with those that read floats, C2 would allocate the vector in which they are collected.
 */
final class Int8Packing implements Packing {
  private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
  private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
  private static final int GROUP = MULTIPLE;
  private static final int MAGNITUDE = 0x7fff_ffff;

  /** 1.5 times 2^23, near which floats are whole numbers, rounded to the nearest even. */
  private static final float ROUNDER = 12_582_912f;

  /** The highest bits of all bytes, which make of each what it is more than -128. */
  private static final int HIGHEST = 0x8080_8080;

  /** 2^23, to whose bits a byte can be added. */
  private static final float BASE = 8_388_608f;

  private static final int BASE_BITS = 0x4b00_0000;

  /** The loops. */
  Int8Packing() {}

  @Override
  public long pack(float[] values, int from, int[] packed, int ints) {
    long exponents = 0;
    for (int at = 0; at < ints; at += GROUP) {
      greatestOf4(values, from + at, ints, packed, at);
      int exponent = Int8Exponents.of(greatest(packed, at));
      exponents |= (long) exponent << at / GROUP * 8;
      pack(values, from + at, ints, Int8Exponents.inverse(exponent), packed, at);
    }
    return exponents;
  }

  /** The bits of the greatest of four magnitudes each: they are in the order of magnitudes. */
  private static void greatestOf4(float[] values, int from, int ints, int[] greatest, int to) {
    for (int i = 0; i < GROUP; i += INTS.length()) {
      int at = from + i;
      magnitudes(values, at)
          .max(magnitudes(values, at + ints))
          .max(magnitudes(values, at + 2 * ints).max(magnitudes(values, at + 3 * ints)))
          .intoArray(greatest, to + i);
    }
  }

  /** The greatest of a group. */
  private static int greatest(int[] magnitudes, int from) {
    IntVector greatest = IntVector.fromArray(INTS, magnitudes, from);
    for (int i = from + INTS.length(); i < from + GROUP; i += INTS.length()) {
      greatest = greatest.max(IntVector.fromArray(INTS, magnitudes, i));
    }
    return greatest.reduceLanes(VectorOperators.MAX);
  }

  private static IntVector magnitudes(float[] values, int at) {
    return FloatVector.fromArray(FLOATS, values, at).reinterpretAsInts().and(MAGNITUDE);
  }

  private static void pack(
      float[] values, int from, int ints, float inverse, int[] packed, int to) {
    FloatVector by = FloatVector.broadcast(FLOATS, inverse);
    for (int i = 0; i < GROUP; i += INTS.length()) {
      int at = from + i;
      rounded(values, at, by)
          .or(rounded(values, at + ints, by).lanewise(VectorOperators.LSHL, 8))
          .or(rounded(values, at + 2 * ints, by).lanewise(VectorOperators.LSHL, 16))
          .or(rounded(values, at + 3 * ints, by).lanewise(VectorOperators.LSHL, 24))
          .intoArray(packed, to + i);
    }
  }

  /** A byte in each lane. */
  private static IntVector rounded(float[] values, int at, FloatVector by) {
    return FloatVector.fromArray(FLOATS, values, at)
        .mul(by)
        .add(ROUNDER)
        .reinterpretAsInts()
        .and(0xff);
  }

  @Override
  public void unpack(long exponents, int[] packed, int ints, float[] values, int to) {
    for (int at = 0; at < ints; at += GROUP) {
      int exponent = (int) (exponents >>> at / GROUP * 8) & 0xff;
      unpack(packed, at, Int8Exponents.step(exponent), values, to + at, ints);
    }
  }

  private static void unpack(int[] packed, int from, float step, float[] values, int to, int ints) {
    FloatVector by = FloatVector.broadcast(FLOATS, step);
    for (int i = 0; i < GROUP; i += INTS.length()) {
      int at = to + i;
      IntVector four =
          IntVector.fromArray(INTS, packed, from + i).lanewise(VectorOperators.XOR, HIGHEST);
      put(four, by, values, at);
      put(four.lanewise(VectorOperators.LSHR, 8), by, values, at + ints);
      put(four.lanewise(VectorOperators.LSHR, 16), by, values, at + 2 * ints);
      put(four.lanewise(VectorOperators.LSHR, 24), by, values, at + 3 * ints);
    }
  }

  /** Puts the numbers that the lowest bytes stand for. */
  private static void put(IntVector bytes, FloatVector by, float[] values, int at) {
    bytes
        .and(0xff)
        .or(BASE_BITS)
        .reinterpretAsFloats()
        .sub(BASE + 128)
        .mul(by)
        .intoArray(values, at);
  }
}
