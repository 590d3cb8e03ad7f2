package io.collectives.netty;

import io.netty.channel.Channel;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.unix.Socket;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.List;

/** Which of Netty's implementations of TCP is used. */
enum SocketKind {
  /** Linux, through Netty's native library. */
  EPOLL {
    @Override
    IoHandlerFactory ioHandlers() {
      return EpollIoHandler.newFactory();
    }

    @Override
    ServerSocketChannel server() {
      return new EpollServerSocketChannel();
    }

    @Override
    Channel socket() {
      return new EpollSocketChannel();
    }

    @Override
    void write(Channel socket, ByteBuffer bytes) throws IOException {
      int at = bytes.position();
      bytes.position(
          at + ((Socket) ((EpollSocketChannel) socket).fd()).send(bytes, at, bytes.limit()));
    }
  },
  /** The JDK's selectors, anywhere. */
  NIO {
    @Override
    IoHandlerFactory ioHandlers() {
      return NioIoHandler.newFactory();
    }

    @Override
    ServerSocketChannel server() {
      return new NioServer();
    }

    @Override
    Channel socket() {
      return new NioSocket();
    }

    @Override
    void write(Channel socket, ByteBuffer bytes) throws IOException {
      ((NioSocket) socket).write(bytes);
    }
  };

  /** The best one for this machine. */
  static SocketKind best() {
    return Epoll.isAvailable() ? EPOLL : NIO;
  }

  abstract IoHandlerFactory ioHandlers();

  abstract ServerSocketChannel server();

  abstract Channel socket();

  /**
   * Writes what the socket takes, without waiting, past the channel's queue. That queue makes an
   * object for each write unless the thread is one of Netty's own; so it is left for what the
   * socket does not take.
   *
   * @param bytes direct; its position is moved
   */
  abstract void write(Channel socket, ByteBuffer bytes) throws IOException;

  private static final class NioSocket extends NioSocketChannel {
    NioSocket() {}

    NioSocket(Channel server, SocketChannel socket) {
      super(server, socket);
    }

    void write(ByteBuffer bytes) throws IOException {
      javaChannel().write(bytes);
    }
  }

  private static final class NioServer extends NioServerSocketChannel {
    @Override
    protected int doReadMessages(List<Object> accepted) throws Exception {
      SocketChannel socket = javaChannel().accept();
      if (socket == null) {
        return 0;
      }
      accepted.add(new NioSocket(this, socket));
      return 1;
    }
  }
}
