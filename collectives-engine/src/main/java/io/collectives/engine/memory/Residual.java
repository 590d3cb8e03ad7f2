package io.collectives.engine.memory;

import org.jspecify.annotations.Nullable;

/**
 * A cursor in the memory of what rounding has taken from the elements of earlier calls; see {@link
 * NarrowWire}. Can be put at one place after the other, so that no piece needs one of its own.
 * Belongs to one thread at a time.
 */
public final class Residual {
  private @Nullable Memory memory;
  private long position;

  /** A residual that is nowhere, until it is put somewhere. */
  public Residual() {}

  /**
   * Puts it at an element of a memory of float32.
   *
   * @return this
   */
  public Residual at(Memory newMemory, long newPosition) {
    memory = newMemory;
    position = newPosition;
    return this;
  }

  /** Lets go of the memory. */
  public void unbind() {
    memory = null;
  }

  /** Reads the next elements, and stays before them. */
  void load(int count, float[] lost) {
    memory().load(position, count, lost);
  }

  /** Writes the next elements, and goes on behind them. */
  void save(int count, float[] lost) {
    memory().save(position, count, lost);
    position += count;
  }

  private Memory memory() {
    Memory at = memory;
    if (at == null) {
      throw new IllegalStateException("a residual that is nowhere");
    }
    return at;
  }
}
