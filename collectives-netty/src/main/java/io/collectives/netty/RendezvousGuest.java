package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.netty.RendezvousWire.Side;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Proxy;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A rank that comes to meet rank 0. Tries again until its time is over, as rank 0 may start later.
 */
final class RendezvousGuest {
  private static final int RETRY_FIRST_MILLIS = 10;
  private static final int RETRY_MOST_MILLIS = 500;

  /** With less, an attempt fails because of this process's scheduling, not because of the host. */
  private static final int CONNECT_LEAST_MILLIS = 100;

  /**
   * The host knows how long this rank waits, and answers then; this much later it is taken for
   * dead.
   */
  private static final int GRACE_MILLIS = 2_000;

  private final TcpRendezvous place;
  private final Announcement me;
  private final Duration timeout;
  private final long deadline;

  /** Whether the present connection was made, and this rank has announced itself. */
  private boolean announced;

  /** When a host was last lost that this rank had met. */
  private @Nullable Long metNanos;

  RendezvousGuest(TcpRendezvous place, Announcement me, Duration timeout, long deadline) {
    this.place = place;
    this.me = me;
    this.timeout = timeout;
    this.deadline = deadline;
  }

  Roster meet() {
    int pauseMillis = RETRY_FIRST_MILLIS;
    while (true) {
      IOException failure;
      announced = false;
      try (Socket socket = new Socket(Proxy.NO_PROXY)) {
        place.onClose(() -> close(socket));
        return meet(socket, Long.MAX_VALUE);
      } catch (ProtocolException e) {
        throw new JoinException("at " + place + " is no rank 0 of a job: " + e.getMessage(), e);
      } catch (IOException e) {
        failure = e;
      } finally {
        place.onClose(() -> {});
      }
      if (place.isClosed()) {
        throw place.closed(me);
      }
      if (announced) {
        metNanos = System.nanoTime();
      }
      if (metNanos != null && System.nanoTime() - metNanos >= place.returnNanos()) {
        throw new JoinException(
            "rank 0 of job \""
                + me.job()
                + "\" was met by rank "
                + me.rank()
                + " at "
                + place
                + ", and was lost: its process has ended or its connection broke, and within "
                + TimeUnit.NANOSECONDS.toMillis(place.returnNanos())
                + " ms nobody has taken its place; start all ranks again",
            failure);
      }
      if (leftMillis() <= 0) {
        throw new JoinException(
            "rank "
                + me.rank()
                + " of job \""
                + me.job()
                + "\" met nobody at "
                + place
                + " within "
                + timeout.toMillis()
                + " ms: "
                + reason(failure)
                + "; rank 0 must be started with the same address",
            failure);
      }
      place.pause(me, Math.min(pauseMillis, Math.max(leftMillis(), 1)));
      pauseMillis = Math.min(2 * pauseMillis, RETRY_MOST_MILLIS);
    }
  }

  /**
   * For a rank 0 that finds its port taken: if another rank 0 listens there, it says so.
   *
   * @throws JoinException with that rank's words
   */
  void askWhoIsThere() {
    try (Socket socket = new Socket(Proxy.NO_PROXY)) {
      meet(socket, 0);
    } catch (ProtocolException | IOException e) {
      // Somebody else's port.
    }
  }

  private Roster meet(Socket socket, long mostMillis) throws IOException {
    int connectMillis = clamp(Math.max(leftMillis(), CONNECT_LEAST_MILLIS));
    try {
      socket.connect(place.address(), connectMillis);
    } catch (SocketTimeoutException e) {
      throw new ConnectException("no connection within " + connectMillis + " ms");
    }
    if (socket.getLocalSocketAddress().equals(socket.getRemoteSocketAddress())) {
      // TCP allows it where nobody listens and the port happens to be picked for this end, too.
      throw new ConnectException("connected to itself");
    }
    int patienceMillis = clamp(Math.max(Math.min(leftMillis(), mostMillis), 0));
    JobSecret secret = place.secret();
    byte[] announcement =
        RendezvousWire.announcement(me, patienceMillis, secret == null ? null : place.nonce());
    socket.getOutputStream().write(announcement);
    announced = true;
    socket.setSoTimeout(patienceMillis + GRACE_MILLIS);
    DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    return secret == null
        ? RendezvousWire.readAnswer(in, me.size())
        : prove(socket, in, secret, announcement);
  }

  /** Goes on with a host that knows the secret, too. */
  private Roster prove(Socket socket, DataInputStream in, JobSecret secret, byte[] announcement)
      throws IOException {
    byte[] nonce = RendezvousWire.readChallenge(in);
    socket
        .getOutputStream()
        .write(RendezvousWire.hmac(secret, Side.GUEST, announcement, nonce, new byte[0]));
    Roster roster = RendezvousWire.readAnswer(in, me.size());
    byte[] found = new byte[RendezvousWire.HMAC_LENGTH];
    in.readFully(found);
    byte[] expected =
        RendezvousWire.hmac(secret, Side.HOST, announcement, nonce, RendezvousWire.roster(roster));
    if (!MessageDigest.isEqual(expected, found)) {
      throw new ProtocolException("whoever listens there does not know the job secret");
    }
    return roster;
  }

  private static String reason(IOException failure) {
    String details = " (" + failure.getMessage() + ")";
    if (failure instanceof UnknownHostException) {
      return "no such host" + details;
    } else if (failure instanceof SocketTimeoutException || failure instanceof EOFException) {
      return "whoever listens there gave no answer" + details;
    }
    return "nobody listens there" + details;
  }

  private long leftMillis() {
    return TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
  }

  private static int clamp(long millis) {
    return (int) Math.min(millis, Integer.MAX_VALUE - GRACE_MILLIS);
  }

  private static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // It is of no use any more, closed or not.
    }
  }
}
