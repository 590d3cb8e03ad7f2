package io.collectives.engine.run;

import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import java.io.EOFException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A network of ranks on one thread and a virtual clock: frames take a random time, links are first
 * in, first out, and can be cut or become silent; ranks can die. Bodies travel as bytes, or as
 * views of the sender's memory as in one JVM.
 *
 * <p>One network carries one run of a job. Who connects shows the run's token, as over TCP the
 * epoch in a greeting, and is refused without it; so does a rank of an earlier run, whose frames
 * would fit.
 */
final class SimulatedNetwork {
  private static final int ROOM = 6;

  private final int size;
  private final LongSupplier clock;
  private final Random random;
  private final long longestDelay;
  private final boolean views;
  private final SimulatedLink[][] links;
  private final boolean[] dead;
  private final boolean[] closed;
  private final List<Sent> kept = new ArrayList<>();
  private final int mostKept;

  /** What the ranks of this run know, and nobody else does. */
  final long token;

  /**
   * A network.
   *
   * @param mostKept how many data frames to remember, for sending them once more
   */
  SimulatedNetwork(
      int size, LongSupplier clock, Random random, long longestDelay, boolean views, int mostKept) {
    this.size = size;
    this.clock = clock;
    this.random = random;
    this.longestDelay = longestDelay;
    this.views = views;
    this.dead = new boolean[size];
    this.closed = new boolean[size];
    this.mostKept = mostKept;
    this.token = random.nextLong();
    this.links = new SimulatedLink[size][size];
    for (int from = 0; from < size; from++) {
      for (int to = 0; to < size; to++) {
        links[from][to] = new SimulatedLink(from, to);
      }
    }
  }

  Transport transport(int rank) {
    return new SimulatedTransport(rank);
  }

  /** The process of a rank ends; what it has sent arrives, or what has not arrived is lost. */
  void kill(int rank, boolean loseWhatIsUnderWay) {
    dead[rank] = true;
    for (int peer = 0; peer < size; peer++) {
      if (loseWhatIsUnderWay) {
        links[rank][peer].dropAll();
      }
      links[peer][rank].dropAll();
      links[rank][peer].end(new EOFException("closed without a goodbye"));
    }
  }

  /** The connection of two ranks breaks; both live, and the higher one finds that out. */
  void cut(int a, int b) {
    int low = Math.min(a, b);
    int high = Math.max(a, b);
    links[low][high].dropAll();
    links[high][low].dropAll();
    links[low][high].end(new BrokenLinkException("the connection was reset"));
    links[high][low].end(new EOFException("the connection was reset"));
  }

  /** From now on nothing arrives in one direction, and nobody is told. */
  void silence(int from, int to) {
    links[from][to].silent = true;
  }

  /** Puts a frame into a link that its sender has not sent. */
  void inject(int from, int to, FrameHeader header, byte[] body) {
    links[from][to].open();
    links[from][to].enqueue(header, ByteBuffer.wrap(body));
  }

  /** A data frame that was sent, some time ago. */
  record Sent(int from, int to, FrameHeader header, byte[] body) {}

  /** One of the frames that were sent; nothing if there are none. */
  @Nullable Sent anySent() {
    return kept.isEmpty() ? null : kept.get(random.nextInt(kept.size()));
  }

  /** Somebody connects to a rank, shows a token, and if it is let in sends a frame. */
  void knock(long shown, Sent frame) {
    if (shown == token) {
      inject(frame.from, frame.to, frame.header, frame.body);
    }
  }

  /** A rank leaves: its last frames arrive, then a goodbye. */
  void close(int rank) {
    closed[rank] = true;
    for (int peer = 0; peer < size; peer++) {
      links[peer][rank].dropAll();
      links[peer][rank].endReported = true;
      links[rank][peer].end(null);
    }
  }

  /** Whether something else than heartbeats is under way to a live rank. */
  boolean hasNews() {
    for (SimulatedLink[] row : links) {
      for (SimulatedLink link : row) {
        if (!dead[link.to]
            && !closed[link.to]
            && link.frames.stream().anyMatch(SimulatedFrame::isNews)) {
          return true;
        }
      }
    }
    return false;
  }

  /** When the next frame will arrive somewhere; {@link Long#MAX_VALUE} if none is under way. */
  long nextArrival() {
    long now = clock.getAsLong();
    long next = Long.MAX_VALUE;
    for (SimulatedLink[] row : links) {
      for (SimulatedLink link : row) {
        SimulatedFrame first = link.frames.peek();
        long time = first != null ? first.arrives : link.ended ? link.ends : now;
        if (time > now && !dead[link.to] && !closed[link.to]) {
          next = Math.min(next, time);
        }
      }
    }
    return next;
  }

  private record SimulatedFrame(
      long arrives, FrameHeader header, ByteBuffer bytes, FrameBody view, boolean isView) {
    boolean isNews() {
      return header.kind != FrameHeader.Kind.HEARTBEAT;
    }
  }

  /** One direction, kept by the receiver; as a {@link Link} it is the way back. */
  private final class SimulatedLink implements Link {
    final int from;
    final int to;
    final Deque<SimulatedFrame> frames = new ArrayDeque<>();
    boolean opened;
    boolean silent;
    boolean ended;
    boolean endReported;
    long ends;
    @Nullable Throwable cause = new EOFException();
    private long lastArrival;

    SimulatedLink(int from, int to) {
      this.from = from;
      this.to = to;
    }

    void open() {
      if (!opened) {
        opened = true;
        links[to][from].opened = true;
      }
    }

    void end(@Nullable Throwable why) {
      if (!ended) {
        ended = true;
        cause = why;
        ends = arrival();
      }
    }

    void dropAll() {
      for (SimulatedFrame frame : frames) {
        frame.view.release();
      }
      frames.clear();
    }

    private long arrival() {
      long time = clock.getAsLong() + 1 + (longestDelay == 0 ? 0 : random.nextLong(longestDelay));
      lastArrival = Math.max(lastArrival, time);
      return lastArrival;
    }

    void enqueue(FrameHeader header, ByteBuffer bytes) {
      FrameHeader copy = new FrameHeader();
      copy.copyFrom(header);
      frames.add(new SimulatedFrame(arrival(), copy, bytes, FrameBody.EMPTY, false));
    }

    // As a link: from the rank "to" (who holds it) to its peer "from".

    @Override
    public int peer() {
      return from;
    }

    @Override
    public boolean trySend(FrameHeader header, FrameBody body) {
      SimulatedLink there = links[to][from];
      if (ended || dead[from] || there.silent) {
        body.release();
        return true;
      }
      if (there.frames.size() >= ROOM) {
        return false;
      }
      if (kept.size() < mostKept && header.kind == FrameHeader.Kind.DATA) {
        keep(header, body);
      }
      FrameHeader copy = new FrameHeader();
      copy.copyFrom(header);
      if (views) {
        there.frames.add(
            new SimulatedFrame(there.arrival(), copy, ByteBuffer.allocate(0), body, true));
      } else {
        FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(body.length() + 7 & ~7));
        body.store(bytes, 0);
        body.release();
        there.frames.add(
            new SimulatedFrame(there.arrival(), copy, bytes.bytes(), FrameBody.EMPTY, false));
      }
      return true;
    }

    private void keep(FrameHeader header, FrameBody body) {
      FrameHeader copy = new FrameHeader();
      copy.copyFrom(header);
      FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(body.length() + 7 & ~7));
      body.store(bytes, 0);
      kept.add(new Sent(to, from, copy, Arrays.copyOf(bytes.bytes().array(), copy.length)));
    }

    @Override
    public long bytesSent() {
      return 0;
    }

    @Override
    public long bytesReceived() {
      return 0;
    }

    /** Gives what has arrived to the receiver. */
    int deliver(FrameSink sink) {
      int work = 0;
      while (!frames.isEmpty() && frames.peek().arrives <= clock.getAsLong()) {
        SimulatedFrame frame = frames.remove();
        Link link = this;
        sink.header(link, frame.header);
        int length = frame.header.length;
        if (frame.isView) {
          if (length > 0) {
            sink.view(link, frame.view);
          } else {
            frame.view.release();
          }
        } else if (length > 0) {
          FrameBytes bytes = new FrameBytes(frame.bytes);
          // As sockets do: in pieces, which end at multiples of 8.
          int first = length > 8 ? random.nextInt(length / 8) * 8 : 0;
          if (first > 0) {
            sink.bytes(link, bytes, 0, first);
          }
          sink.bytes(link, bytes, first, length - first);
        }
        work++;
      }
      if (ended && !endReported && frames.isEmpty() && ends <= clock.getAsLong()) {
        endReported = true;
        sink.lost(this, cause);
        work++;
      }
      return work;
    }
  }

  private final class SimulatedTransport implements Transport {
    private final int rank;

    SimulatedTransport(int rank) {
      this.rank = rank;
    }

    @Override
    public int rank() {
      return rank;
    }

    @Override
    public int size() {
      return size;
    }

    @Override
    public boolean sharesMemory() {
      return views;
    }

    @Override
    public Link link(int peer) {
      SimulatedLink link = links[peer][rank];
      link.open();
      if (dead[peer]) {
        link.end(new EOFException("nobody listens there any more"));
      }
      return link;
    }

    @Override
    public int poll(FrameSink sink) {
      int work = 0;
      for (int peer = 0; peer < size; peer++) {
        if (peer != rank && links[peer][rank].opened) {
          work += links[peer][rank].deliver(sink);
        }
      }
      return work;
    }

    @Override
    public void await(long nanos) {}

    @Override
    public void wakeup() {}

    @Override
    public void close() {
      throw new UnsupportedOperationException("simulated ranks die, they do not close");
    }
  }
}
