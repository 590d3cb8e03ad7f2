package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.internal.Log;
import io.collectives.internal.RefusalLog;
import io.collectives.netty.RendezvousWire.Side;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
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
 * Rank 0's side of the rendezvous. It is a state machine: it waits for nothing and asks no clock.
 * Its driver calls {@link #tick} by {@link #nextNanos} at the latest, and gives it the connections
 * that are accepted as long as it {@link #hasRoom}.
 *
 * <p>A connection is a visitor until it has announced itself, for which it has {@link
 * #ANNOUNCE_NANOS}; it is registered as its rank while it waits for the others; and it leaves when
 * it has got its answer, the roster or a refusal. With a job secret a visitor is not registered
 * before it has proved that it knows it, see {@link RendezvousWire}. A rank whose connection ends
 * is registered no more, so that a process that was started again can take its place; if none comes
 * within the limit of silence, the rendezvous fails for all and names the lost rank.
 *
 * <p>Each rank says how long it will wait. When the first of these times is over, or rank 0's own,
 * the job cannot become complete any more, and all ranks that wait are told which ones are missing.
 */
final class RendezvousServer {
  static final Log LOG = Log.of(RendezvousServer.class);

  /** The limit of open connections that are not registered. */
  static final int VISITOR_LIMIT = 64;

  private static final long ANNOUNCE_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final RendezvousTerms terms;
  private final Announcement me;
  private final long deadline;
  private final RefusalLog refusals;
  private final @Nullable Visitor[] registered;
  private final List<Visitor> visitors = new ArrayList<>();

  /**
   * The ranks whose connection ended while others were still missing, each with the time of the
   * end.
   */
  private final Map<Announcement, Long> lost = new LinkedHashMap<>();

  private @Nullable String lastRefusal;
  private @Nullable Roster roster;
  private @Nullable JoinException failure;

  /** The time until which rank 0 waits for the ranks that have not taken their answer yet. */
  private long answersUntil;

  /**
   * Creates the side of a rank 0 that begins to wait now.
   *
   * @param refusals the log of refused ranks
   */
  RendezvousServer(RendezvousTerms terms, RefusalLog refusals, long now) {
    this.refusals = refusals;
    this.terms = terms;
    this.me = terms.me();
    deadline = terms.deadline(now);
    registered = new Visitor[me.size()];
  }

  // ------------------------------------------------------------------ driving

  /** Returns whether another connection may be accepted. */
  boolean hasRoom() {
    return isGathering()
        && visitors.stream().filter(v -> !v.isRegistered()).count() < VISITOR_LIMIT;
  }

  /** Takes over a connection that was accepted. */
  Line.Party admit(Line line) {
    Visitor visitor = new Visitor(line);
    visitors.add(visitor);
    return visitor;
  }

  /** Checks the time, and whether all ranks are here. */
  void tick(long now) {
    if (!isGathering()) {
      return;
    }
    for (Visitor visitor : List.copyOf(visitors)) {
      if (visitor.deadline - now <= 0 && !visitor.isRegistered()) {
        visitor.close(now);
      }
    }
    if (missing().findAny().isEmpty()) {
      roster = roster();
      byte[] bytes = RendezvousWire.roster(roster);
      dismiss(client -> client.signed(bytes), now);
      return;
    }
    for (Visitor visitor : visitors) {
      if (visitor.deadline - now <= 0) {
        fail(late(visitor.identity().rank()), now);
        return;
      }
    }
    if (deadline - now <= 0) {
      fail(late(0), now);
      return;
    }
    for (Map.Entry<Announcement, Long> gone : lost.entrySet()) {
      if (gone.getValue() + terms.returnNanos() - now <= 0) {
        fail(lost(gone.getKey()), now);
        return;
      }
    }
  }

  /** Returns the time at which {@link #tick} is to be called again, at the latest. */
  long nextNanos() {
    if (!isGathering()) {
      return answersUntil;
    }
    long next = deadline;
    for (Visitor visitor : visitors) {
      next = visitor.deadline - next < 0 ? visitor.deadline : next;
    }
    for (long gone : lost.values()) {
      long end = gone + terms.returnNanos();
      next = end - next < 0 ? end : next;
    }
    return next;
  }

  /** Returns whether ranks are still awaited. */
  boolean isGathering() {
    return roster == null && failure == null;
  }

  /** Returns whether all ranks have got their answers, or will not get them any more. */
  boolean isOver(long now) {
    return !isGathering()
        && (answersUntil - now <= 0
            || Arrays.stream(registered).noneMatch(client -> client != null && client.isHere()));
  }

  /** Ends it with an error, which all ranks that wait are told. */
  void fail(JoinException why, long now) {
    if (isGathering()) {
      failure = why;
      byte[] refusal = RendezvousWire.refusal(String.valueOf(why.getMessage()));
      dismiss(client -> refusal, now);
    }
  }

  /** Closes all that is open. */
  void close(long now) {
    List.copyOf(visitors).forEach(visitor -> visitor.close(now));
    refusals.end();
  }

  /**
   * Returns the result of the rendezvous.
   *
   * @throws JoinException if it has failed
   */
  Roster result() {
    if (failure != null) {
      throw failure;
    }
    if (roster == null) {
      throw new IllegalStateException("not over yet");
    }
    return roster;
  }

  // ------------------------------------------------------------------ deciding

  private Roster roster() {
    List<String> addresses = new ArrayList<>();
    for (Visitor client : registered) {
      addresses.add(client == null ? me.address() : client.identity().address());
    }
    return new Roster(JobEpoch.draw(), addresses);
  }

  /** Gives their answer to all ranks that wait. */
  private void dismiss(Function<Visitor, byte[]> answer, long now) {
    answersUntil = now + RendezvousTerms.GRACE_NANOS;
    for (Visitor client : registered) {
      if (client != null) {
        client.answer(answer.apply(client));
      }
    }
  }

  private IntStream missing() {
    return IntStream.range(1, me.size()).filter(rank -> registered[rank] == null);
  }

  private JoinException lost(Announcement gone) {
    return new JoinException(
        who(gone)
            + " came to "
            + terms.place()
            + ", where job \""
            + me.job()
            + "\" meets, and was lost: its process has ended or its connection broke, and within "
            + TimeUnit.NANOSECONDS.toMillis(terms.returnNanos())
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
            + terms.place()
            + ", where "
            + (me.size() - count)
            + " of "
            + me.size()
            + " ranks of job \""
            + me.job()
            + "\" are; rank "
            + hurry
            + " waits no longer (rank 0 waits "
            + terms.timeout().toMillis()
            + " ms): start what is missing, or raise the join timeout"
            + (lastRefusal == null ? "" : "; the last one refused: " + lastRefusal));
  }

  /**
   * Returns the reason for which a rank may not even prove that it knows the secret, in words for
   * it; null if it may.
   */
  private @Nullable String firstObjection(RendezvousWire.Client arrived) {
    Announcement client = arrived.announcement();
    if (client.version() != me.version()) {
      return "rank 0 at "
          + terms.place()
          + " speaks protocol version "
          + me.version()
          + ", this rank "
          + client.version();
    }
    if (arrived.hasSecret() != (terms.secret() != null)) {
      return who(client)
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

  private static String who(Announcement client) {
    return "rank " + client.rank() + " (" + client.whereabouts() + ")";
  }

  /**
   * Returns the reason for which an announced rank is refused, in words for it; null if it is
   * accepted.
   */
  private @Nullable String objection(Announcement client) {
    String who = who(client);
    if (!client.job().equals(me.job())) {
      return who
          + " belongs to job \""
          + client.job()
          + "\", but at "
          + terms.place()
          + " meets job \""
          + me.job()
          + "\"";
    }
    if (client.size() != me.size()) {
      return who
          + " expects "
          + client.size()
          + " ranks in job \""
          + me.job()
          + "\", rank 0 ("
          + me.whereabouts()
          + ") "
          + me.size();
    }
    if (!client.transport().equals(me.transport())) {
      return who
          + " uses transport "
          + client.transport()
          + ", rank 0 ("
          + me.whereabouts()
          + ") "
          + me.transport();
    }
    if (client.rank() < 0 || client.rank() >= me.size()) {
      return who + " is not one of the " + me.size() + " ranks of job \"" + me.job() + "\"";
    }
    Visitor holder = registered[client.rank()];
    if (client.rank() == 0 || holder != null) {
      return "rank "
          + client.rank()
          + " of job \""
          + me.job()
          + "\" is "
          + (holder == null ? me : holder.identity()).whereabouts()
          + " already; "
          + client.whereabouts()
          + " must take another rank";
    }
    return null;
  }

  /** A connection that was accepted. */
  private final class Visitor implements Line.Party {
    private final Line line;
    private final ByteBuffer received =
        ByteBuffer.allocate(RendezvousWire.ANNOUNCEMENT_LIMIT + RendezvousWire.HMAC_LENGTH);

    /**
     * The time by which it must have announced itself; after that, the time until which its rank
     * waits.
     */
    private long deadline;

    private byte @Nullable [] announcement; // When it is whole.
    private byte @Nullable [] nonce; // When it has to prove that it knows the secret.
    private @Nullable Announcement identity; // When it is registered.
    private boolean leaving;
    private boolean gone;

    Visitor(Line line) {
      this.line = line;
    }

    @Override
    public void connected(long now) {
      deadline = now + ANNOUNCE_NANOS;
    }

    boolean isRegistered() {
      return identity != null && registered[identity.rank()] == this;
    }

    boolean isHere() {
      return !gone;
    }

    Announcement identity() {
      if (identity == null) {
        throw new IllegalStateException("not announced yet");
      }
      return identity;
    }

    /**
     * Returns the capacity for an announcement and a proof; behind these only the end of the
     * connection may come.
     */
    @Override
    public int room() {
      if (announcement == null) {
        return RendezvousWire.ANNOUNCEMENT_LIMIT - received.position();
      }
      int left = announcement.length + RendezvousWire.HMAC_LENGTH - received.position();
      return nonce != null && identity == null && !leaving ? left : 1;
    }

    @Override
    public void received(ByteBuffer bytes, long now) {
      if (leaving) {
        bytes.position(bytes.limit());
        return;
      }
      try {
        if (identity != null) {
          throw new ProtocolException("it said something when it had to wait");
        }
        received.put(bytes);
        hear(now);
        if (announcement == null && room() == 0) {
          throw new ProtocolException("an announcement that is too long");
        }
      } catch (ProtocolException e) {
        LOG.debug("closed a connection to {}: {}", terms.place(), e.getMessage());
        close(now);
      }
    }

    @Override
    public void ended(@Nullable IOException why, long now) {
      close(now);
    }

    /** Handles more bytes of a visitor. */
    private void hear(long now) {
      JobSecret secret = terms.secret();
      if (announcement == null) {
        if (!RendezvousWire.isComplete(received)) {
          return;
        }
        RendezvousWire.Client arrived = RendezvousWire.readAnnouncement(received, me.version());
        announcement = Arrays.copyOf(received.array(), received.position());
        String objection = firstObjection(arrived);
        if (objection != null) {
          refuse(objection);
        } else if (secret == null) {
          announced(arrived, now);
        } else {
          nonce = terms.nonce();
          line.send(RendezvousWire.challenge(nonce));
        }
      } else if (secret != null && nonce != null) {
        int from = announcement.length;
        if (received.position() >= from + RendezvousWire.HMAC_LENGTH) {
          RendezvousWire.Client arrived =
              RendezvousWire.readAnnouncement(received.duplicate().position(from), me.version());
          byte[] found = Arrays.copyOfRange(received.array(), from, received.position());
          byte[] expected =
              RendezvousWire.hmac(secret, Side.CLIENT, announcement, nonce, new byte[0]);
          if (MessageDigest.isEqual(expected, found)) {
            announced(arrived, now);
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

    private void announced(RendezvousWire.Client arrived, long now) {
      Announcement announced = arrived.announcement();
      String objection = objection(announced);
      if (objection != null) {
        refuse(objection);
        return;
      }
      identity = announced;
      registered[announced.rank()] = this;
      lost.keySet().removeIf(gone -> gone.rank() == announced.rank());
      deadline = now + TimeUnit.MILLISECONDS.toNanos(arrived.patienceMillis());
      LOG.debug(
          "{} has come to {}; {} are missing", who(announced), terms.place(), missing().count());
    }

    private void refuse(String objection) {
      refusals.warn("refused: {}", objection);
      lastRefusal = objection;
      answer(RendezvousWire.refusal(objection));
    }

    /**
     * Returns a roster, with a proof for this rank that it is the right one if there is a secret.
     */
    byte[] signed(byte[] roster) {
      JobSecret secret = terms.secret();
      if (secret == null || announcement == null || nonce == null) {
        return roster;
      }
      byte[] hmac = RendezvousWire.hmac(secret, Side.SERVER, announcement, nonce, roster);
      return ByteBuffer.allocate(roster.length + hmac.length).put(roster).put(hmac).array();
    }

    void answer(byte[] bytes) {
      leaving = true;
      line.send(bytes);
      line.finish();
    }

    /** Ends the connection, unless it has ended already. */
    void close(long now) {
      line.close();
      if (!gone && isRegistered() && isGathering()) {
        registered[identity().rank()] = null;
        lost.put(identity(), now);
      }
      gone = true;
      visitors.remove(this);
    }
  }
}
