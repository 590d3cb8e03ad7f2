package io.collectives.testkit;

import io.collectives.ProtocolException;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Transport;
import io.collectives.testkit.Faults.Effect;
import io.collectives.testkit.Faults.Rule;
import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The state that the ranks of a job under {@link Faults} share: the links that are broken, and the
 * faults that have hit it. The threads of all ranks use it.
 */
final class FaultyJob {
  private final long seed;
  private final List<Rule> rules;
  private final int ranks;
  private final AtomicInteger[] left;
  private final AtomicLong delays = new AtomicLong();
  private final SortedSet<String> hits = new TreeSet<>();
  private final SortedSet<Integer> killed = new TreeSet<>();
  private final AtomicReferenceArray<@Nullable End> ends;
  private final AtomicReferenceArray<@Nullable FaultTransport> transports;

  FaultyJob(long seed, List<Rule> rules, int ranks) {
    if (ranks < 1) {
      throw new IllegalArgumentException("a job of " + ranks + " ranks: at least 1 is needed");
    }
    for (Rule rule : rules) {
      if (Math.max(rule.from(), rule.to()) >= ranks) {
        throw new IllegalArgumentException(
            "faults of ranks " + rule.from() + " and " + rule.to() + " in a job of " + ranks);
      }
    }
    this.seed = seed;
    this.rules = rules;
    this.ranks = ranks;
    left = rules.stream().map(rule -> new AtomicInteger(rule.most())).toArray(AtomicInteger[]::new);
    ends = new AtomicReferenceArray<>(ranks * ranks);
    transports = new AtomicReferenceArray<>(ranks);
  }

  /**
   * The end of one direction of a link.
   *
   * @param frames the number of frames, of all kinds, that are delivered before
   * @param cause the cause that the receiver gets
   */
  record End(long frames, Throwable cause) {}

  /** Returns a rank's transport under faults; it is called once for each rank. */
  Transport around(Transport inner) {
    FaultTransport transport = new FaultTransport(this, inner);
    if (!transports.compareAndSet(inner.rank(), null, transport)) {
      throw new IllegalStateException(
          "rank " + inner.rank() + " has joined already: a job under faults does not grow");
    }
    return transport;
  }

  /** Returns the end of the frames from a rank to another, if there is one. */
  @Nullable End end(int from, int to) {
    return ends.get(from * ranks + to);
  }

  /**
   * Decides about a transfer.
   *
   * @param number the number of the transfer from one rank to the other; the same again if the link
   *     had no room
   * @param forwarded the number of frames that were sent there before
   * @return the delay in nanoseconds; -1 if the link has ended
   */
  long fate(FrameHeader header, int from, int to, long number, long forwarded) {
    long delayNanos = 0;
    for (int place = 0; place < rules.size(); place++) {
      Rule rule = rules.get(place);
      if (!rule.hits(seed, place, from, to, number, header.sequence)) {
        continue;
      }
      if (rule.effect() == Effect.DELAY) {
        delayNanos += rule.delayNanos(seed, place, from, to, number);
      } else if (left[place].getAndUpdate(most -> Math.max(0, most - 1)) > 0) {
        String frame = "transfer " + number + " from rank " + from + " to rank " + to;
        switch (rule.effect()) {
          case CUT -> cut(frame, from, to, forwarded);
          case CORRUPT -> corrupt(frame, from, to, forwarded);
          default -> kill(frame, from);
        }
        return -1;
      }
    }
    return delayNanos;
  }

  /** Counts a transfer that was delayed. */
  void delayed() {
    delays.incrementAndGet();
  }

  private void cut(String frame, int from, int to, long forwarded) {
    hit(frame + " is lost, as the link is cut");
    int higher = Math.max(from, to);
    int lower = Math.min(from, to);
    String what = "the connection to rank %d broke: cut by a test, seed " + seed;
    BrokenLinkException atHigher =
        new BrokenLinkException(
            String.format(what, lower)
                + "; rank "
                + lower
                + " lives, so the higher one of the two is left out");
    IOException atLower = new IOException(String.format(what, higher));
    end(from, to, forwarded, to == higher ? atHigher : atLower);
    end(to, from, 0, from == higher ? atHigher : atLower);
  }

  private void corrupt(String frame, int from, int to, long forwarded) {
    hit(frame + " is damaged");
    end(
        from,
        to,
        forwarded,
        new ProtocolException(
            "a frame from rank "
                + from
                + " to rank "
                + to
                + " was damaged on its way: by a test, seed "
                + seed));
    end(to, from, 0, new BrokenLinkException("rank " + to + " got a damaged frame from here"));
  }

  private void kill(String frame, int rank) {
    hit("rank " + rank + " is killed before " + frame);
    synchronized (killed) {
      killed.add(rank);
    }
    FaultTransport dying = transports.get(rank);
    for (int peer = 0; peer < ranks; peer++) {
      if (peer != rank && dying != null) {
        end(
            rank,
            peer,
            dying.forwarded(peer),
            new EOFException("killed by a test, seed " + seed + ": no goodbye"));
        end(peer, rank, 0, new BrokenLinkException("killed by a test, seed " + seed));
      }
    }
  }

  private void end(int from, int to, long frames, Throwable cause) {
    if (ends.compareAndSet(from * ranks + to, null, new End(frames, cause))) {
      FaultTransport receiver = transports.get(to);
      if (receiver != null) {
        receiver.wakeup();
      }
    }
  }

  private void hit(String what) {
    synchronized (hits) {
      hits.add(what);
    }
  }

  /** Returns the faults that have hit the job so far. */
  List<String> hits() {
    List<String> all;
    synchronized (hits) {
      all = new ArrayList<>(hits);
    }
    if (delays.get() > 0) {
      all.add(delays + " transfers were delayed");
    }
    return Collections.unmodifiableList(all);
  }

  /** Returns the ranks that were killed so far. */
  SortedSet<Integer> killed() {
    synchronized (killed) {
      return new TreeSet<>(killed);
    }
  }
}
