package io.collectives.spi;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A {@link Transport#capability capability}: ranks have memory that their peers can reach, so that
 * bodies which lie there are leased to the receiver instead of copied. See {@link Region} and
 * {@link LeasableBody}. A transport that leads to some peers by shared memory, and to others by
 * sockets, has it for the former only; bodies that go to the latter are copied, wherever they lie.
 */
public interface MemoryLeases {

  /**
   * Returns the capability of a transport that has it for all peers of this rank.
   *
   * @return nothing if it has it for none, or for some only
   * @since 0.2.0
   */
  static @Nullable MemoryLeases ofAll(Transport transport) {
    MemoryLeases leases = transport.capability(MemoryLeases.class);
    for (int peer = 0; leases != null && peer < transport.size(); peer++) {
      if (peer != transport.rank() && !leases.reaches(peer)) {
        return null;
      }
    }
    return leases;
  }

  /**
   * Returns whether regions of this rank can be leased to a peer; bodies that have checksums are
   * copied all the same. The answer is the same each time, and that of the peer about this rank.
   * Any thread may call this.
   *
   * @param peer any other rank, counted in the whole job
   * @since 0.2.0
   */
  default boolean reaches(int peer) {
    return true;
  }

  /** Sets the receiver of frames with leased bodies. It is called before a region is made. */
  void viewBy(ViewSink sink);

  /**
   * Makes memory that peers can reach, all zeros. Any thread may call this.
   *
   * @param length at least 1
   * @param peers who is told of it, counted in the whole job; this rank, and those that are not
   *     {@linkplain #reaches reached}, are left out
   * @throws IOException if there is no space for it, or no right to have it
   */
  Region createRegion(int length, int[] peers) throws IOException;
}
