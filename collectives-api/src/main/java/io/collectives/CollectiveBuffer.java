package io.collectives;

import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/**
 * Memory outside of the Java heap that a group of ranks has allocated together; see {@link
 * Communicator#allocate}. Between processes of one host that talk by shared memory, each rank sees
 * what the others have in theirs, so that a collective reads and writes it where it is; over every
 * other transport it is memory of this rank only, and all else is the same.
 *
 * <p><b>Use.</b> Fill {@link #floats} or its like, and pass {@link #payload()}, or a range of it,
 * to any call of any group, in place or not; keep payloads and views, because making one is an
 * allocation. Only payloads that were made here are known to lie in such memory: one that {@link
 * Payload#of(FloatBuffer)} makes of a view is correct, too, but is copied. Some ranks of a call may
 * pass such a payload and others an array.
 *
 * <p><b>End.</b> {@link #close} gives the memory back, and so does closing the group that allocated
 * it, or the world. Calls refuse the payloads of a closed buffer with an {@link
 * IllegalStateException}. Views of it must not be used any more: from JDK 22 on, where it was
 * shared, they throw an {@link IllegalStateException}; before, they still show memory of this rank,
 * which is free when the garbage collector has found that nobody has views of it. In neither case
 * can a late use end the process, or reach the memory of another rank. What others have of it they
 * give back as soon as they hear of it, within milliseconds.
 *
 * <p><b>Death.</b> The memory outlives the processes: if a rank dies, what is left to the others
 * stays valid, and the failure contract of a call is that of all memory.
 *
 * <p><b>Threads.</b> As for other memory: what the threads of a rank do with it is up to them, and
 * it belongs to the library while a call that was given it is under way.
 */
public interface CollectiveBuffer extends AutoCloseable {

  /** The type of the elements. */
  ElementType type();

  /** The number of elements. */
  long count();

  /**
   * All bytes, in a little-endian direct buffer; each time another one, with a position and a limit
   * of its own.
   *
   * @throws IllegalStateException if this is closed
   */
  ByteBuffer bytes();

  /**
   * All elements.
   *
   * @throws IllegalStateException if this is closed, or they are not {@link ElementType#FLOAT32}
   */
  default FloatBuffer floats() {
    return checked(ElementType.FLOAT32).asFloatBuffer();
  }

  /**
   * All elements.
   *
   * @throws IllegalStateException if this is closed, or they are not {@link ElementType#FLOAT64}
   */
  default DoubleBuffer doubles() {
    return checked(ElementType.FLOAT64).asDoubleBuffer();
  }

  /**
   * All elements.
   *
   * @throws IllegalStateException if this is closed, or they are not {@link ElementType#INT32}
   */
  default IntBuffer ints() {
    return checked(ElementType.INT32).asIntBuffer();
  }

  /**
   * All elements.
   *
   * @throws IllegalStateException if this is closed, or they are not {@link ElementType#INT64}
   */
  default LongBuffer longs() {
    return checked(ElementType.INT64).asLongBuffer();
  }

  private ByteBuffer checked(ElementType wanted) {
    if (type() != wanted) {
      throw new IllegalStateException(
          "a view of "
              + wanted
              + " elements of a buffer of "
              + type()
              + " elements: use bytes(), or allocate the other type");
    }
    return bytes();
  }

  /** All elements, to be passed to calls. */
  default Payload payload() {
    return payload(0, count());
  }

  /**
   * {@code count} elements from {@code offset} on, to be passed to calls.
   *
   * @throws IndexOutOfBoundsException if they do not lie within the buffer
   */
  default Payload payload(long offset, long count) {
    return new Payload.OfCollectiveBuffer(this, offset, count);
  }

  /**
   * Gives the memory back; this rank only, without waiting for others. Closing again does nothing.
   *
   * @throws IllegalStateException if a call under way uses it; nothing happens then
   */
  @Override
  void close();
}
