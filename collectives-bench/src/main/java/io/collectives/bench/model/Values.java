package io.collectives.bench.model;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.internal.ElementBuffer;

/** Floating-point numbers of some type in an array, as a call takes them. */
public final class Values {
  private final Payload payload;
  private final ElementBuffer elements;

  private Values(Payload payload) {
    this.payload = payload;
    this.elements = new ElementBuffer(payload);
  }

  /**
   * So many zeros.
   *
   * @throws IllegalArgumentException if the type is one of integers
   */
  public static Values of(ElementType type, int count) {
    if (type.isInteger()) {
      throw new IllegalArgumentException(type + ": must be a type of floating-point numbers");
    }
    return new Values(new Payload.OfArray(type, type.newArray(count), 0, count));
  }

  public int count() {
    return elements.count();
  }

  public Payload payload() {
    return payload;
  }

  /** An element becomes the nearest number of the type. */
  public void set(int index, double value) {
    elements.setValue(index, value);
  }

  public double get(int index) {
    return elements.value(index);
  }

  /** Adds the bits of all elements. */
  public void addTo(BitHash hash) {
    for (int i = 0; i < count(); i++) {
      hash.add(elements.bits(i));
    }
  }
}
