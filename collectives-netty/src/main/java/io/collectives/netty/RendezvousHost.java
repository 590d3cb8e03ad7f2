package io.collectives.netty;

import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.net.BindException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rank 0's side of a meeting: one selector, on the thread that meets.
 *
 * <p>A connection is a visitor until it has announced itself, for which it has {@link
 * #ANNOUNCE_SECONDS}; a guest with a seat while it waits for the others; and a leaver when it has
 * got its answer, the roster or a refusal. A guest whose connection ends gives its seat back, so
 * that a process that was started again can have it.
 *
 * <p>Each guest says how long it will wait. When the first of these times is over, or rank 0's own,
 * the job cannot become complete any more, and all who wait are told which ranks are missing.
 */
final class RendezvousHost {
  private static final Logger LOG = LoggerFactory.getLogger(RendezvousHost.class);

  private static final int ANNOUNCE_SECONDS = 5;
  private static final int VISITOR_LIMIT = 64;
  private static final long FAREWELL_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final TcpRendezvous place;
  private final Announcement me;
  private final Duration timeout;
  private final long deadline;
  private final @Nullable Visitor[] seats;
  private final List<Visitor> visitors = new ArrayList<>();

  RendezvousHost(TcpRendezvous place, Announcement me, Duration timeout, long deadline) {
    this.place = place;
    this.me = me;
    this.timeout = timeout;
    this.deadline = deadline;
    seats = new Visitor[me.size()];
  }

  Roster meet() {
    try (Selector selector = Selector.open()) {
      place.onClose(selector::wakeup);
      JoinException failure = gather(selector);
      if (failure != null) {
        dismiss(selector, RendezvousWire.refusal(String.valueOf(failure.getMessage())));
        throw failure;
      }
      Roster roster = roster();
      dismiss(selector, RendezvousWire.roster(roster));
      return roster;
    } catch (IOException e) {
      throw new JoinException(
          "rank 0 of job \""
              + me.job()
              + "\" cannot go on meeting at "
              + place
              + ": "
              + e.getMessage(),
          e);
    } finally {
      place.onClose(() -> {});
      List.copyOf(visitors).forEach(Visitor::close);
    }
  }

  /**
   * Waits until all have come; returns what went wrong, if anything did. Who comes after that finds
   * nobody.
   */
  private @Nullable JoinException gather(Selector selector) throws IOException {
    try (ServerSocketChannel server = ServerSocketChannel.open()) {
      listen(server);
      SelectionKey key = server.register(selector, SelectionKey.OP_ACCEPT);
      while (missing().findAny().isPresent()) {
        long now = System.nanoTime();
        if (place.isClosed()) {
          return place.closed(me);
        }
        if (Thread.currentThread().isInterrupted()) {
          return place.interrupted(me);
        }
        long next = deadline;
        for (Visitor visitor : List.copyOf(visitors)) {
          if (visitor.deadline - now <= 0 && visitor.hasSeat()) {
            return late(visitor.guest().rank());
          } else if (visitor.deadline - now <= 0) {
            visitor.close();
          } else if (visitor.deadline - next < 0) {
            next = visitor.deadline;
          }
        }
        if (deadline - now <= 0) {
          return late(0);
        }
        key.interestOps(visitors.size() < VISITOR_LIMIT + me.size() ? SelectionKey.OP_ACCEPT : 0);
        selector.select(this::handle, TimeUnit.NANOSECONDS.toMillis(next - now) + 1);
        accept(selector, server);
      }
    }
    return null;
  }

  private void listen(ServerSocketChannel server) {
    try {
      server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      server.configureBlocking(false);
      server.bind(place.address(), Math.max(128, me.size()));
    } catch (IOException e) {
      if (e instanceof BindException) {
        new RendezvousGuest(place, me, timeout, deadline).askWhoIsThere();
      }
      throw new JoinException(
          "rank 0 of job \""
              + me.job()
              + "\" cannot listen at "
              + place
              + ": "
              + e.getMessage()
              + "; the address must be one of rank 0's host, and its port free",
          e);
    }
  }

  private void handle(SelectionKey key) {
    if (key.attachment() instanceof Visitor visitor) {
      visitor.handle();
    }
  }

  private void accept(Selector selector, ServerSocketChannel server) throws IOException {
    while (visitors.size() < VISITOR_LIMIT + me.size()) {
      SocketChannel channel = server.accept();
      if (channel == null) {
        return;
      }
      channel.configureBlocking(false);
      visitors.add(new Visitor(channel, selector));
    }
  }

  private Roster roster() {
    List<String> addresses = new ArrayList<>();
    for (Visitor seat : seats) {
      addresses.add(seat == null ? me.address() : seat.guest().address());
    }
    return new Roster(JobEpoch.draw(), addresses);
  }

  /** Gives the same answer to all who wait. */
  private void dismiss(Selector selector, byte[] answer) throws IOException {
    for (Visitor seat : seats) {
      if (seat != null) {
        seat.answer(answer);
      }
    }
    long end = System.nanoTime() + FAREWELL_NANOS;
    while (visitors.stream().anyMatch(Visitor::isLeaving) && end - System.nanoTime() > 0) {
      selector.select(this::handle, 100);
    }
  }

  private IntStream missing() {
    return IntStream.range(1, me.size()).filter(rank -> seats[rank] == null);
  }

  private JoinException late(int hurry) {
    long count = missing().count();
    String ranks =
        missing().limit(16).mapToObj(Integer::toString).collect(Collectors.joining(", "));
    return new JoinException(
        (count == 1
                ? "rank " + ranks + " has"
                : "ranks " + ranks + (count > 16 ? ", … (" + count + ")" : "") + " have")
            + " not come to "
            + place
            + ", where "
            + (me.size() - count)
            + " of "
            + me.size()
            + " ranks of job \""
            + me.job()
            + "\" are; rank "
            + hurry
            + " waits no longer (rank 0 waits "
            + timeout.toMillis()
            + " ms): start what is missing, or raise the join timeout");
  }

  /** What keeps an announced rank out, in words for it; nothing if it may take its seat. */
  private @Nullable String objection(Announcement guest) {
    if (guest.version() != me.version()) {
      return "rank 0 at "
          + place
          + " speaks protocol version "
          + me.version()
          + ", this rank "
          + guest.version();
    }
    String who = "rank " + guest.rank() + " (" + guest.whereabouts() + ")";
    if (!guest.job().equals(me.job())) {
      return who
          + " belongs to job \""
          + guest.job()
          + "\", but at "
          + place
          + " meets job \""
          + me.job()
          + "\"";
    }
    if (guest.size() != me.size()) {
      return who
          + " expects "
          + guest.size()
          + " ranks in job \""
          + me.job()
          + "\", rank 0 ("
          + me.whereabouts()
          + ") "
          + me.size();
    }
    if (!guest.transport().equals(me.transport())) {
      return who
          + " uses transport "
          + guest.transport()
          + ", rank 0 ("
          + me.whereabouts()
          + ") "
          + me.transport();
    }
    if (guest.rank() < 0 || guest.rank() >= me.size()) {
      return who + " is not one of the " + me.size() + " ranks of job \"" + me.job() + "\"";
    }
    Visitor holder = seats[guest.rank()];
    if (guest.rank() == 0 || holder != null) {
      return "rank "
          + guest.rank()
          + " of job \""
          + me.job()
          + "\" is "
          + (holder == null ? me : holder.guest()).whereabouts()
          + " already; "
          + guest.whereabouts()
          + " must take another rank";
    }
    return null;
  }

  /** Somebody's connection. */
  private final class Visitor {
    private final SocketChannel channel;
    private final SelectionKey key;
    private final ByteBuffer received = ByteBuffer.allocate(RendezvousWire.ANNOUNCEMENT_LIMIT);

    /** When it must have announced itself; after that, when its patience ends. */
    private long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(ANNOUNCE_SECONDS);

    private @Nullable Announcement guest;
    private @Nullable ByteBuffer answer;

    Visitor(SocketChannel channel, Selector selector) throws IOException {
      this.channel = channel;
      key = channel.register(selector, SelectionKey.OP_READ, this);
    }

    boolean hasSeat() {
      return guest != null && seats[guest.rank()] == this;
    }

    boolean isLeaving() {
      return answer != null;
    }

    Announcement guest() {
      if (guest == null) {
        throw new IllegalStateException("not announced yet");
      }
      return guest;
    }

    void handle() {
      try {
        if (answer != null) {
          channel.write(answer);
          if (!answer.hasRemaining()) {
            close();
          }
        } else if (!received.hasRemaining() || channel.read(received) < 0) {
          close(); // It says too much, or has gone.
        } else if (guest == null && RendezvousWire.isComplete(received)) {
          announced(RendezvousWire.readAnnouncement(received, me.version()));
        }
      } catch (ProtocolException | IOException e) {
        LOG.debug("closed a connection to {}: {}", place, e.getMessage());
        close();
      }
    }

    private void announced(RendezvousWire.Guest arrived) {
      Announcement announcement = arrived.announcement();
      String objection = objection(announcement);
      if (objection != null) {
        LOG.warn("refused: {}", objection);
        answer(RendezvousWire.refusal(objection));
        return;
      }
      guest = announcement;
      seats[announcement.rank()] = this;
      deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(arrived.patienceMillis());
    }

    void answer(byte[] bytes) {
      answer = ByteBuffer.wrap(bytes);
      key.interestOps(SelectionKey.OP_WRITE);
      handle();
    }

    void close() {
      if (hasSeat() && guest != null) {
        seats[guest.rank()] = null;
      }
      visitors.remove(this);
      answer = null;
      try {
        channel.close();
      } catch (IOException e) {
        LOG.debug("closing a connection to {}", place, e);
      }
    }
  }
}
