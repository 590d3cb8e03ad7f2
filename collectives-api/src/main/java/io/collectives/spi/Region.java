package io.collectives.spi;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Memory of this rank that peers can reach, and that of peers which belongs with it: what one
 * {@link io.collectives.CollectiveBuffer} has of each rank. Made by {@link
 * MemoryLeases#createRegion}.
 *
 * <p>A life: every rank makes a region, and tells the others its number; every rank maps those of
 * all others; when all have, every rank shares its own. From then on bodies that lie in it may be
 * leased instead of copied (see {@link LeasableBody}), until one of the two ranks closes its
 * region. A region of one rank alone is {@linkplain #announce announced} instead: no region of its
 * peers belongs with it.
 *
 * <p><b>Threads.</b> Any thread may call any method.
 */
public interface Region extends AutoCloseable {

  /**
   * Returns the number by which peers know the region; each region of this rank has another one.
   */
  int number();

  /** The memory of this rank: all bytes from 0 to the capacity. */
  ByteBuffer bytes();

  /**
   * Makes the region of a peer reachable for this rank. It must be as long as this one.
   *
   * @param peer any other rank, counted in the whole job
   * @param number of the peer's region
   */
  void map(int peer, int number) throws IOException;

  /**
   * Returns the memory of a peer whose region was mapped. It stays there until this region is
   * closed, even if the peer closes its own before, leaves or dies.
   *
   * @param peer any other rank, counted in the whole job
   * @throws IOException if no region of the peer is mapped, or the peer has closed it already
   * @since 0.2.0
   */
  FrameBytes hold(int peer) throws IOException;

  /**
   * All peers whose regions were mapped have mapped this one, too: from now on it may be leased to
   * them.
   */
  void share();

  /**
   * Has the peers map this region without one of their own, instead of {@link #map} and {@link
   * #share}. Returns at once: each peer maps it when it hears of it, within its next {@link
   * Transport#poll}. What lies in it is copied to a peer until that has said that it has, and for
   * good if it cannot. Memory in which what one rank passes on to others lands is such a region
   * (Herring, section III-3).
   *
   * @since 0.2.0
   */
  void announce();

  /**
   * Looks whether some bytes are still there, which were written or read just before and which no
   * peer writes now; they stay as they are. If their memory is gone, as when somebody has truncated
   * its file, the transport acts on it as if it had met an error there. Does nothing where such
   * errors always come at once.
   *
   * @param from the index of the first byte, a multiple of 8
   * @since 0.2.0
   */
  default void check(int from, int length) {}

  /**
   * Gives the memory back, and the regions of peers as soon as these cannot lease them to this rank
   * any more. Closing again does nothing.
   */
  @Override
  void close();
}
