package io.collectives.bench.status;

import io.collectives.engine.status.StatusDirectory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The status socket of a rank of this host. */
record LocalEndpoint(StatusDirectory.Socket socket) implements Endpoint {
  @Override
  public long pid() {
    return socket.pid();
  }

  @Override
  public String describe() {
    return "pid " + socket.pid();
  }

  @Override
  public String ask(String request, Duration limit) throws IOException {
    long end = System.nanoTime() + limit.toNanos();
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        Selector selector = Selector.open()) {
      channel.configureBlocking(false);
      if (!channel.connect(UnixDomainSocketAddress.of(socket.path()))) {
        SelectionKey connecting = channel.register(selector, SelectionKey.OP_CONNECT);
        await(selector, end);
        channel.finishConnect();
        connecting.interestOps(0);
      }
      ByteBuffer line = ByteBuffer.wrap((request + "\n").getBytes(StandardCharsets.UTF_8));
      channel.register(selector, SelectionKey.OP_WRITE);
      while (line.hasRemaining()) {
        await(selector, end);
        channel.write(line);
      }
      channel.register(selector, SelectionKey.OP_READ);
      return read(channel, selector, end);
    }
  }

  private static String read(SocketChannel channel, Selector selector, long end)
      throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    ByteBuffer piece = ByteBuffer.allocate(64 << 10);
    while (true) {
      await(selector, end);
      int count = channel.read(piece.clear());
      if (count < 0) {
        return all.toString(StandardCharsets.UTF_8);
      }
      all.write(piece.array(), 0, count);
      if (all.size() > LONGEST_ANSWER) {
        throw new IOException("its answer is longer than " + LONGEST_ANSWER + " bytes");
      }
    }
  }

  private static void await(Selector selector, long end) throws IOException {
    long millis = (end - System.nanoTime()) / 1_000_000;
    if (millis <= 0) {
      throw new SocketTimeoutException("no answer");
    }
    selector.select(millis);
    selector.selectedKeys().clear();
  }
}
