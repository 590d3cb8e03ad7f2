package io.collectives.netty;

import io.collectives.JobSettings;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.ServerChannel;
import java.io.IOException;
import java.net.SocketAddress;

/**
 * A socket that listens, and the loop that it belongs to.
 *
 * @param kind of this one and of those of its connections
 */
record Listening(SocketKind kind, DrivenEventLoop loop, ServerChannel server) {

  /** Listens at an address, of whichever kind, but lets nobody in yet. */
  static Listening bind(JobSettings settings, SocketKind kind, SocketAddress address)
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
      return new Listening(kind, loop, server);
    } finally {
      loop.leave();
    }
  }
}
