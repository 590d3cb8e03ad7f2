package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.JoinException;
import io.collectives.spi.Rendezvous.Announcement;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a side of the rendezvous by TCP.
 *
 * @param place where the ranks meet, for messages
 * @param me the announcement of this rank
 * @param timeout how long this rank waits for the others
 * @param returnLimit how long a rank that was here and is lost may take to come back, or another in
 *     its place
 * @param secret the job's, if it has one
 * @param random where nonces come from
 */
record RendezvousTerms(
    String place,
    Announcement me,
    Duration timeout,
    Duration returnLimit,
    @Nullable JobSecret secret,
    Random random) {

  /**
   * The time for which an answer may be under way when the time of the rank that waits for it is
   * over: rank 0 knows how long each rank waits, and answers then.
   */
  static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private static final Duration LONGEST = Duration.ofDays(365);

  /**
   * Returns the time at which this rank has waited for long enough, if it has begun {@code now}.
   */
  long deadline(long now) {
    return now + nanos(timeout);
  }

  long returnNanos() {
    return nanos(returnLimit);
  }

  private static long nanos(Duration duration) {
    return (duration.compareTo(LONGEST) > 0 ? LONGEST : duration).toNanos();
  }

  /** Random bytes that are used once. */
  byte[] nonce() {
    byte[] nonce = new byte[RendezvousWire.NONCE_LENGTH];
    random.nextBytes(nonce);
    return nonce;
  }

  JoinException closed() {
    return new JoinException(who() + " gave up meeting at " + place + ": it was closed");
  }

  JoinException interrupted() {
    return new JoinException(who() + " was interrupted while meeting at " + place);
  }

  private String who() {
    return "rank " + me.rank() + " of job \"" + me.job() + "\"";
  }
}
