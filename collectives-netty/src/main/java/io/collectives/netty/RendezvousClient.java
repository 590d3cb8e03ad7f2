package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.netty.RendezvousWire.Side;
import io.collectives.spi.Roster;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The side of the rendezvous of any rank but 0. It tries to reach rank 0 until its time is over, as
 * rank 0 may start later.
 *
 * <p>A state machine: it waits for nothing and asks no clock. Whoever drives it calls {@link #tick}
 * by {@link #nextNanos} at the latest, and {@link #dials} as long as it {@link #wantsLine}.
 */
final class RendezvousClient implements Line.Party {
  private static final long RETRY_FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long RETRY_MOST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /**
   * With less, an attempt fails because of this process's scheduling, not because of rank 0's host.
   */
  private static final long CONNECT_LEAST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The number of bytes that are read at once. */
  private static final int READ_LENGTH = 16 * 1024;

  private final RendezvousTerms terms;
  private final boolean asksOnce;
  private final long deadline;

  /** The time at which rank 0 has had all the time for its answer. */
  private final long end;

  private @Nullable Line line;
  private boolean connected;

  /** The time at which the present attempt to connect is given up. */
  private long connectUntil;

  private long retryAt;
  private long retryNanos = RETRY_FIRST_NANOS;

  private byte[] announcement = {};
  private ByteArrayOutputStream answer = new ByteArrayOutputStream();
  private byte @Nullable [] nonce; // The server's, when it has asked for a proof.

  /** The time at which the connection to a rank 0 was last lost. */
  private @Nullable Long metNanos;

  private @Nullable Roster roster;
  private @Nullable JoinException failure;
  private boolean refused;

  private RendezvousClient(RendezvousTerms terms, long now, long deadline, boolean asksOnce) {
    this.terms = terms;
    this.asksOnce = asksOnce;
    this.deadline = deadline;
    this.end = deadline + RendezvousTerms.GRACE_NANOS;
    this.retryAt = now;
  }

  /** Creates the client of a rank that joins now. */
  static RendezvousClient coming(RendezvousTerms terms, long now) {
    return new RendezvousClient(terms, now, terms.deadline(now), false);
  }

  /**
   * Creates the client of a rank 0 that finds its port taken, and asks once which process is there:
   * if it is another rank 0 it says so.
   */
  static RendezvousClient asking(RendezvousTerms terms, long now) {
    return new RendezvousClient(terms, now, now, true);
  }

  // ------------------------------------------------------------------ driving

  /** Returns whether this rank is to be connected now. */
  boolean wantsLine(long now) {
    return !isOver() && line == null && now - retryAt >= 0;
  }

  /** Notes that a connection is being made for this rank, by this line. */
  void dials(Line attempt, long now) {
    line = attempt;
    connected = false;
    connectUntil = Math.max(deadline - now, CONNECT_LEAST_NANOS) + now;
  }

  /** Checks the time. */
  void tick(long now) {
    if (isOver() || line == null) {
      return;
    }
    if (!connected && now - connectUntil >= 0) {
      lose(new ConnectException("no connection in time"), now);
    } else if (now - end >= 0) {
      lose(new EOFException("no whole answer in time"), now);
    }
  }

  /** Returns the time at which {@link #tick} is to be called again, at the latest. */
  long nextNanos() {
    if (line == null) {
      return retryAt;
    }
    return !connected && connectUntil - end < 0 ? connectUntil : end;
  }

  /** Ends it with an error. */
  void giveUp(JoinException why) {
    if (!isOver()) {
      failure = why;
    }
    hangUp();
  }

  boolean isOver() {
    return roster != null || failure != null;
  }

  /** Returns whether the process that listens has refused this rank, in words of its own. */
  boolean isRefused() {
    return refused;
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

  // ------------------------------------------------------------------ the line

  @Override
  public void connected(long now) {
    connected = true;
    nonce = null;
    answer = new ByteArrayOutputStream();
    long patience = TimeUnit.NANOSECONDS.toMillis(Math.max(deadline - now, 0));
    announcement =
        RendezvousWire.announcement(
            terms.me(),
            (int) Math.min(patience, Integer.MAX_VALUE),
            terms.secret() == null ? null : terms.nonce());
    send(announcement);
  }

  @Override
  public int room() {
    return READ_LENGTH;
  }

  @Override
  public void received(ByteBuffer bytes, long now) {
    while (bytes.hasRemaining()) {
      answer.write(bytes.get());
    }
    try {
      hear();
    } catch (EOFException e) {
      // The rest is still to come.
    } catch (JoinException e) {
      refused = true;
      giveUp(e);
    } catch (ProtocolException | IOException e) {
      giveUp(
          new JoinException(
              "at " + terms.place() + " is no rank 0 of a job: " + e.getMessage(), e));
    }
  }

  @Override
  public void ended(@Nullable IOException why, long now) {
    if (!isOver() && line != null) {
      lose(why != null ? why : new EOFException("the connection was closed"), now);
    }
  }

  /**
   * Reads the answer, or as much as there is of it.
   *
   * @throws EOFException if that is not all
   */
  private void hear() throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(answer.toByteArray()));
    JobSecret secret = terms.secret();
    int size = terms.me().size();
    if (secret == null) {
      met(RendezvousWire.readAnswer(in, size));
      return;
    }
    byte[] theirs = RendezvousWire.readChallenge(in);
    if (nonce == null) {
      nonce = theirs;
      send(RendezvousWire.hmac(secret, Side.CLIENT, announcement, theirs, new byte[0]));
    }
    Roster told = RendezvousWire.readAnswer(in, size);
    byte[] found = new byte[RendezvousWire.HMAC_LENGTH];
    in.readFully(found);
    byte[] expected =
        RendezvousWire.hmac(secret, Side.SERVER, announcement, theirs, RendezvousWire.roster(told));
    if (!MessageDigest.isEqual(expected, found)) {
      throw new ProtocolException("whoever listens there does not know the job secret");
    }
    met(told);
  }

  private void met(Roster told) {
    roster = told;
    hangUp();
  }

  private void send(byte[] bytes) {
    if (line != null) {
      line.send(bytes);
    }
  }

  private void hangUp() {
    if (line != null) {
      line.close();
      line = null;
    }
  }

  /** Gives up the present attempt, which has failed; there may be another one. */
  private void lose(IOException why, long now) {
    hangUp();
    if (connected) {
      metNanos = now;
    }
    if (metNanos != null && now - metNanos >= terms.returnNanos()) {
      failure =
          new JoinException(
              "rank 0 of job \""
                  + terms.me().job()
                  + "\" was met by rank "
                  + terms.me().rank()
                  + " at "
                  + terms.place()
                  + ", and was lost: its process has ended or its connection broke, and within "
                  + TimeUnit.NANOSECONDS.toMillis(terms.returnNanos())
                  + " ms nobody has taken its place; start all ranks again",
              why);
    } else if (asksOnce || now - deadline >= 0) {
      failure =
          new JoinException(
              "rank "
                  + terms.me().rank()
                  + " of job \""
                  + terms.me().job()
                  + "\" met nobody at "
                  + terms.place()
                  + " within "
                  + terms.timeout().toMillis()
                  + " ms: "
                  + reason(why)
                  + "; rank 0 must be started with the same address",
              why);
    } else {
      retryAt = now + Math.min(retryNanos, deadline - now);
      retryNanos = Math.min(2 * retryNanos, RETRY_MOST_NANOS);
    }
  }

  private String reason(IOException why) {
    String details = " (" + why.getMessage() + ")";
    if (why instanceof UnknownHostException) {
      return "no such host" + details;
    }
    return (connected ? "whoever listens there gave no answer" : "nobody listens there") + details;
  }
}
