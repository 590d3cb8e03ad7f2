package io.collectives.spi;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Carries frames between this rank and its peers, each link in order and without loss, or says that
 * the link is lost.
 *
 * <p><b>Threads.</b> All methods of a transport and its links are called by one thread at a time,
 * which may be another one each time, but for {@link #wakeup} and {@link #close}, which any thread
 * may call at any time, also while another one is in {@link #poll} or {@link #await}, and {@link
 * #close} from within a sink, too. The sink is called from within {@link #poll} only. A transport
 * needs no thread of its own: whoever waits, drives.
 *
 * <p><b>A link's life.</b> A link is opened by {@link #link} at either end; frames that are sent
 * before the other end is reached wait in a queue that has a bound, or are refused. It ends once,
 * and the sink is told so by {@link FrameSink#lost} after all frames that have come: without a
 * cause if the peer has closed its transport, with one if the peer is dead, cannot be reached
 * within the limit of the settings, or has sent what cannot be. A peer to whom this rank was never
 * linked is never lost. Frames that are sent on a link after its end are accepted and dropped, and
 * their bodies released. A rank that has closed its transport itself hears of no losses.
 *
 * <p><b>Errors.</b> If a peer sends what {@link FrameHeader#read} refuses, its link ends at both
 * ends: here with that error as the cause, there with a {@link BrokenLinkException}, or any cause
 * if only the end of the connection can be told. What a sink throws comes out of {@link #poll}; the
 * frame that it was thrown for counts as delivered, and the next poll goes on behind it.
 *
 * <p><b>Capabilities.</b> This interface is what every transport must do. What some can do besides
 * has interfaces of its own, for which whoever uses a transport asks {@link #capability} once.
 */
public interface Transport extends AutoCloseable {

  /** This rank, counted in the whole job. */
  int rank();

  /** The number of ranks in the job. */
  int size();

  /**
   * Returns the names, as users know them, of the transports that carry its frames, as {@code shm};
   * there are several if not all peers are reached in the same way.
   */
  default List<String> names() {
    return List.of();
  }

  /**
   * Returns the name, as users know it, of the transport that carries the frames to a peer; empty
   * if that is not known.
   *
   * @since 0.2.0
   */
  default String nameOf(int peer) {
    List<String> names = names();
    return names.size() == 1 ? names.get(0) : "";
  }

  /** The most bytes of buffers that it ever holds, for all links together; 0 if it has none. */
  default long memoryLimit() {
    return 0;
  }

  /**
   * Something that this transport can do beside what all can: {@link BodyViews}, {@link
   * InlineExchange}, {@link MemoryLeases}, {@link MemoryFaults} or {@link StatusRequests}. The
   * answer is the same each time, and, but for the last two, for all ranks of the job; leases may
   * reach some ranks only, and then others have none.
   *
   * @return nothing if it cannot do it, or does not know of it
   */
  default <C> @Nullable C capability(Class<C> kind) {
    return null;
  }

  /**
   * The link to a peer, which is opened if it is not yet; returns at once in any case. Frames may
   * be sent on it from now on. The same object each time, and the one that sinks are given.
   *
   * @param peer any rank but this one
   * @throws IllegalArgumentException if the peer is this rank
   * @throws IndexOutOfBoundsException if there is no such rank
   */
  Link link(int peer);

  /**
   * Moves what can be moved without waiting: sends what is queued, and gives the sink what has
   * arrived, on links that either side has opened.
   *
   * @return how much was done; 0 if nothing, and always once this transport is closed
   */
  int poll(FrameSink sink);

  /**
   * Returns when {@link #poll} may find something to do, as a frame that has come or room to send
   * that was missing, after {@code nanos}, when woken, or at once if this transport is closed; may
   * return early. It gives nothing to a sink. A transport that is not told of arrivals returns
   * after a moment.
   */
  void await(long nanos);

  /** Ends a present or else the next {@link #await}. */
  void wakeup();

  /**
   * Tells the peers that this rank leaves, sends what is queued if that is possible soon, and frees
   * everything. Frames that were accepted from the sink's owner reach peers that keep polling.
   * Closing again does nothing.
   */
  @Override
  void close();
}
