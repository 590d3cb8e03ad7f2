package io.collectives.engine.status;

import io.collectives.JobSettings;
import io.collectives.internal.Log;
import io.collectives.spi.Roster;
import io.collectives.spi.StatusRequests;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Answers the processes of this rank's user, and root, that ask what the rank does. A daemon thread
 * of its own waits for them in the kernel, so a rank that nobody asks spends nothing on it, and one
 * whose other threads are stuck still answers. Who asks gets {@value #REQUEST_NANOS} ns for it, one
 * after the other.
 *
 * <p>The socket is made a moment after the rank has joined, when its first calls are likely over:
 * what that costs is not to be part of the start.
 */
public final class StatusServer implements Runnable, StatusRequests.Answers, AutoCloseable {
  private static final Log LOG = Log.of(StatusServer.class);
  private static final long DELAY_NANOS = 300_000_000;
  private static final long REQUEST_NANOS = 2_000_000_000;
  private static final long PAUSE_NANOS = 1_000_000_000;

  private final JobSettings settings;
  private final Roster roster;
  private final StatusSource source;

  /** The places for the socket; null for the usual ones, which are looked for when needed. */
  private final @Nullable List<Path> places;

  private final long joinedNanos = System.nanoTime();
  private final Thread thread;
  private volatile boolean closed;
  private @Nullable ServerSocketChannel server;
  private @Nullable Path socket;
  private @Nullable StatusAnswer answer;

  /** Makes the server of a rank, which answers nobody until it is {@linkplain #start started}. */
  public StatusServer(JobSettings settings, Roster roster, StatusSource source) {
    this(settings, roster, source, null);
  }

  StatusServer(
      JobSettings settings, Roster roster, StatusSource source, @Nullable List<Path> places) {
    this.places = places;
    this.settings = settings;
    this.roster = roster;
    this.source = source;
    this.thread = new Thread(this, "collectives-rank" + settings.rank() + "-status");
    thread.setDaemon(true);
  }

  /** Begins to answer before long. */
  public void start() {
    thread.start();
  }

  @Override
  public void run() {
    long end = joinedNanos + DELAY_NANOS;
    for (long left = end - System.nanoTime(); left > 0 && !closed; ) {
      LockSupport.parkNanos(this, left);
      left = end - System.nanoTime();
    }
    try (ServerSocketChannel opened = open()) {
      while (opened != null && !closed) {
        accept(opened);
      }
    } catch (IOException | UnsupportedOperationException e) {
      LOG.debug("rank {} answers no bin/collectives status: {}", settings.rank(), e.getMessage());
    }
  }

  private synchronized @Nullable ServerSocketChannel open() throws IOException {
    if (closed) {
      return null;
    }
    Path path =
        StatusDirectory.socket(
            places == null ? StatusDirectory.usual() : places,
            StatusDirectory.job(roster.epoch()),
            settings.rank(),
            ProcessHandle.current().pid());
    ServerSocketChannel opened = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      opened.bind(UnixDomainSocketAddress.of(path));
    } catch (IOException e) {
      opened.close();
      throw new IOException(path + ": " + e.getMessage(), e);
    }
    socket = path;
    server = opened;
    return opened;
  }

  private void accept(ServerSocketChannel from) {
    try (SocketChannel client = from.accept()) {
      serve(client);
    } catch (IOException e) {
      if (!closed) {
        LOG.debug("rank {} cannot answer who asks for its status", settings.rank(), e);
        if (!from.isOpen()) {
          closed = true;
        } else if (!(e instanceof ClientException)) {
          LockSupport.parkNanos(this, PAUSE_NANOS); // No descriptors may be left.
        }
      }
    }
  }

  /** The process that asked has gone, is too slow, or asks for too much. */
  private static final class ClientException extends IOException {
    private static final long serialVersionUID = 1;

    ClientException(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }

  private void serve(SocketChannel client) throws IOException {
    try (Selector selector = Selector.open()) {
      client.configureBlocking(false);
      SelectionKey key = client.register(selector, SelectionKey.OP_READ);
      long end = System.nanoTime() + REQUEST_NANOS;
      ByteBuffer request = ByteBuffer.allocate(StatusAnswer.LONGEST_REQUEST);
      while (!endsLine(request)) {
        if (!request.hasRemaining()) {
          throw new ClientException(
              "a request of more than " + request.capacity() + " bytes", null);
        }
        await(selector, end);
        if (read(client, request) < 0) {
          return; // Somebody only wanted to know whether this process lives.
        }
      }
      String line = StandardCharsets.UTF_8.decode(request.flip()).toString();
      ByteBuffer text = StandardCharsets.UTF_8.encode(answer().to(line));
      key.interestOps(SelectionKey.OP_WRITE);
      while (text.hasRemaining()) {
        await(selector, System.nanoTime() + REQUEST_NANOS); // A record may be long.
        write(client, text);
      }
    }
  }

  @Override
  public void answer(String request, Consumer<String> reply) {
    // It may wait for the very thread that has brought the request.
    Thread aside =
        new Thread(() -> reply.accept(answer().to(request)), thread.getName() + "-request");
    aside.setDaemon(true);
    aside.start();
  }

  private static boolean endsLine(ByteBuffer request) {
    return request.position() > 0 && request.get(request.position() - 1) == '\n';
  }

  private static int read(SocketChannel client, ByteBuffer request) throws ClientException {
    try {
      return client.read(request);
    } catch (IOException e) {
      throw new ClientException("it has gone", e);
    }
  }

  private static void write(SocketChannel client, ByteBuffer text) throws ClientException {
    try {
      client.write(text);
    } catch (IOException e) {
      throw new ClientException("it has gone", e);
    }
  }

  private static void await(Selector selector, long end) throws IOException {
    long millis = (end - System.nanoTime()) / 1_000_000;
    if (millis <= 0) {
      throw new ClientException("it took too long", null);
    }
    selector.select(millis);
    selector.selectedKeys().clear();
  }

  /** Returns the answers of this rank. Any thread may ask. */
  private synchronized StatusAnswer answer() {
    if (answer == null) {
      answer = new StatusAnswer(settings, roster, source, joinedNanos);
    }
    return answer;
  }

  /** Ends it and deletes its socket. Closing again does nothing. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    ServerSocketChannel opened;
    Path path;
    synchronized (this) {
      opened = server;
      path = socket;
      server = null;
      socket = null;
    }
    try {
      if (opened != null) {
        opened.close();
      }
      if (path != null) {
        Files.deleteIfExists(path);
      }
    } catch (IOException e) {
      LOG.debug("rank {} cannot delete its status socket", settings.rank(), e);
    }
  }
}
