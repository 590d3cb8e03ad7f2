package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.HostNames;
import io.collectives.internal.Log;
import io.collectives.spi.TransportProvider;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.ServerChannel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.function.Supplier;

/**
 * Transport {@code tcp}: between processes on one or several hosts. Listens on {@code
 * settings.listen()} only, and on other addresses than loopback only with a job secret.
 */
public final class TcpTransportProvider implements TransportProvider {
  private static final Log LOG = Log.of(TcpTransportProvider.class);

  static final String NAME = "tcp";

  private final Supplier<SocketKind> kinds;
  private final int slotCount;

  /** For {@link java.util.ServiceLoader}. */
  public TcpTransportProvider() {
    this(SocketKind::best, TcpTransport.SLOTS);
  }

  /** A provider with fewer slots, or the other kind of sockets, than is best. */
  TcpTransportProvider(SocketKind kind, int slotCount) {
    this(() -> kind, slotCount);
  }

  /**
   * A provider of fewer slots, or other sockets.
   *
   * @param kinds asked when a rank listens, not before: the best kind may load a native library
   */
  private TcpTransportProvider(Supplier<SocketKind> kinds, int slotCount) {
    this.kinds = kinds;
    this.slotCount = slotCount;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Endpoint listen(JobSettings settings) {
    InetAddress address = address(settings);
    Tls tls = Tls.of(settings);
    SocketEndpoint.Listening listening;
    try {
      listening = bind(settings, kinds.get(), new InetSocketAddress(address, settings.port()));
    } catch (IOException e) {
      throw new JoinException(
          "rank "
              + settings.rank()
              + " cannot listen at "
              + HostPort.format(address, settings.port())
              + ": "
              + e.getMessage()
              + "; choose another address, or port 0",
          e);
    }
    int port = ((InetSocketAddress) listening.server().localAddress()).getPort();
    return new SocketEndpoint(
        settings, listening, HostPort.format(address, port), slotCount, tls, null);
  }

  /** Listens at an address, of whichever kind, but lets nobody in yet. */
  static SocketEndpoint.Listening bind(JobSettings settings, SocketKind kind, SocketAddress address)
      throws IOException {
    DrivenEventLoop loop = new DrivenEventLoop(kind.ioHandlers());
    loop.enter();
    try {
      ServerChannel server = kind.server();
      // Nobody is accepted before there is a roster to check them by; until then they wait in the
      // backlog.
      server.config().setAutoRead(false);
      server.config().setOption(ChannelOption.SO_BACKLOG, Math.max(128, settings.size()));
      server.unsafe().register(loop, server.newPromise());
      ChannelFuture bound = server.bind(address);
      if (!bound.isSuccess()) {
        loop.destroy();
        throw new IOException(
            bound.cause() == null ? "no answer" : bound.cause().getMessage(), bound.cause());
      }
      return new SocketEndpoint.Listening(kind, loop, server);
    } finally {
      loop.leave();
    }
  }

  private static InetAddress address(JobSettings settings) {
    InetAddress address;
    try {
      address = HostNames.lookUp(settings.listen(), settings.joinTimeout());
    } catch (UnknownHostException e) {
      throw new JoinException(
          "rank "
              + settings.rank()
              + " cannot listen at \""
              + settings.listen()
              + "\": no such host ("
              + e.getMessage()
              + ")",
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
}
