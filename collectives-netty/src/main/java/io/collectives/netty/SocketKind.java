package io.collectives.netty;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.AbstractNioChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.channel.unix.Socket;
import io.netty.channel.unix.UnixChannel;
import io.netty.util.NetUtil;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Which sockets are used: TCP or Unix-domain, by which of Netty's implementations. All in which the
 * four differ once they listen is here.
 */
enum SocketKind {
  /** TCP on Linux, through Netty's native library. */
  EPOLL(true, false) {
    @Override
    ServerChannel server() {
      return new EpollServerSocketChannel();
    }

    @Override
    Channel socket() {
      return new EpollSocketChannel();
    }
  },
  /** TCP by the JDK's selectors, anywhere. */
  NIO(false, false) {
    @Override
    ServerChannel server() {
      return new NioServerSocketChannel();
    }

    @Override
    Channel socket() {
      return new NioSocketChannel();
    }
  },
  /** Unix-domain sockets on Linux, through Netty's native library. */
  EPOLL_UNIX(true, true) {
    @Override
    ServerChannel server() {
      return new EpollServerDomainSocketChannel();
    }

    @Override
    Channel socket() {
      return new EpollDomainSocketChannel();
    }

    @Override
    SocketAddress address(Path socket) {
      return new DomainSocketAddress(socket.toString());
    }
  },
  /** Unix-domain sockets by the JDK's selectors. */
  NIO_UNIX(false, true) {
    @Override
    ServerChannel server() {
      return new NioServerDomainSocketChannel();
    }

    @Override
    Channel socket() {
      return new NioDomainSocketChannel();
    }
  };

  /**
   * The number of bytes that may be on their way over a Unix-domain socket, of which the host may
   * grant less: two frames and more. By default it is less, and nothing makes it grow as TCP does.
   */
  private static final int UNIX_SEND_LENGTH = 1 << 20;

  private static final int FIRST_TO_WARN = 24;

  private final boolean isNative;
  private final boolean isUnix;

  SocketKind(boolean isNative, boolean isUnix) {
    this.isNative = isNative;
    this.isUnix = isUnix;
  }

  /** The best one of TCP for this machine; loads Netty's native library if that may be. */
  static SocketKind best() {
    return isNativeGranted() && Epoll.isAvailable() ? EPOLL : NIO;
  }

  /** The best one of Unix-domain sockets for this machine, likewise. */
  static SocketKind bestUnix() {
    return isNativeGranted() && Epoll.isAvailable() ? EPOLL_UNIX : NIO_UNIX;
  }

  /**
   * Returns whether Netty may load a native library without a warning. From version 24 on Java
   * warns of it on standard error, and will refuse it one day, unless the user has granted native
   * access.
   */
  private static boolean isNativeGranted() {
    if (Runtime.version().feature() < FIRST_TO_WARN) {
      return true;
    }
    try {
      Object granted =
          Module.class.getMethod("isNativeAccessEnabled").invoke(NetUtil.class.getModule());
      return Boolean.TRUE.equals(granted);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("every Java from version 22 on can tell", e);
    }
  }

  /** Returns advice on how to get faster sockets; empty if there is nothing to be done. */
  static Optional<String> advice() {
    return isNativeGranted() || !PlatformDependent.normalizedOs().equals("linux")
        ? Optional.empty()
        : Optional.of(
            "Netty's epoll is not used, as Java warns of native libraries unless they are granted;"
                + " --enable-native-access="
                + Optional.ofNullable(NetUtil.class.getModule().getName()).orElse("ALL-UNNAMED")
                + " on the command line of java grants it");
  }

  boolean isNative() {
    return isNative;
  }

  boolean isUnix() {
    return isUnix;
  }

  IoHandlerFactory ioHandlers() {
    return isNative ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
  }

  abstract ServerChannel server();

  abstract Channel socket();

  /** A file on which a Unix-domain socket listens, as Netty wants it. */
  SocketAddress address(Path socket) {
    return UnixDomainSocketAddress.of(socket);
  }

  /**
   * Returns the socket address of a rank that has announced an address.
   *
   * @throws UnknownHostException if it is not an address, or an unknown name
   */
  final SocketAddress parse(String address) throws UnknownHostException {
    return isUnix ? address(SocketDirectory.parse(address).socket()) : HostPort.parse(address);
  }

  /** Sets what a connection needs before it carries anything. */
  final void prepare(Channel socket) {
    if (isUnix) {
      socket.config().setOption(ChannelOption.SO_SNDBUF, UNIX_SEND_LENGTH);
    } else {
      socket.config().setOption(ChannelOption.TCP_NODELAY, true);
      socket.config().setOption(ChannelOption.SO_KEEPALIVE, true);
    }
  }

  /** Returns, for people, the place from which a peer has connected. */
  final String origin(Channel socket) {
    return isUnix ? "this host" : String.valueOf(socket.remoteAddress());
  }

  /**
   * Returns whether a socket has connected to itself. TCP allows it where nobody listens, if this
   * end happens to get the same port. Such a connection is to be {@link #reset}.
   */
  static boolean isConnectedToItself(Channel socket) {
    return socket.remoteAddress().equals(socket.localAddress());
  }

  /** Closes a TCP connection so that its port can be used at once, not in a minute. */
  static void reset(Channel socket) {
    socket.config().setOption(ChannelOption.SO_LINGER, 0);
    socket.close();
  }

  /** Returns whether no process listens any more where a connection to a rank has failed. */
  final boolean isGone(String address, Throwable why) {
    return isUnix
        ? !isBusy(address)
        : why instanceof ConnectException && !(why instanceof ConnectTimeoutException);
  }

  /**
   * Returns whether a process listens where a connection to a rank has failed: a Unix-domain socket
   * refuses at once when too many wait to be accepted, where TCP lets them try on.
   */
  final boolean isBusy(String address) {
    return isUnix && SocketDirectory.parse(address).isAnswering();
  }

  /**
   * Writes what the socket takes, without waiting, past the channel's queue. That queue makes an
   * object for each write unless the thread is one of Netty's own; so it is left for what the
   * socket does not take.
   *
   * @param bytes direct; its position is moved
   */
  final void write(Channel socket, ByteBuffer bytes) throws IOException {
    if (isNative) {
      int at = bytes.position();
      bytes.position(at + opened(socket).send(bytes, at, bytes.limit()));
    } else {
      ((SocketChannel) ((AbstractNioChannel) socket).unsafe().ch()).write(bytes);
    }
  }

  /**
   * Reads what the socket has, without waiting, past the channel.
   *
   * @param bytes direct; its position is moved
   * @return how many bytes, 0 if none are there, -1 if there will be no more
   */
  final int read(Channel socket, ByteBuffer bytes) throws IOException {
    if (!isNative) {
      return ((SocketChannel) ((AbstractNioChannel) socket).unsafe().ch()).read(bytes);
    }
    int at = bytes.position();
    int count = opened(socket).recv(bytes, at, bytes.limit());
    bytes.position(at + Math.max(count, 0));
    return count;
  }

  /**
   * Returns the native socket of a channel, if it is open still. Netty does not look: the number of
   * a closed socket may be that of any file or socket of this process by now.
   */
  private static Socket opened(Channel channel) throws ClosedChannelException {
    Socket socket = (Socket) ((UnixChannel) channel).fd();
    if (!socket.isOpen()) {
      throw new ClosedChannelException();
    }
    return socket;
  }
}
