package io.collectives.spi;

import java.time.Duration;

/**
 * A place where the ranks of a job meet once, to learn each other's addresses and the epoch of this
 * run.
 *
 * <p>Threads: used by one thread, closed by any.
 */
public interface Rendezvous extends AutoCloseable {

  /** The version of the protocol between ranks; ranks of different versions refuse each other. */
  int PROTOCOL_VERSION = 1;

  /**
   * Announces this rank and waits for all others.
   *
   * @throws io.collectives.JoinException if a rank did not come in time (naming all that did not),
   *     or if this rank was refused: another process has its rank, or its job, size or version is
   *     not that of the others (naming both values)
   */
  Roster meet(Announcement me, Duration timeout);

  /** Gives up the rendezvous and frees what was held. Closing again does nothing. */
  @Override
  void close();

  /**
   * The facts that a rank announces of itself.
   *
   * @param job the name of the job
   * @param rank its rank
   * @param size how many ranks it believes the job to have
   * @param version of the protocol, {@link #PROTOCOL_VERSION} but in tests
   * @param transport the name of its transport
   * @param address where its endpoint is
   * @param whereabouts the host and process, for errors
   */
  record Announcement(
      String job,
      int rank,
      int size,
      int version,
      String transport,
      String address,
      String whereabouts) {}
}
