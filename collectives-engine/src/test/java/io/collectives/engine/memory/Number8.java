package io.collectives.engine.memory;

import io.collectives.ElementType;

/** A number of 8 bits as a test sees it, with or without a sign. */
final class Number8 extends Number {
  private static final long serialVersionUID = 1L;

  final ElementType type;
  final byte bits;

  Number8(ElementType type, int bits) {
    this.type = type;
    this.bits = (byte) bits;
  }

  @Override
  public int intValue() {
    return type == ElementType.INT8 ? bits : bits & 0xff;
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
    return other instanceof Number8 number && number.type == type && number.bits == bits;
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
