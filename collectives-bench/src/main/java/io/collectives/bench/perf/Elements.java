package io.collectives.bench.perf;

import io.collectives.CollectiveBuffer;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.internal.ElementBuffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A payload of any type in any memory, filled with small integers, so that every result is exact in
 * whichever order it was taken, and checked against it. Values depend on seed, rank and index, so
 * that a chunk at a wrong place is found.
 */
final class Elements {
  private final Payload payload;
  private final ElementBuffer elements;
  private final boolean isSigned;

  private Elements(Payload payload) {
    this.payload = payload;
    this.elements = new ElementBuffer(payload);
    this.isSigned = payload.type().value(-1) < 0 || !payload.type().isInteger();
  }

  /** Of memory that needs no communicator. */
  static Elements allocate(ElementType type, int count, Memory memory) {
    if (memory == Memory.DIRECT) {
      ByteBuffer bytes = ByteBuffer.allocateDirect(Math.multiplyExact(count, type.bytes()));
      return new Elements(Payload.of(bytes.order(ByteOrder.nativeOrder()), type));
    }
    return new Elements(new Payload.OfArray(type, type.newArray(count), 0, count));
  }

  /** The first elements of a buffer that a communicator has allocated. */
  static Elements of(CollectiveBuffer buffer, int count) {
    return new Elements(buffer.payload(0, count));
  }

  Payload payload() {
    return payload;
  }

  /** The number of elements. */
  int count() {
    return elements.count();
  }

  /** Writes what {@code rank} contributes to the elements from {@code first} on of a payload. */
  void fill(long seed, int rank, long first, ReduceOp.Standard op) {
    for (int i = 0; i < count(); i++) {
      put(i, value(seed, rank, first + i, op));
    }
  }

  /**
   * The number of elements, of {@code length} from {@code at} on, that are not what a rank
   * contributed to those from {@code first} on of a payload.
   */
  long wrong(long seed, int rank, long first, ReduceOp.Standard op, int at, int length) {
    long wrong = 0;
    for (int i = 0; i < length; i++) {
      wrong += holds(at + i, value(seed, rank, first + i, op), 1) ? 0 : 1;
    }
    return wrong;
  }

  /**
   * The number of elements that are not the reduction of what all ranks contributed to those from
   * {@code first} on of a payload.
   */
  long wrongReduction(long seed, int ranks, long first, ReduceOp.Standard op) {
    long wrong = 0;
    for (int i = 0; i < count(); i++) {
      long exact = value(seed, 0, first + i, op);
      for (int rank = 1; rank < ranks; rank++) {
        exact = op.longs().applyAsLong(exact, value(seed, rank, first + i, op));
      }
      if (!holds(i, exact, op == ReduceOp.AVERAGE ? ranks : 1)) {
        wrong++;
      }
    }
    return wrong;
  }

  /**
   * From -8 to 7, without a sign from 0 to 15; for products 1, -1 and, on the first 15 ranks, 2.
   */
  private long value(long seed, int rank, long index, ReduceOp.Standard op) {
    long z = (seed * 31 + rank) * 0x9E3779B97F4A7C15L + index * 0xD1B54A32D192ED03L;
    z = (z ^ z >>> 32) * 0xD6E8FEB86659FD93L;
    long small = z >>> 60;
    if (op != ReduceOp.PRODUCT) {
      return small - (isSigned ? 8 : 0);
    }
    return small == 0 && rank < 15 ? 2 : small % 2 == 0 ? 1 : -1;
  }

  /** Sums of 16 ranks are exact in every type. */
  void put(int index, long value) {
    elements.setValue(index, value);
  }

  /** Returns whether an element is {@code dividend / divisor}, rounded as its type does. */
  boolean holds(int index, long dividend, int divisor) {
    ElementType type = payload.type();
    return elements.value(index) == type.value(type.bits((double) dividend / divisor));
  }
}
