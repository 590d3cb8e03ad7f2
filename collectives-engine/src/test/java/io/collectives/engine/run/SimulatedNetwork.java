package io.collectives.engine.run;

import io.collectives.ElementType;
import io.collectives.internal.InlineSlots;
import io.collectives.spi.BodyViews;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.LeasableBody;
import io.collectives.spi.Link;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.Transport;
import io.collectives.spi.ViewSink;
import java.io.EOFException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A network of ranks on one thread and a virtual clock: frames take a random time, links are first
 * in, first out, and can be cut, held up or become silent; ranks can die. How bodies travel is a
 * {@link Carrier}.
 *
 * <p>One network carries one run of a job. Who connects shows the run's token, as over TCP the
 * epoch in a handshake, and is refused without it; so does a rank of an earlier run, whose frames
 * would fit.
 */
final class SimulatedNetwork {
  private static final int ROOM = 6;

  /** The way in which bodies travel, and what else ranks can do for each other. */
  enum Carrier {
    /** Bodies travel as between hosts: what arrives is a copy. */
    BYTES(false, false),
    /** Bodies travel as between threads: the receiver has the sender's memory. */
    VIEWS(true, false),
    /** Bodies are read where they lie, and short exchanges are made inline. */
    VIEWS_AND_SLOTS(true, true),
    /**
     * Bodies travel as between processes of a host: what lies in a region is leased, all else is
     * copied, and there is an inline exchange.
     */
    LEASES_AND_SLOTS(false, true);

    final boolean views;
    final boolean slots;

    Carrier(boolean views, boolean slots) {
      this.views = views;
      this.slots = slots;
    }
  }

  /** Sends what a link's owner has not sent. */
  interface Tamper {
    /** A rank looks for what has come on a link. */
    void before(Link link, int receiver, FrameSink sink);
  }

  private final int size;
  private final LongSupplier clock;
  private final Random random;
  private final long longestDelay;
  private final Carrier carrier;
  private final SimulatedLink[][] links;
  private final boolean[] dead;
  private final boolean[] closed;
  private final List<Sent> kept = new ArrayList<>();
  private final int mostKept;
  private @Nullable Tamper tamper;
  private int tampering = -1;

  /** The rank that dies when it is about to end a lease; -1 if none does. */
  private int diesHolding = -1;

  private Runnable whenDied = () -> {};
  private @Nullable Consumer<String> listener;

  private final List<SimulatedRegion> regions = new ArrayList<>();

  /** The token that only the ranks of this run know. */
  final long token;

  /**
   * A network.
   *
   * @param mostKept how many data frames to remember, for sending them once more
   */
  SimulatedNetwork(
      int size,
      LongSupplier clock,
      Random random,
      long longestDelay,
      Carrier carrier,
      int mostKept) {
    this.size = size;
    this.clock = clock;
    this.random = random;
    this.longestDelay = longestDelay;
    this.carrier = carrier;
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

  /** Tells somebody what arrives where. */
  void listen(@Nullable Consumer<String> to) {
    listener = to;
  }

  /** Lets a rank send what it pleases. */
  void tamper(int rank, Tamper with) {
    tampering = rank;
    tamper = with;
  }

  /** A rank dies while it uses what it has leased, as soon as it does. */
  void dieHolding(int rank, Runnable then) {
    diesHolding = rank;
    whenDied = then;
  }

  boolean isDead(int rank) {
    return dead[rank];
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

  /** A rank has told the sink that what a peer sends cannot be: their connection ends. */
  void refuse(int sender, int receiver) {
    links[sender][receiver].dropAll();
    links[sender][receiver].ended = true;
    links[sender][receiver].endReported = true;
    links[receiver][sender].end(new BrokenLinkException("what it sends cannot be"));
  }

  /** From now on nothing arrives in one direction, and nobody is told. */
  void silence(int from, int to) {
    links[from][to].silent = true;
  }

  /** Until some time nothing arrives in one direction; then all does. */
  void holdUp(int from, int to, long until) {
    links[from][to].lastArrival = Math.max(links[from][to].lastArrival, until);
    links[from][to].heldUntil = until;
  }

  /** Puts a frame into a link that its sender has not sent. */
  void inject(int from, int to, FrameHeader header, byte[] body) {
    links[from][to].open();
    links[from][to].enqueue(header, ByteBuffer.wrap(body));
  }

  /** A data frame that was sent, some time ago. */
  record Sent(int from, int to, FrameHeader header, byte[] body) {}

  /** Returns one of the frames that were sent; nothing if there are none. */
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

  /** Returns whether something else than heartbeats is under way to a live rank, or an end is. */
  boolean hasNews() {
    for (SimulatedLink[] row : links) {
      for (SimulatedLink link : row) {
        if (link.news > 0 && !dead[link.to] && !closed[link.to]) {
          return true;
        }
      }
    }
    return false;
  }

  /**
   * Returns when the next frame will arrive somewhere; {@link Long#MAX_VALUE} if none is under way.
   */
  long nextArrival() {
    long now = clock.getAsLong();
    long next = Long.MAX_VALUE;
    for (SimulatedLink[] row : links) {
      for (SimulatedLink link : row) {
        SimulatedFrame first = link.frames.peek();
        long time =
            first != null ? link.timeOf(first) : link.ended ? Math.max(link.ends, now) : now;
        if (time > now && !dead[link.to] && !closed[link.to]) {
          next = Math.min(next, time);
        }
      }
    }
    return next;
  }

  private record SimulatedFrame(
      long arrives, FrameHeader header, ByteBuffer bytes, @Nullable FrameBody view) {
    boolean isNews() {
      return header.kind != FrameHeader.Kind.HEARTBEAT;
    }
  }

  /** A direction, which is kept by the receiver; as a {@link Link} it is the way back. */
  private final class SimulatedLink implements Link {
    final int from;
    final int to;
    final Deque<SimulatedFrame> frames = new ArrayDeque<>();
    int news;
    boolean opened;
    boolean silent;
    boolean ended;
    boolean endReported;
    long ends;
    long heldUntil;
    @Nullable Throwable cause = new EOFException();
    private long lastArrival;
    private @Nullable InlineSlots slots;

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
        if (frame.view != null) {
          frame.view.release();
        }
      }
      frames.clear();
      news = 0;
    }

    private long arrival() {
      long time = clock.getAsLong() + 1 + (longestDelay == 0 ? 0 : random.nextLong(longestDelay));
      lastArrival = Math.max(lastArrival, time);
      return lastArrival;
    }

    long timeOf(SimulatedFrame frame) {
      return Math.max(frame.arrives, heldUntil);
    }

    void enqueue(FrameHeader header, ByteBuffer bytes) {
      add(header, bytes, null);
    }

    private void add(FrameHeader header, ByteBuffer bytes, @Nullable FrameBody view) {
      FrameHeader copy = new FrameHeader();
      copy.copyFrom(header);
      SimulatedFrame frame = new SimulatedFrame(arrival(), copy, bytes, view);
      frames.add(frame);
      news += frame.isNews() ? 1 : 0;
    }

    // As a link: from the rank "to" (who holds it) to its peer "from".

    @Override
    public int peer() {
      return from;
    }

    @Override
    public boolean trySend(FrameHeader header, FrameBody body) {
      if (header.length != body.length()) {
        throw new AssertionError(header + " with a body of " + body.length() + " bytes");
      }
      SimulatedLink there = links[to][from];
      if (ended || dead[from] || dead[to] || there.silent) {
        body.release();
        return true;
      }
      if (there.frames.size() >= ROOM) {
        return false;
      }
      if (kept.size() < mostKept && header.kind == FrameHeader.Kind.DATA) {
        keep(header, body);
      }
      if (carrier.views) {
        there.add(header, NOTHING, body);
      } else if (carrier == Carrier.LEASES_AND_SLOTS
          && body instanceof LeasableBody leasable
          && (leasable.isPlaced() || leasable.pieces() > 0)) {
        SimulatedLease lease = new SimulatedLease(SimulatedNetwork.this, leasable, to, from);
        if (leasable.isPlaced()) {
          body.release();
        } else {
          leasable.leased(lease);
        }
        there.add(header, NOTHING, lease);
      } else {
        there.enqueue(header, bytes(body));
        body.release();
      }
      return true;
    }

    private void keep(FrameHeader header, FrameBody body) {
      FrameHeader copy = new FrameHeader();
      copy.copyFrom(header);
      kept.add(new Sent(to, from, copy, Arrays.copyOf(bytes(body).array(), copy.length)));
    }

    boolean post(int slot, long number, long[] call, FrameBody body) {
      SimulatedLink there = links[to][from];
      if (ended || dead[to] || there.silent || random.nextInt(8) == 0) {
        return false;
      }
      there.slots().post(slot, number, call, body);
      return true;
    }

    boolean take(int slot, long number, long[] call, FrameBytes body, int length) {
      return heldUntil <= clock.getAsLong() && slots().take(slot, number, call, body, length);
    }

    private InlineSlots slots() {
      InlineSlots box = slots;
      if (box == null) {
        slots =
            box = new InlineSlots(new FrameBytes(ByteBuffer.allocateDirect(InlineSlots.LENGTH)), 0);
      }
      return box;
    }

    /** Gives what has arrived to the receiver. */
    int deliver(FrameSink sink, @Nullable ViewSink views) {
      int work = 0;
      while (!frames.isEmpty() && timeOf(frames.peek()) <= clock.getAsLong()) {
        SimulatedFrame frame = frames.remove();
        news -= frame.isNews() ? 1 : 0;
        give(sink, views, frame);
        work++;
      }
      if (ended && !endReported && frames.isEmpty() && ends <= clock.getAsLong()) {
        endReported = true;
        if (listener != null) {
          listener.accept("rank " + to + " loses rank " + from + ": " + cause);
        }
        sink.lost(this, cause);
        work++;
      }
      return work;
    }

    private void give(FrameSink sink, @Nullable ViewSink views, SimulatedFrame frame) {
      FrameHeader header = frame.header;
      FrameBody view = frame.view;
      if (listener != null && header.kind != FrameHeader.Kind.HEARTBEAT) {
        listener.accept("rank " + to + " gets from rank " + from + " " + header);
      }
      int length = header.length;
      if (view != null && length > 0) {
        Objects.requireNonNull(views).view(this, header, view);
        return;
      }
      sink.header(this, header);
      if (view != null) {
        view.release();
      } else if (length > 0) {
        FrameBytes bytes = new FrameBytes(frame.bytes);
        // As sockets do: in pieces, which end at multiples of 8.
        int first = length > 8 ? random.nextInt(length / 8) * 8 : 0;
        if (first > 0) {
          sink.bytes(this, bytes, 0, first);
        }
        sink.bytes(this, bytes, first, length - first);
      }
    }
  }

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private static ByteBuffer bytes(FrameBody body) {
    if (body.length() == 0) {
      return NOTHING;
    }
    FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(body.length() + 7 & ~7));
    body.store(bytes, 0);
    return bytes.bytes();
  }

  /** A lessee ends a lease. Returns whether it has died of that. */
  boolean diesAtRelease(int lessee) {
    if (lessee == diesHolding && !dead[lessee]) {
      diesHolding = -1;
      whenDied.run();
    }
    return dead[lessee];
  }

  /** Returns whether a rank has seen the end of its link to a peer. */
  boolean hasLost(int rank, int peer) {
    return links[peer][rank].endReported;
  }

  private final class SimulatedTransport
      implements Transport, BodyViews, InlineExchange, MemoryLeases {
    private final int rank;
    private @Nullable ViewSink views;

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
    public <C> @Nullable C capability(Class<C> kind) {
      boolean hasIt =
          kind == BodyViews.class && carrier.views
              || kind == InlineExchange.class && carrier.slots && size > 1
              || kind == MemoryLeases.class && carrier == Carrier.LEASES_AND_SLOTS;
      return hasIt ? kind.cast(this) : null;
    }

    @Override
    public void viewBy(ViewSink sink) {
      views = sink;
    }

    @Override
    public Region createRegion(int length, int[] peers) {
      return new SimulatedRegion(ElementType.INT8, length, regions);
    }

    @Override
    public boolean post(int peer, int slot, long number, long[] call, FrameBody body) {
      return link(peer).post(slot, number, call, body);
    }

    @Override
    public boolean take(int peer, int slot, long number, long[] call, FrameBytes body, int length) {
      return link(peer).take(slot, number, call, body, length);
    }

    @Override
    public SimulatedLink link(int peer) {
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
          Tamper with = tamper;
          if (peer == tampering && with != null && !links[peer][rank].ended) {
            with.before(links[peer][rank], rank, sink);
          }
          work += links[peer][rank].deliver(sink, views);
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
