package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.spi.Region;

/**
 * The type and count of a payload that other ranks have: what a rank that serves knows of it. There
 * is nothing to be read or written.
 */
public final class ShapeMemory extends Memory {
  private final long count;

  /** The shape of a payload. */
  public ShapeMemory(ElementType type, long count) {
    super(ElementTypes.of(type));
    this.count = count;
  }

  @Override
  public long count() {
    return count;
  }

  @Override
  public boolean liesIn(Region region) {
    return false;
  }

  @Override
  public void checkWritable() {
    throw nothing();
  }

  @Override
  int partAt(long position) {
    throw nothing();
  }

  @Override
  FlatMemory part(int index) {
    throw nothing();
  }

  @Override
  int first(int index) {
    throw nothing();
  }

  @Override
  long start(int index) {
    throw nothing();
  }

  @Override
  long end(int index) {
    throw nothing();
  }

  private static IllegalStateException nothing() {
    return new IllegalStateException("a rank that serves has no payload");
  }
}
