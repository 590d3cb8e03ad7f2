import io.collectives.netty.TcpRendezvousProvider;
import io.collectives.netty.TcpTransportProvider;
import io.collectives.netty.UnixTransportProvider;

/**
 * The transports over TCP and Unix-domain sockets, and the rendezvous over TCP. It exports nothing:
 * programs name a transport in their settings.
 */
module io.collectives.netty {
  requires io.collectives.api;
  requires io.netty.buffer;
  requires io.netty.codec;
  requires io.netty.common;
  requires io.netty.handler;
  requires io.netty.transport;
  requires io.netty.transport.classes.epoll;
  requires io.netty.transport.unix.common;

  provides io.collectives.spi.RendezvousProvider with
      TcpRendezvousProvider;
  provides io.collectives.spi.TransportProvider with
      TcpTransportProvider,
      UnixTransportProvider;
}
