package io.collectives.netty;

import io.collectives.JoinException;
import io.collectives.internal.HostNames;
import io.collectives.internal.Log;
import io.collectives.internal.RefusalLog;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The driver of one side of the rendezvous over the JDK's sockets: one selector, on the thread that
 * joins, which is the only thing that this thread waits for. It looks at the time whenever
 * something comes, and at the latest when the side that it drives wants to.
 */
final class RendezvousSockets implements AutoCloseable {
  private static final Log LOG = Log.of(RendezvousSockets.class);
  private static final long LOOK_UP_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final TcpRendezvous place;
  private final RendezvousTerms terms;
  private final Selector selector = Selector.open();
  private final ByteBuffer landing = ByteBuffer.allocate(16 * 1024);
  private final List<SocketLine> lines = new ArrayList<>();
  private @Nullable CompletableFuture<InetAddress> lookUp; // Not looked at yet.

  RendezvousSockets(TcpRendezvous place, RendezvousTerms terms) throws IOException {
    this.place = place;
    this.terms = terms;
    place.onClose(selector::wakeup);
  }

  // ------------------------------------------------------------------ rank 0

  /** Waits for all others. */
  Roster serve() throws IOException {
    RendezvousServer server =
        new RendezvousServer(terms, new RefusalLog(RendezvousServer.LOG), System.nanoTime());
    try {
      try (ServerSocketChannel listener = ServerSocketChannel.open()) {
        if (listen(listener, server)) {
          gather(listener, server);
        }
      }
      awaitAnswers(server);
      return server.result();
    } finally {
      server.close(System.nanoTime());
    }
  }

  /** Waits until the answers have left. An interrupt has been heard already, and is kept. */
  private void awaitAnswers(RendezvousServer server) throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      for (long now = System.nanoTime(); !server.isOver(now); now = System.nanoTime()) {
        select(server.nextNanos(), now);
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void gather(ServerSocketChannel listener, RendezvousServer server) throws IOException {
    SelectionKey key = listener.register(selector, SelectionKey.OP_ACCEPT);
    while (true) {
      long now = System.nanoTime();
      JoinException stop = stop();
      if (stop != null) {
        server.fail(stop, now);
      }
      server.tick(now);
      if (!server.isGathering()) {
        return;
      }
      key.interestOps(server.hasRoom() ? SelectionKey.OP_ACCEPT : 0);
      select(server.nextNanos(), now);
      while (server.hasRoom()) {
        SocketChannel channel = listener.accept();
        if (channel == null) {
          break;
        }
        accept(channel, server);
      }
    }
  }

  private void accept(SocketChannel channel, RendezvousServer server) throws IOException {
    SocketLine line = new SocketLine(channel);
    line.party = server.admit(line);
    line.party.connected(System.nanoTime());
    line.register(SelectionKey.OP_READ);
  }

  /** Begins to listen; returns false if the rendezvous has ended before. */
  private boolean listen(ServerSocketChannel listener, RendezvousServer server) throws IOException {
    try {
      while (true) {
        long now = System.nanoTime();
        JoinException stop = stop();
        if (stop != null) {
          server.fail(stop, now);
          return false;
        }
        InetAddress address;
        try {
          address = lookedUp();
        } catch (UnknownHostException e) {
          // Under Kubernetes a pod runs before a name server knows it.
          if (now + LOOK_UP_PAUSE_NANOS - server.nextNanos() >= 0) {
            throw e;
          }
          select(now + LOOK_UP_PAUSE_NANOS, now);
          continue;
        }
        if (address != null) {
          listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
          listener.configureBlocking(false);
          listener.bind(place.at(address), Math.max(128, terms.me().size()));
          return true;
        }
        if (now - server.nextNanos() >= 0) {
          throw noAnswerFromResolver();
        }
        select(server.nextNanos(), now);
      }
    } catch (IOException e) {
      if (e instanceof BindException) {
        RendezvousClient asking = RendezvousClient.asking(terms, System.nanoTime());
        run(asking);
        if (asking.isRefused()) {
          asking.result();
        }
      }
      throw new JoinException(
          "rank 0 of job \""
              + terms.me().job()
              + "\" cannot listen at "
              + place
              + ": "
              + e.getMessage()
              + "; the address must be one of rank 0's host, and its port free",
          e);
    }
  }

  // ------------------------------------------------------------------ the other ranks

  /** Joins rank 0. */
  Roster join() throws IOException {
    RendezvousClient client = RendezvousClient.coming(terms, System.nanoTime());
    run(client);
    return client.result();
  }

  private void run(RendezvousClient client) throws IOException {
    while (true) {
      long now = System.nanoTime();
      JoinException stop = stop();
      if (stop != null) {
        client.giveUp(stop);
      }
      if (client.wantsLine(now)) {
        SocketLine line = new SocketLine(SocketChannel.open());
        line.party = client;
        client.dials(line, now);
        line.dial();
      }
      for (SocketLine line : List.copyOf(lines)) {
        if (line.key == null && now - client.nextNanos() >= 0) {
          line.ended(noAnswerFromResolver(), now);
        }
      }
      client.tick(now);
      if (client.isOver()) {
        return;
      }
      select(client.nextNanos(), now);
    }
  }

  // ------------------------------------------------------------------ waiting

  /** Returns the reason for which the user wants no rendezvous any more, if so. */
  private @Nullable JoinException stop() {
    if (place.isClosed()) {
      return terms.closed();
    }
    return Thread.currentThread().isInterrupted() ? terms.interrupted() : null;
  }

  /** Waits until something comes, or for a time, and handles it. */
  private void select(long until, long now) throws IOException {
    for (SocketLine line : List.copyOf(lines)) {
      line.dial();
    }
    selector.select(
        key -> {
          if (key.attachment() instanceof SocketLine line) {
            line.handle(System.nanoTime());
          }
        },
        Math.max(TimeUnit.NANOSECONDS.toMillis(until - now), 0) + 1);
  }

  /** Returns the address of rank 0's host, if it is known; begins to look it up if nobody does. */
  private @Nullable InetAddress lookedUp() throws UnknownHostException {
    CompletableFuture<InetAddress> present = lookUp;
    if (present == null) {
      present = place.lookUp();
      lookUp = present;
      present.whenComplete((address, failure) -> selector.wakeup());
    }
    if (!present.isDone()) {
      return null;
    }
    lookUp = null;
    try {
      return present.join();
    } catch (CompletionException e) {
      throw HostNames.unknown(place.host(), e);
    }
  }

  private UnknownHostException noAnswerFromResolver() {
    return new UnknownHostException(place.host() + ": the resolver of this host gives no answer");
  }

  @Override
  public void close() throws IOException {
    place.onClose(() -> {});
    List.copyOf(lines).forEach(SocketLine::close);
    selector.close();
  }

  /** A line over a socket. */
  private final class SocketLine implements Line {
    private final SocketChannel channel;
    private final Queue<ByteBuffer> unsent = new ArrayDeque<>();
    private @Nullable SelectionKey key;
    private Line.@Nullable Party party;
    private boolean finishing;

    SocketLine(SocketChannel channel) throws IOException {
      this.channel = channel;
      channel.configureBlocking(false);
      lines.add(this);
    }

    void register(int interest) throws IOException {
      key = channel.register(selector, interest, this);
    }

    /** Connects, as soon as it is known where to. */
    void dial() {
      if (key != null || !channel.isOpen()) {
        return;
      }
      try {
        InetAddress address = lookedUp();
        if (address != null) {
          register(SelectionKey.OP_CONNECT);
          // Who happens to get rank 0's own port must not keep it from listening there.
          channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
          if (channel.connect(place.at(address))) {
            connected(System.nanoTime());
          }
        }
      } catch (IOException e) {
        ended(e, System.nanoTime());
      }
    }

    void handle(long now) {
      try {
        if (channel.isConnectionPending()) {
          if (channel.finishConnect()) {
            connected(now);
          }
          return;
        }
        write();
        if (channel.isOpen() && key != null && key.isReadable()) {
          read(now);
        }
      } catch (IOException e) {
        ended(e, now);
      }
    }

    private void connected(long now) throws IOException {
      if (channel.getLocalAddress().equals(channel.getRemoteAddress())) {
        // TCP allows it where nobody listens and the port happens to be picked for this end, too.
        // Ended by a reset: otherwise rank 0 could not listen there for a minute.
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
        throw new ConnectException("connected to itself");
      }
      interest();
      if (party != null) {
        party.connected(now);
      }
    }

    private void read(long now) throws IOException {
      Line.Party to = party;
      if (to == null) {
        return;
      }
      landing.clear().limit(Math.min(landing.capacity(), to.room()));
      if (channel.read(landing) < 0) {
        ended(null, now);
      } else {
        to.received(landing.flip(), now);
      }
    }

    @Override
    public void send(byte[] bytes) {
      unsent.add(ByteBuffer.wrap(bytes));
      try {
        write();
      } catch (IOException e) {
        // Reading finds out, too.
        LOG.debug("cannot write to a connection at {}: {}", place, e.getMessage());
        unsent.clear();
      }
    }

    private void write() throws IOException {
      for (ByteBuffer next = unsent.peek(); next != null; next = unsent.peek()) {
        channel.write(next);
        if (next.hasRemaining()) {
          break;
        }
        unsent.remove();
      }
      if (finishing && unsent.isEmpty()) {
        ended(null, System.nanoTime());
      } else {
        interest();
      }
    }

    private void interest() {
      if (key != null && key.isValid()) {
        key.interestOps(
            (finishing ? 0 : SelectionKey.OP_READ)
                | (unsent.isEmpty() ? 0 : SelectionKey.OP_WRITE));
      }
    }

    @Override
    public void finish() {
      finishing = true;
      try {
        write();
      } catch (IOException e) {
        ended(e, System.nanoTime());
      }
    }

    private void ended(@Nullable IOException why, long now) {
      Line.Party told = party;
      close();
      if (told != null) {
        told.ended(why, now);
      }
    }

    @Override
    public void close() {
      party = null;
      lines.remove(this);
      try {
        channel.close();
      } catch (IOException e) {
        LOG.debug("closing a connection to {}", place, e);
      }
    }
  }
}
