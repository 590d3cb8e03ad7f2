package io.collectives.testkit;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * A rank's transport under {@link Faults}: delayed frames wait in it at their sender; it reports
 * the end of a link at the receiver, after all that was sent before has been delivered.
 */
final class FaultTransport extends ForwardingTransport {
  /** The largest number of delayed frames on one link, which then has no room. */
  private static final int MOST_LATE = 64;

  private static final long CLOSE_NANOS = 1_000_000_000;

  private final FaultyJob job;
  private final @Nullable FaultLink[] links;
  private @Nullable FrameSink sink; // That of the last poll.
  private @Nullable FaultSink faultSink;
  private volatile boolean closed;

  FaultTransport(FaultyJob job, Transport inner) {
    super(inner);
    this.job = job;
    links = new FaultLink[inner.size()];
  }

  /**
   * Returns the number of frames that were sent to a peer. The thread that drives this rank calls
   * it.
   */
  long forwarded(int peer) {
    FaultLink link = links[peer];
    return link == null ? 0 : link.forwarded;
  }

  @Override
  public Link link(int peer) {
    Link of = inner.link(peer);
    FaultLink link = links[peer];
    if (link == null) {
      link = links[peer] = new FaultLink(of);
    }
    return link;
  }

  @Override
  public int poll(FrameSink to) {
    if (closed) {
      return 0;
    }
    FaultSink through = faultSink;
    if (through == null || to != sink) {
      sink = to;
      faultSink = through = new FaultSink(to);
    }
    int done = flush();
    done += inner.poll(through);
    for (FaultLink link : links) {
      done += !closed && link != null ? link.lookForEnd(to) : 0;
    }
    return done;
  }

  private int flush() {
    long now = System.nanoTime();
    int sent = 0;
    for (FaultLink link : links) {
      sent += link == null ? 0 : link.flush(now);
    }
    return sent;
  }

  @Override
  public void await(long nanos) {
    long now = System.nanoTime();
    long least = nanos;
    for (FaultLink link : links) {
      Late next = link == null ? null : link.late.peek();
      least = next == null ? least : Math.min(least, next.dueNanos - now);
      if (link != null && link.isToEnd()) {
        return;
      }
    }
    if (least > 0) {
      inner.await(least);
    }
  }

  /** Sends delayed frames, because a rank that leaves must have sent them. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      long end = System.nanoTime() + CLOSE_NANOS;
      while (!isFlushed() && System.nanoTime() - end < 0) {
        inner.poll(NOBODY);
        inner.await(CLOSE_NANOS / 1000);
      }
    }
    inner.close();
  }

  private boolean isFlushed() {
    boolean flushed = true;
    for (FaultLink link : links) {
      if (link != null) {
        link.flush(0);
        flushed &= link.late.isEmpty();
      }
    }
    return flushed;
  }

  /** A sink for frames that arrive at a rank that leaves. */
  private static final FrameSink NOBODY =
      new FrameSink() {
        @Override
        public void header(Link link, FrameHeader header) {}

        @Override
        public void bytes(Link link, FrameBytes source, int at, int length) {}

        @Override
        public void lost(Link link, @Nullable Throwable cause) {}
      };

  /** A delayed frame, which waits until it is sent. */
  private static final class Late implements FrameBody {
    final FrameHeader header = new FrameHeader();
    final long dueNanos;
    private final FrameBytes bytes;

    Late(FrameHeader header, FrameBody body, long dueNanos) {
      this.header.copyFrom(header);
      this.dueNanos = dueNanos;
      bytes = new FrameBytes(ByteBuffer.allocate(header.length));
      if (header.length > 0) {
        body.store(bytes, 0);
      }
      body.release();
    }

    @Override
    public int length() {
      return header.length;
    }

    @Override
    public void store(FrameBytes target, int at) {
      target.bytes().put(at, bytes.bytes(), 0, header.length);
    }

    @Override
    public void release() {}
  }

  private final class FaultLink extends ForwardingLink {
    private final Deque<Late> late = new ArrayDeque<>();
    private long transfers; // Accepted.
    private long forwarded; // Frames of all kinds.
    private long delivered; // Whole.
    private int bodyLeft; // Of the frame that is arriving.
    private boolean dropping; // It comes behind the end.
    private boolean lost;

    FaultLink(Link inner) {
      super(inner);
    }

    @Override
    public boolean trySend(FrameHeader header, FrameBody body) {
      if (closed || lost || isSevered()) {
        body.release();
        return true;
      }
      if (late.size() >= MOST_LATE) {
        return false;
      }
      boolean isTransfer = header.kind == FrameHeader.Kind.DATA;
      long delayNanos = isTransfer ? job.fate(header, rank(), peer(), transfers, forwarded) : 0;
      if (delayNanos < 0) {
        late.clear();
        body.release();
        return true;
      }
      if (delayNanos > 0 || !late.isEmpty()) {
        late.add(new Late(header, body, System.nanoTime() + delayNanos));
        if (delayNanos > 0) {
          job.delayed();
        }
      } else if (inner.trySend(header, body)) {
        forwarded++;
      } else {
        return false;
      }
      transfers += isTransfer ? 1 : 0;
      return true;
    }

    private boolean isSevered() {
      return job.end(rank(), peer()) != null;
    }

    /** Sends the frames whose delay is over. */
    int flush(long now) {
      if (isSevered()) {
        late.clear();
      }
      int sent = 0;
      for (Late next = late.peek();
          next != null && (closed || next.dueNanos - now <= 0) && inner.trySend(next.header, next);
          next = late.peek()) {
        late.remove();
        forwarded++;
        sent++;
      }
      return sent;
    }

    /** Returns whether the peer's frames have ended and the sink has not been told. */
    boolean isToEnd() {
      return toTell() != null;
    }

    /** Returns the end that the sink is to be told of now, if there is one. */
    private FaultyJob.@Nullable End toTell() {
      FaultyJob.End end = job.end(peer(), rank());
      return end != null && !lost && delivered >= end.frames() ? end : null;
    }

    int lookForEnd(FrameSink to) {
      FaultyJob.End end = toTell();
      if (end == null) {
        return 0;
      }
      lost = true;
      late.clear();
      to.lost(this, end.cause());
      return 1;
    }

    /** Handles the loss of the inner link, which may be the first sign of the peer's end. */
    void innerLost(FrameSink to, @Nullable Throwable cause) {
      if (!lost) {
        lost = true;
        FaultyJob.End end = job.end(peer(), rank());
        to.lost(this, end == null ? cause : end.cause());
      }
    }
  }

  /** A sink that passes on, as bytes, the frames that arrive before the end of their link. */
  private final class FaultSink extends ForwardingSink {
    FaultSink(FrameSink to) {
      super(to);
    }

    private FaultLink at(Link of) {
      return (FaultLink) FaultTransport.this.link(of.peer());
    }

    @Override
    public void header(Link of, FrameHeader header) {
      FaultLink link = at(of);
      FaultyJob.End end = job.end(link.peer(), rank());
      link.dropping = link.lost || end != null && link.delivered >= end.frames();
      link.bodyLeft = header.length;
      link.delivered += header.length == 0 ? 1 : 0;
      if (!link.dropping) {
        inner.header(link, header);
      }
    }

    @Override
    public void bytes(Link of, FrameBytes source, int at, int length) {
      FaultLink link = at(of);
      link.bodyLeft -= length;
      link.delivered += link.bodyLeft == 0 ? 1 : 0;
      if (!link.dropping) {
        inner.bytes(link, source, at, length);
      }
    }

    @Override
    public void lost(Link of, @Nullable Throwable cause) {
      at(of).innerLost(inner, cause);
    }
  }
}
