package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.HostNames;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Roster;
import io.netty.util.NetUtil;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A rendezvous over TCP. Rank 0 is the server: it listens, and when all have announced themselves,
 * draws the epoch and sends the roster to all. The others are clients: they connect, announce
 * themselves, and wait for the answer.
 *
 * <p>All of it happens on the threads that call {@link #meet}, but for looking up the host's name;
 * nothing listens before or after. {@link RendezvousServer} and {@link RendezvousClient} hold what
 * is said and decided, {@link RendezvousSockets} carries it.
 */
final class TcpRendezvous implements Rendezvous {
  private final JobSettings settings;
  private final String host;
  private final int port;
  private final Function<String, CompletableFuture<InetAddress>> resolver;
  private volatile boolean closed;
  private volatile Runnable interruption = () -> {};

  /** Creates a rendezvous at a port of a host, which is looked up when it is needed. */
  TcpRendezvous(JobSettings settings, String host, int port) {
    this(settings, host, port, HostNames::lookUp);
  }

  /** Creates a rendezvous with another resolver. */
  TcpRendezvous(
      JobSettings settings,
      String host,
      int port,
      Function<String, CompletableFuture<InetAddress>> resolver) {
    this.settings = settings;
    this.host = host;
    this.port = port;
    this.resolver = resolver;
  }

  @Override
  public Roster meet(Announcement me, Duration timeout) {
    RendezvousWire.check(me);
    if (me.size() == 1) {
      return new Roster(JobEpoch.draw(), List.of(me.address()));
    }
    RendezvousTerms terms =
        new RendezvousTerms(
            toString(),
            me,
            timeout,
            settings.calls().silenceLimit(),
            settings.security().secret(),
            new SecureRandom());
    try (RendezvousSockets sockets = new RendezvousSockets(this, terms)) {
      return me.rank() == 0 ? sockets.serve() : sockets.join();
    } catch (IOException e) {
      throw new JoinException(
          "rank "
              + me.rank()
              + " of job \""
              + me.job()
              + "\" cannot go on meeting at "
              + this
              + ": "
              + e.getMessage(),
          e);
    } finally {
      interruption = () -> {};
    }
  }

  @Override
  public void close() {
    closed = true;
    interruption.run();
  }

  boolean isClosed() {
    return closed;
  }

  /** Sets the action that ends the present wait from another thread. It may run at once. */
  void onClose(Runnable action) {
    interruption = action;
    if (closed) {
      action.run();
    }
  }

  /** The name or the address of the host. */
  String host() {
    return host;
  }

  /** Begins to look the host up, unless it is given by its numbers. */
  CompletableFuture<InetAddress> lookUp() {
    InetAddress address = NetUtil.createInetAddressFromIpAddressString(host);
    return address == null ? resolver.apply(host) : CompletableFuture.completedFuture(address);
  }

  /**
   * Returns the socket address of the port at an address of the host, which is never a wildcard.
   *
   * @throws JoinException if it is not loopback and there is no job secret
   */
  InetSocketAddress at(InetAddress address) throws UnknownHostException {
    if (address.isAnyLocalAddress()) {
      throw new UnknownHostException(
          host + " stands for every network of a host; one address is needed");
    }
    AllowedAddress.check(settings, address);
    return new InetSocketAddress(address, port);
  }

  @Override
  public String toString() {
    return "tcp://" + host + ":" + port;
  }
}
