package io.collectives.engine.memory;

import io.collectives.ElementType;

/** An integer of 8 or 16 bits as a test sees it, with or without a sign. */
final class NarrowInteger extends Number {
  private static final long serialVersionUID = 1L;

  final ElementType type;
  final short bits;

  NarrowInteger(ElementType type, int bits) {
    this.type = type;
    this.bits = type.bytes() == 1 ? (byte) bits : (short) bits;
  }

  @Override
  public int intValue() {
    return type == ElementType.UINT8 ? bits & 0xff : bits;
  }

  @Override
  public long longValue() {
    return intValue();
  }

  @Override
  public float floatValue() {
    return intValue();
  }

  @Override
  public double doubleValue() {
    return intValue();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof NarrowInteger number && number.type == type && number.bits == bits;
  }

  @Override
  public int hashCode() {
    return bits;
  }

  @Override
  public String toString() {
    return intValue() + " of " + type;
  }
}
