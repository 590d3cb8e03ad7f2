package io.collectives.spi;

import java.io.IOException;

/**
 * A {@link Transport#capability capability}: ranks have memory that their peers can reach, so that
 * bodies which lie there are leased to the receiver instead of copied. See {@link Region} and
 * {@link LeasableBody}.
 */
public interface MemoryLeases {

  /** Sets the receiver of frames with leased bodies. It is called before a region is made. */
  void viewBy(ViewSink sink);

  /**
   * Makes memory that peers can reach, all zeros. Any thread may call this.
   *
   * @param length at least 1
   * @param peers who is told of it, counted in the whole job; this rank is left out
   * @throws IOException if there is no space for it, or no right to have it
   */
  Region createRegion(int length, int[] peers) throws IOException;
}
