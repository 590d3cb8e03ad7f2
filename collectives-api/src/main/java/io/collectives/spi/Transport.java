package io.collectives.spi;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * Carries frames between this rank and its peers, each link in order and without loss, or says that
 * the link is lost.
 *
 * <p><b>Threads.</b> All methods of a transport and its links are called by one thread at a time,
 * which may be another one each time, but for {@link #wakeup} and {@link #close}, which any thread
 * may call at any time. The sink is called from within {@link #poll} only. A transport has no
 * thread of its own: whoever waits, drives.
 */
public interface Transport extends AutoCloseable {

  /** This rank, counted in the whole job. */
  int rank();

  /** The number of ranks in the job. */
  int size();

  /**
   * Whether the sink is given the very bodies that peers send, whose memory it may read and, as far
   * as they allow it, write; see {@link FrameSink#view}. The same for all ranks of the job.
   */
  default boolean sharesMemory() {
    return false;
  }

  /**
   * What carries its frames, by the names that users know, as {@code shm}; several if not all peers
   * are reached in the same way.
   */
  default List<String> names() {
    return List.of();
  }

  /**
   * Whether each pair of ranks can leave each other messages; see {@link Link#post}. The same for
   * all ranks of the job.
   */
  default boolean hasMailboxes() {
    return false;
  }

  /** Whether it can make {@link #createRegion regions}. The same for all ranks of the job. */
  default boolean lendsMemory() {
    return false;
  }

  /**
   * Makes memory that peers can reach, all zeros. Any thread may call this.
   *
   * @param length at least 1
   * @param peers who is told of it, counted in the whole job; this rank is left out
   * @throws IOException if there is no space for it, or no right to have it
   */
  default Region createRegion(int length, int[] peers) throws IOException {
    throw new UnsupportedOperationException(this + " lends no memory");
  }

  /** The most bytes of buffers that it ever holds, for all links together; 0 if it has none. */
  default long memoryLimit() {
    return 0;
  }

  /**
   * The link to a peer, which is opened if it is not yet; returns at once in any case. Frames may
   * be sent on it from now on. The same object each time.
   *
   * @param peer any rank but this one
   */
  Link link(int peer);

  /**
   * Moves what can be moved without waiting: sends what is queued, and gives the sink what has
   * arrived, on links that either side has opened.
   *
   * @return how much was done; 0 if nothing
   */
  int poll(FrameSink sink);

  /**
   * To be asked after an {@link InternalError}, which the JVM throws when memory that peers share
   * is gone, because somebody has truncated its file: where it was used, or in the same thread some
   * time later. If so, those links are lost, as the sink hears in the next poll, and what was under
   * way when the error came cannot be relied upon.
   *
   * @return why, as in {@link FrameSink#lost}, by peer; nothing if the error means something else
   */
  default Map<Integer, Throwable> lostMemory() {
    return Map.of();
  }

  /**
   * To be called by a thread that has used the transport and is about to do something else: an
   * error such as {@link #lostMemory} tells of that is still to come must not come there.
   *
   * @return whether there was none; else what the thread has done cannot be relied upon
   */
  default boolean settle() {
    return true;
  }

  /**
   * Returns when {@link #poll} may find something to do, after {@code nanos}, or when woken; may
   * return early.
   */
  void await(long nanos);

  /**
   * Whether whatever arrives ends {@link #await} at once, and costs its sender nothing more, as
   * where the kernel wakes who waits for a socket. If not, ranks sleep only when they have waited
   * for long.
   */
  default boolean wakesByArrivals() {
    return false;
  }

  /** Ends a present or else the next {@link #await}. */
  void wakeup();

  /**
   * Tells the peers that this rank leaves, sends what is queued if that is possible soon, and frees
   * everything. Frames that were accepted from the sink's owner reach peers that keep polling.
   */
  @Override
  void close();
}
