package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.Log;
import io.collectives.spi.TransportProvider;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * Transport {@code tcp}: between processes on one or several hosts. Listens on {@code
 * settings.listen()} only, and on other addresses than loopback only with a job secret. With
 * several addresses there, separated by commas, there are as many connections for each pair of
 * ranks; see {@link JobSettings#withPaths}.
 */
public final class TcpTransportProvider implements TransportProvider {
  private static final Log LOG = Log.of(TcpTransportProvider.class);

  static final String NAME = TcpTransport.TCP;

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
    NettyClasses.check(settings);
    String[] addresses = settings.listen().split(",", -1);
    if (addresses.length == 1) {
      return listen(settings, 0);
    }
    List<SocketEndpoint> paths = new ArrayList<>();
    try {
      for (int path = 0; path < addresses.length; path++) {
        // Another path at the same address cannot have the same port.
        int port = List.of(addresses).indexOf(addresses[path]) == path ? settings.port() : 0;
        paths.add(listen(settings.withListen(addresses[path], port), PathsLink.PREFIX_LENGTH));
      }
    } catch (RuntimeException e) {
      paths.forEach(SocketEndpoint::close);
      throw e;
    }
    return new PathsEndpoint(settings, paths);
  }

  private SocketEndpoint listen(JobSettings settings, int envelopeLength) {
    InetAddress address = address(settings);
    Tls tls = Tls.of(settings);
    Listening listening;
    try {
      listening =
          Listening.bind(settings, kinds.get(), new InetSocketAddress(address, settings.port()));
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
        settings, listening, HostPort.format(address, port), slotCount, tls, null, envelopeLength);
  }

  private static InetAddress address(JobSettings settings) {
    InetAddress address = ListenAddress.of(settings);
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
