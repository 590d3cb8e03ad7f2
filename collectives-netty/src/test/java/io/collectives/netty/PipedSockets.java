package io.collectives.netty;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ProtocolFamily;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Sockets that are no sockets: bytes that one end has written lie in a buffer until the test moves
 * them to the other end. So all of the library's code that reads and writes, and Netty's, runs as
 * over TCP, but on the thread of the test, which alone decides what arrives when.
 */
final class PipedSockets extends SelectorProvider {

  /** An end, connected to nothing but the test. */
  static final class End extends SocketChannel {
    private final RandomGenerator random;
    private final Bytes written = new Bytes();
    private final Bytes unread = new Bytes();
    private boolean inputEnded;

    /**
     * An end.
     *
     * @param random how many bytes are read or written at once, as far as the caller lets it
     */
    End(SelectorProvider provider, RandomGenerator random) {
      super(provider);
      this.random = random;
    }

    /** Returns how many bytes have been written here and not been taken. */
    int written() {
      return written.length;
    }

    /** Returns how many bytes have arrived and not been read. */
    int unread() {
      return unread.length;
    }

    /** Takes what has been written first. */
    byte[] take(int length) {
      byte[] taken = new byte[length];
      written.get(ByteBuffer.wrap(taken), length);
      return taken;
    }

    /** Lets bytes arrive. */
    void arrive(byte[] bytes) {
      unread.put(ByteBuffer.wrap(bytes), bytes.length);
    }

    /** Ends the input: nothing more will arrive. */
    void endInput() {
      inputEnded = true;
    }

    private int readyOps() {
      boolean readable = unread.length > 0 || inputEnded;
      return (readable ? SelectionKey.OP_READ : 0) | SelectionKey.OP_WRITE;
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
      if (!isOpen()) {
        throw new ClosedChannelException();
      }
      if (unread.length == 0) {
        return inputEnded ? -1 : 0;
      }
      int most = Math.min(target.remaining(), unread.length);
      int length = random.nextInt(4) == 0 ? most : Math.min(most, 1 + random.nextInt(300));
      unread.get(target, length);
      return length;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
      if (!isOpen()) {
        throw new ClosedChannelException();
      }
      int all = source.remaining();
      int length = random.nextInt(3) > 0 ? all : random.nextInt(all + 1);
      written.put(source, length);
      return length;
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
      return read(targets[offset]);
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
      return write(sources[offset]);
    }

    @Override
    public boolean isConnected() {
      return true;
    }

    @Override
    public boolean isConnectionPending() {
      return false;
    }

    @Override
    public boolean connect(SocketAddress remote) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean finishConnect() {
      throw new UnsupportedOperationException();
    }

    @Override
    public SocketChannel bind(SocketAddress local) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> SocketChannel setOption(SocketOption<T> name, T value) {
      return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> name) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
      return Set.of();
    }

    @Override
    public SocketChannel shutdownInput() {
      return this;
    }

    @Override
    public SocketChannel shutdownOutput() {
      return this;
    }

    /** Has options, which do nothing; a real one would open a descriptor for them. */
    @Override
    public Socket socket() {
      return new Socket() {
        @Override
        public void setTcpNoDelay(boolean on) {}

        @Override
        public void setKeepAlive(boolean on) {}

        @Override
        public int getSoLinger() {
          return -1;
        }

        @Override
        public int getSendBufferSize() {
          return 1 << 16;
        }
      };
    }

    @Override
    public SocketAddress getRemoteAddress() {
      return null;
    }

    @Override
    public SocketAddress getLocalAddress() {
      return null;
    }

    @Override
    protected void implCloseSelectableChannel() {
      inputEnded = true;
    }

    @Override
    protected void implConfigureBlocking(boolean block) {}
  }

  /** Listens nowhere: the test itself brings the ends that it accepts. */
  static final class Server extends ServerSocketChannel {
    Server(SelectorProvider provider) {
      super(provider);
    }

    @Override
    public ServerSocketChannel bind(SocketAddress local, int backlog) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) {
      return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> name) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
      return Set.of();
    }

    @Override
    public ServerSocket socket() {
      try {
        return new ServerSocket(); // Not bound, so it has no descriptor.
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public SocketChannel accept() {
      return null;
    }

    @Override
    public SocketAddress getLocalAddress() {
      return null;
    }

    @Override
    protected void implCloseSelectableChannel() {}

    @Override
    protected void implConfigureBlocking(boolean block) {}
  }

  /** Bytes in a row that grows at one end and is used up at the other. */
  private static final class Bytes {
    private byte[] bytes = new byte[1 << 12];
    private int from;
    private int length;

    void put(ByteBuffer source, int count) {
      if (from + length + count > bytes.length) {
        byte[] next = new byte[Math.max(bytes.length, 2 * (length + count))];
        System.arraycopy(bytes, from, next, 0, length);
        bytes = next;
        from = 0;
      }
      source.get(bytes, from + length, count);
      length += count;
    }

    void get(ByteBuffer target, int count) {
      target.put(bytes, from, count);
      from += count;
      length -= count;
    }
  }

  @Override
  public AbstractSelector openSelector() {
    return new EndSelector(this);
  }

  /** Finds the ends that have something, at once. */
  private static final class EndSelector extends AbstractSelector {
    private final Set<SelectionKey> keys = new LinkedHashSet<>();
    private final Set<SelectionKey> selected = new HashSet<>();

    EndSelector(SelectorProvider provider) {
      super(provider);
    }

    @Override
    protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
      if (!(channel instanceof End) && !(channel instanceof Server)) {
        // That of a system keeps its descriptor for as long as it has a key, and only its own
        // selector can end that.
        throw new IllegalSelectorException();
      }
      EndKey key = new EndKey(channel, this);
      key.attach(attachment);
      key.interestOps(ops);
      keys.add(key);
      return key;
    }

    @Override
    public int selectNow() {
      synchronized (cancelledKeys()) {
        for (SelectionKey key : cancelledKeys()) {
          keys.remove(key);
          selected.remove(key);
          deregister((AbstractSelectionKey) key);
        }
        cancelledKeys().clear();
      }
      for (SelectionKey key : keys) {
        EndKey one = (EndKey) key;
        one.ready = one.channel instanceof End end ? end.readyOps() & one.interest : 0;
        if (one.ready != 0) {
          selected.add(one);
        }
      }
      return selected.size();
    }

    @Override
    public int select(long timeout) {
      return selectNow();
    }

    @Override
    public int select() {
      return selectNow();
    }

    @Override
    public Set<SelectionKey> keys() {
      return keys;
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
      return selected;
    }

    @Override
    public Selector wakeup() {
      return this;
    }

    @Override
    protected void implCloseSelector() {
      for (SelectionKey key : keys) {
        deregister((AbstractSelectionKey) key);
      }
    }
  }

  private static final class EndKey extends AbstractSelectionKey {
    private final AbstractSelectableChannel channel;
    private final Selector selector;
    private int interest;
    private int ready;

    EndKey(AbstractSelectableChannel channel, Selector selector) {
      this.channel = channel;
      this.selector = selector;
    }

    @Override
    public AbstractSelectableChannel channel() {
      return channel;
    }

    @Override
    public Selector selector() {
      return selector;
    }

    @Override
    public int interestOps() {
      return interest;
    }

    @Override
    public SelectionKey interestOps(int ops) {
      interest = ops;
      return this;
    }

    @Override
    public int readyOps() {
      return ready;
    }
  }

  @Override
  public DatagramChannel openDatagramChannel() {
    throw new UnsupportedOperationException();
  }

  @Override
  public DatagramChannel openDatagramChannel(ProtocolFamily family) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Pipe openPipe() {
    throw new UnsupportedOperationException();
  }

  @Override
  public ServerSocketChannel openServerSocketChannel() {
    throw new UnsupportedOperationException();
  }

  @Override
  public SocketChannel openSocketChannel() {
    throw new UnsupportedOperationException();
  }
}
