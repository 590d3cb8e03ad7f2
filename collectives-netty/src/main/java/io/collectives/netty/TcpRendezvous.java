package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Roster;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A meeting over TCP. Rank 0 is the host: it listens, and when all have announced themselves, draws
 * the epoch and sends the roster to all. The others are guests: they connect, announce themselves,
 * and wait for the answer.
 *
 * <p>All of it happens on the threads that call {@link #meet}; nothing listens before or after.
 */
final class TcpRendezvous implements Rendezvous {
  private final JobSettings settings;
  private final String host;
  private final int port;
  private final SecureRandom random = new SecureRandom();
  private final CountDownLatch closed = new CountDownLatch(1);
  private volatile Runnable interruption = () -> {};

  /** A meeting at a port of a host, which is looked up when it is needed. */
  TcpRendezvous(JobSettings settings, String host, int port) {
    this.settings = settings;
    this.host = host;
    this.port = port;
  }

  @Override
  public Roster meet(Announcement me, Duration timeout) {
    RendezvousWire.check(me);
    if (me.size() == 1) {
      return new Roster(JobEpoch.draw(), List.of(me.address()));
    }
    long deadline = System.nanoTime() + timeout.toNanos();
    return me.rank() == 0
        ? new RendezvousHost(this, me, timeout, deadline).meet()
        : new RendezvousGuest(this, me, timeout, deadline).meet();
  }

  @Override
  public void close() {
    closed.countDown();
    interruption.run();
  }

  /** How long a rank that was here and is lost may take to come back, or another in its place. */
  long returnNanos() {
    return settings.calls().silenceLimit().toNanos();
  }

  boolean isClosed() {
    return closed.getCount() == 0;
  }

  /** What ends the present wait from another thread. It may run at once. */
  void onClose(Runnable action) {
    interruption = action;
    if (isClosed()) {
      action.run();
    }
  }

  /** Waits, unless closed; fails if interrupted. */
  void pause(Announcement me, long millis) {
    try {
      if (closed.await(millis, TimeUnit.MILLISECONDS)) {
        throw closed(me);
      }
    } catch (InterruptedException e) {
      throw interrupted(me);
    }
  }

  JoinException closed(Announcement me) {
    return new JoinException(
        "rank "
            + me.rank()
            + " of job \""
            + me.job()
            + "\" gave up meeting at "
            + this
            + ": it was closed");
  }

  JoinException interrupted(Announcement me) {
    Thread.currentThread().interrupt();
    return new JoinException(
        "rank "
            + me.rank()
            + " of job \""
            + me.job()
            + "\" was interrupted while meeting at "
            + this);
  }

  @Nullable JobSecret secret() {
    return settings.security().secret();
  }

  /** Random bytes that are used once. */
  byte[] nonce() {
    byte[] nonce = new byte[RendezvousWire.NONCE_LENGTH];
    random.nextBytes(nonce);
    return nonce;
  }

  /**
   * The address, never a wildcard.
   *
   * @throws JoinException if it is not loopback and there is no job secret
   */
  InetSocketAddress address() throws UnknownHostException {
    InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(host), port);
    if (address.getAddress().isAnyLocalAddress()) {
      throw new UnknownHostException(
          host + " stands for every network of a host; one address is needed");
    }
    AllowedAddress.check(settings, address.getAddress());
    return address;
  }

  @Override
  public String toString() {
    return "tcp://" + host + ":" + port;
  }
}
