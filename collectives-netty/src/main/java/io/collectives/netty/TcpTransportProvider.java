package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import io.netty.channel.ChannelFuture;
import io.netty.channel.socket.ServerSocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Transport {@code tcp}: between processes on one or several hosts. Listens on {@code
 * settings.listen()} only, and on other addresses than loopback only with a job secret.
 */
public final class TcpTransportProvider implements TransportProvider {
  private static final Logger LOG = LoggerFactory.getLogger(TcpTransportProvider.class);

  private final SocketKind kind;
  private final int slotCount;

  /** For {@link java.util.ServiceLoader}. */
  public TcpTransportProvider() {
    this(SocketKind.best(), TcpTransport.SLOTS);
  }

  /** A provider with fewer slots, or the other kind of sockets, than is best. */
  TcpTransportProvider(SocketKind kind, int slotCount) {
    this.kind = kind;
    this.slotCount = slotCount;
  }

  @Override
  public String name() {
    return "tcp";
  }

  @Override
  public Endpoint listen(JobSettings settings) {
    InetAddress address = address(settings);
    Tls tls = Tls.of(settings);
    DrivenEventLoop loop = new DrivenEventLoop(kind.ioHandlers());
    loop.enter();
    try {
      ServerSocketChannel server = kind.server();
      // Nobody is accepted before there is a roster to check them by; until then they wait in the
      // backlog.
      server.config().setAutoRead(false);
      server.config().setBacklog(Math.max(128, settings.size()));
      server.unsafe().register(loop, server.newPromise());
      ChannelFuture bound = server.bind(new InetSocketAddress(address, settings.port()));
      if (!bound.isSuccess()) {
        loop.destroy();
        throw new JoinException(
            "rank "
                + settings.rank()
                + " cannot listen at "
                + HostPort.format(address, settings.port())
                + ": "
                + (bound.cause() == null ? "no answer" : bound.cause().getMessage())
                + "; choose another address, or port 0",
            bound.cause());
      }
      return new TcpEndpoint(
          settings, loop, server, HostPort.format(address, server.localAddress().getPort()), tls);
    } finally {
      loop.leave();
    }
  }

  private static InetAddress address(JobSettings settings) {
    InetAddress address;
    try {
      address = InetAddress.getByName(settings.listen());
    } catch (UnknownHostException e) {
      throw new JoinException(
          "rank "
              + settings.rank()
              + " cannot listen at \""
              + settings.listen()
              + "\": no such host",
          e);
    }
    if (address.isAnyLocalAddress()) {
      throw new JoinException(
          "rank "
              + settings.rank()
              + " would listen on every network of this host: \""
              + settings.listen()
              + "\" must be one address of it");
    }
    AllowedAddress.check(settings, address);
    if (!address.isLoopbackAddress() && settings.security().secret() == null) {
      LOG.warn(
          "rank {} listens at {} without a job secret: whoever can reach it can join, and read and"
              + " change what is summed",
          settings.rank(),
          address.getHostAddress());
    }
    return address;
  }

  private final class TcpEndpoint implements Endpoint {
    private final JobSettings settings;
    private final DrivenEventLoop loop;
    private final ServerSocketChannel server;
    private final String address;
    private final @Nullable Tls tls;
    private boolean done;

    TcpEndpoint(
        JobSettings settings,
        DrivenEventLoop loop,
        ServerSocketChannel server,
        String address,
        @Nullable Tls tls) {
      this.settings = settings;
      this.loop = loop;
      this.server = server;
      this.address = address;
      this.tls = tls;
    }

    @Override
    public String address() {
      return address;
    }

    @Override
    public synchronized Transport open(Roster roster) {
      if (done) {
        throw new IllegalStateException("the endpoint " + address + " has been opened or closed");
      }
      Transport transport = new TcpTransport(settings, roster, kind, loop, server, slotCount, tls);
      done = true;
      return transport;
    }

    @Override
    public synchronized void close() {
      if (!done) {
        done = true;
        loop.enter();
        try {
          server.close();
          loop.destroy();
        } finally {
          loop.leave();
        }
      }
    }
  }
}
