package io.collectives.engine.run;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.internal.ElementBuffer;
import java.util.Random;

/**
 * An array of a user, of which a call has some elements, in one piece or in runs. What lies between
 * and around them is nobody's, and stays as it is.
 */
final class UserMemory {
  /**
   * The value that a user writes into memory that it has got back, and what lies around the
   * elements.
   */
  private static final long MINE = 0x5a5a5a5a_5a5a5a5aL;

  final ElementType type;
  final int count;
  final Memory memory;
  private final ElementBuffer elements;
  private final int length;
  private final int first;
  private final int run;
  private final int stride;

  private UserMemory(
      ElementType type, int count, int first, int run, int stride, boolean isInRegion) {
    this.type = type;
    this.count = count;
    this.first = first;
    this.run = run;
    this.stride = stride;
    this.length = first + (count == 0 ? 0 : (count / run - 1) * stride + run) + 1;
    Payload all =
        isInRegion
            ? new SimulatedRegion(type, length).payload()
            : new Payload.OfArray(type, type.newArray(length), 0, length);
    this.elements = new ElementBuffer(all);
    this.memory =
        Memories.of(Payload.strided(all, first, count == 0 ? 0 : count / run, run, stride));
    for (int at = 0; at < length; at++) {
      elements.setBits(at, MINE);
    }
  }

  /**
   * Memory of any layout.
   *
   * @param leases whether it may lie in a region
   */
  static UserMemory of(Random random, ElementType type, int count, boolean leases) {
    int run = count;
    if (count > 1 && random.nextInt(4) == 0) {
      run = 1 + random.nextInt(count);
      while (count % run != 0) {
        run--;
      }
    }
    int gap = run < count ? 1 + random.nextInt(3) : 0;
    boolean isInRegion = leases && random.nextInt(4) > 0;
    return new UserMemory(type, count, random.nextInt(3), run, run + gap, isInRegion);
  }

  /** The bits of an element. */
  long bits(int i) {
    return elements.bits(first + i / run * stride + i % run);
  }

  void set(int i, long bits) {
    elements.setBits(first + i / run * stride + i % run, bits);
  }

  double value(int i) {
    return type.value(bits(i));
  }

  /** Its user writes over it. */
  void fill() {
    for (int i = 0; i < count; i++) {
      set(i, MINE);
    }
  }

  /** Returns whether all is as its user has {@linkplain #fill filled} it. */
  boolean isAsFilled() {
    for (int at = 0; at < length; at++) {
      if (elements.bits(at) != cut(MINE)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether what is not of its elements is as it was. */
  boolean isWholeAround() {
    for (int at = 0; at < length; at++) {
      int inside = at - first;
      boolean isElement =
          count > 0 && inside >= 0 && inside / stride < count / run && inside % stride < run;
      if (!isElement && elements.bits(at) != cut(MINE)) {
        return false;
      }
    }
    return true;
  }

  private long cut(long bits) {
    int others = Long.SIZE - 8 * type.bytes();
    return bits << others >> others;
  }
}
