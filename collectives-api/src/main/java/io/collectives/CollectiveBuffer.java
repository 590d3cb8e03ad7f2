package io.collectives;

import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/**
 * Memory outside of the Java heap that a group of ranks has allocated together; see {@link
 * Communicator#allocate}. Between processes of one host that communicate by shared memory, each
 * rank can read and write the memory of the others, so that a collective uses it in place; over
 * every other transport it is memory of this rank only, and is used in the same way.
 *
 * <p><b>Use.</b> Fill {@link #floats} or the view of another type, and pass {@link #payload()}, or
 * a range of it, to any call of any group, in place or not. Keep payloads and views, because each
 * new one is an allocation. Only payloads that this buffer made are known to lie in such memory: a
 * payload that {@link Payload#of(FloatBuffer)} makes of a view works, too, but is copied. Some
 * ranks of a call may pass such a payload and others an array.
 *
 * <p><b>End.</b> {@link #close} frees the memory, and so does closing the group that allocated it,
 * or the world. Calls refuse the payloads of a closed buffer with an {@link IllegalStateException}.
 * Views of it must not be used any more: from JDK 22 on, where it was shared, they throw an {@link
 * IllegalStateException}; before JDK 22, they still show memory of this rank, which is freed when
 * the garbage collector finds that no view of it is left. In neither case can a late use crash the
 * process, or reach the memory of another rank. The other ranks release their mappings of the
 * memory within milliseconds, as soon as they learn of the close.
 *
 * <p><b>Death.</b> The memory outlives the processes: if a rank dies, the memory stays valid at the
 * others, and calls fail in the same way as for other memory.
 *
 * <p><b>Threads.</b> The rules are those of other memory: the threads of a rank may use it as they
 * like, except that it belongs to the library while a call that was given it is under way.
 */
public interface CollectiveBuffer extends AutoCloseable {

  /** Returns the type of the elements. */
  ElementType type();

  /** Returns the number of elements. */
  long count();

  /**
   * Returns all bytes in a little-endian direct buffer; each call returns another buffer, with a
   * position and a limit of its own.
   *
   * @throws IllegalStateException if this is closed
   */
  ByteBuffer bytes();

  /**
   * Returns a view of all elements.
   *
   * @throws IllegalStateException if this is closed, or they are not {@link ElementType#FLOAT32}
   */
  default FloatBuffer floats() {
    return checked(ElementType.FLOAT32).asFloatBuffer();
  }

  /**
   * Returns a view of all elements.
   *
   * @throws IllegalStateException if this is closed, or they are not {@link ElementType#FLOAT64}
   */
  default DoubleBuffer doubles() {
    return checked(ElementType.FLOAT64).asDoubleBuffer();
  }

  /**
   * Returns a view of all elements.
   *
   * @throws IllegalStateException if this is closed, or they are not {@link ElementType#INT32}
   */
  default IntBuffer ints() {
    return checked(ElementType.INT32).asIntBuffer();
  }

  /**
   * Returns a view of all elements.
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

  /** Returns a payload of all elements. */
  default Payload payload() {
    return payload(0, count());
  }

  /**
   * Returns a payload of {@code count} elements from {@code offset} on.
   *
   * @throws IndexOutOfBoundsException if they do not lie within the buffer
   */
  default Payload payload(long offset, long count) {
    return new Payload.OfCollectiveBuffer(this, offset, count);
  }

  /**
   * Frees the memory of this rank, without waiting for others. Closing again does nothing.
   *
   * @throws IllegalStateException if a call under way uses it; nothing happens then
   */
  @Override
  void close();
}
