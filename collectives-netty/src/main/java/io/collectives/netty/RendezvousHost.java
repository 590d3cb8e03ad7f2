package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.netty.RendezvousWire.Side;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Log;
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
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Rank 0's side of a meeting: one selector, on the thread that meets.
 *
 * <p>A connection is a visitor until it has announced itself, for which it has {@link
 * #ANNOUNCE_SECONDS}; a guest with a seat while it waits for the others; and a leaver when it has
 * got its answer, the roster or a refusal. With a job secret a visitor is no guest before it has
 * proved that it knows it, see {@link RendezvousWire}. A guest whose connection ends gives its seat
 * back, so that a process that was started again can have it; if none comes within the limit of
 * silence, the meeting fails for all and names the lost rank.
 *
 * <p>Each guest says how long it will wait. When the first of these times is over, or rank 0's own,
 * the job cannot become complete any more, and all who wait are told which ranks are missing.
 */
final class RendezvousHost {
  private static final Log LOG = Log.of(RendezvousHost.class);

  /** How many connections may be open that have no seat. */
  static final int VISITOR_LIMIT = 64;

  private static final int ANNOUNCE_SECONDS = 5;
  private static final long FAREWELL_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final TcpRendezvous place;
  private final Announcement me;
  private final Duration timeout;
  private final long deadline;
  private final @Nullable Visitor[] seats;
  private final List<Visitor> visitors = new ArrayList<>();

  /** Guests that have gone while others were still missing, and when. */
  private final Map<Announcement, Long> lost = new LinkedHashMap<>();

  private @Nullable String lastRefusal;

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
        byte[] refusal = RendezvousWire.refusal(String.valueOf(failure.getMessage()));
        dismiss(selector, seat -> refusal);
        throw failure;
      }
      Roster roster = roster();
      byte[] bytes = RendezvousWire.roster(roster);
      dismiss(selector, seat -> seat.signed(bytes));
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
        for (Map.Entry<Announcement, Long> gone : lost.entrySet()) {
          long end = gone.getValue() + place.returnNanos();
          if (end - now <= 0) {
            return lost(gone.getKey());
          } else if (end - next < 0) {
            next = end;
          }
        }
        key.interestOps(strangers() < VISITOR_LIMIT ? SelectionKey.OP_ACCEPT : 0);
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
    while (strangers() < VISITOR_LIMIT) {
      SocketChannel channel = server.accept();
      if (channel == null) {
        return;
      }
      channel.configureBlocking(false);
      visitors.add(new Visitor(channel, selector));
    }
  }

  /** How many are here without a seat. */
  private long strangers() {
    return visitors.stream().filter(visitor -> !visitor.hasSeat()).count();
  }

  private Roster roster() {
    List<String> addresses = new ArrayList<>();
    for (Visitor seat : seats) {
      addresses.add(seat == null ? me.address() : seat.guest().address());
    }
    return new Roster(JobEpoch.draw(), addresses);
  }

  /** Gives their answer to all who wait. */
  private void dismiss(Selector selector, Function<Visitor, byte[]> answer) throws IOException {
    for (Visitor seat : seats) {
      if (seat != null) {
        seat.answer(answer.apply(seat));
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

  private JoinException lost(Announcement gone) {
    return new JoinException(
        who(gone)
            + " came to "
            + place
            + ", where job \""
            + me.job()
            + "\" meets, and was lost: its process has ended or its connection broke, and within "
            + TimeUnit.NANOSECONDS.toMillis(place.returnNanos())
            + " ms nobody has taken its place; start all ranks again");
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
            + " ms): start what is missing, or raise the join timeout"
            + (lastRefusal == null ? "" : "; the last one refused: " + lastRefusal));
  }

  /** What keeps a rank from proving who it is, in words for it; nothing if it may. */
  private @Nullable String firstObjection(RendezvousWire.Guest arrived) {
    Announcement guest = arrived.announcement();
    if (guest.version() != me.version()) {
      return "rank 0 at "
          + place
          + " speaks protocol version "
          + me.version()
          + ", this rank "
          + guest.version();
    }
    if (arrived.hasSecret() != (place.secret() != null)) {
      return who(guest)
          + " has "
          + (arrived.hasSecret() ? "a" : "no")
          + " job secret, rank 0 ("
          + me.whereabouts()
          + ") has "
          + (arrived.hasSecret() ? "none" : "one")
          + ": all ranks need the same, or none (COLLECTIVES_SECRET_FILE)";
    }
    return null;
  }

  private static String who(Announcement guest) {
    return "rank " + guest.rank() + " (" + guest.whereabouts() + ")";
  }

  /** What keeps an announced rank out, in words for it; nothing if it may take its seat. */
  private @Nullable String objection(Announcement guest) {
    String who = who(guest);
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
    private final ByteBuffer received =
        ByteBuffer.allocate(RendezvousWire.ANNOUNCEMENT_LIMIT + RendezvousWire.HMAC_LENGTH);

    /** When it must have announced itself; after that, when its patience ends. */
    private long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(ANNOUNCE_SECONDS);

    private byte @Nullable [] announcement; // When it is whole.
    private byte @Nullable [] nonce; // When it has to prove that it knows the secret.
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
        } else if (guest == null) {
          hear();
        }
      } catch (ProtocolException | IOException e) {
        LOG.debug("closed a connection to {}: {}", place, e.getMessage());
        close();
      }
    }

    /** A stranger has said something more. */
    private void hear() throws IOException {
      JobSecret secret = place.secret();
      if (announcement == null) {
        if (!RendezvousWire.isComplete(received)) {
          return;
        }
        RendezvousWire.Guest arrived = RendezvousWire.readAnnouncement(received, me.version());
        announcement = Arrays.copyOf(received.array(), received.position());
        String objection = firstObjection(arrived);
        if (objection != null) {
          refuse(objection);
        } else if (secret == null) {
          announced(arrived);
        } else {
          nonce = place.nonce();
          ByteBuffer challenge = ByteBuffer.wrap(RendezvousWire.challenge(nonce));
          channel.write(challenge);
          if (challenge.hasRemaining()) {
            close(); // It does not even take a few bytes.
          }
        }
      } else if (secret != null && nonce != null) {
        int from = announcement.length;
        if (received.position() >= from + RendezvousWire.HMAC_LENGTH) {
          RendezvousWire.Guest arrived =
              RendezvousWire.readAnnouncement(received.duplicate().position(from), me.version());
          byte[] found = Arrays.copyOfRange(received.array(), from, received.position());
          byte[] expected =
              RendezvousWire.hmac(secret, Side.GUEST, announcement, nonce, new byte[0]);
          if (MessageDigest.isEqual(expected, found)) {
            announced(arrived);
          } else {
            refuse(
                who(arrived.announcement())
                    + " has another job secret than rank 0 ("
                    + me.whereabouts()
                    + "): all ranks need the same (COLLECTIVES_SECRET_FILE)");
          }
        }
      }
    }

    private void announced(RendezvousWire.Guest arrived) {
      Announcement announced = arrived.announcement();
      String objection = objection(announced);
      if (objection != null) {
        refuse(objection);
        return;
      }
      guest = announced;
      seats[announced.rank()] = this;
      lost.keySet().removeIf(gone -> gone.rank() == announced.rank());
      deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(arrived.patienceMillis());
    }

    private void refuse(String objection) {
      LOG.warn("refused: {}", objection);
      lastRefusal = objection;
      answer(RendezvousWire.refusal(objection));
    }

    /** A roster, with a proof for this guest that it is the right one if there is a secret. */
    byte[] signed(byte[] roster) {
      JobSecret secret = place.secret();
      if (secret == null || announcement == null || nonce == null) {
        return roster;
      }
      byte[] hmac = RendezvousWire.hmac(secret, Side.HOST, announcement, nonce, roster);
      return ByteBuffer.allocate(roster.length + hmac.length).put(roster).put(hmac).array();
    }

    void answer(byte[] bytes) {
      answer = ByteBuffer.wrap(bytes);
      key.interestOps(SelectionKey.OP_WRITE);
      handle();
    }

    void close() {
      if (hasSeat() && guest != null) {
        seats[guest.rank()] = null;
        lost.put(guest, System.nanoTime());
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
