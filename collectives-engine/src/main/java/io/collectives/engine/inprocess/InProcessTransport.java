package io.collectives.engine.inprocess;

import io.collectives.ProtocolException;
import io.collectives.internal.InlineSlots;
import io.collectives.spi.BodyViews;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import io.collectives.spi.ViewSink;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The end of one rank in an {@link InProcessFabric}. */
final class InProcessTransport implements Transport, BodyViews, InlineExchange {
  /**
   * The bytes after which a poll ends: a rank that took all that a peer has sent would not send
   * meanwhile, and its peer would wait for as long.
   */
  private static final int MOST_BYTES_OF_POLL = 16 << 10;

  private static final long LONGEST_NAP_NANOS = 1_000_000;

  /** In larger jobs slots would take more memory than they are worth. */
  private static final int MOST_RANKS_WITH_SLOTS = 16;

  private static final int ALIGNMENT = 128;

  private final InProcessFabric fabric;
  private final int rank;
  private final InProcessLink[] links;
  private @Nullable ViewSink views;
  private FrameBytes copy = new FrameBytes(ByteBuffer.allocate(0));
  private volatile boolean closed;
  private volatile @Nullable Throwable death;
  private volatile @Nullable Thread parked;
  private volatile boolean woken;

  /** If true, a peer has sent something, or made room, since this was polled last. */
  private volatile boolean news;

  InProcessTransport(InProcessFabric fabric, int rank, int size) {
    this.fabric = fabric;
    this.rank = rank;
    this.links = new InProcessLink[size];
    FrameBytes slots =
        new FrameBytes(
            ByteBuffer.allocateDirect(slotsLength(size) + ALIGNMENT).alignedSlice(ALIGNMENT));
    for (int peer = 0; peer < size; peer++) {
      links[peer] = new InProcessLink(peer, slots);
    }
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return links.length;
  }

  @Override
  public List<String> names() {
    return List.of("inprocess");
  }

  @Override
  public <C> @Nullable C capability(Class<C> kind) {
    boolean hasIt =
        kind == BodyViews.class || kind == InlineExchange.class && slotsLength(size()) > 0;
    return hasIt ? kind.cast(this) : null;
  }

  @Override
  public void viewBy(ViewSink sink) {
    views = sink;
  }

  private static int slotsLength(int size) {
    return size > 1 && size <= MOST_RANKS_WITH_SLOTS ? size * InlineSlots.LENGTH : 0;
  }

  @Override
  public long memoryLimit() {
    return slotsLength(size());
  }

  @Override
  public Link link(int peer) {
    return opened(peer);
  }

  private InProcessLink opened(int peer) {
    if (peer == rank) {
      throw new IllegalArgumentException("rank " + rank + " has no link to itself");
    }
    InProcessLink link = links[peer];
    if (!link.open) {
      link.open = true;
      fabric.peer(peer).links[rank].open = true;
    }
    return link;
  }

  @Override
  public boolean post(int peer, int slot, long number, long[] call, FrameBody body) {
    return opened(peer).post(slot, number, call, body);
  }

  @Override
  public boolean take(int peer, int slot, long number, long[] call, FrameBytes body, int length) {
    return opened(peer).slots.take(slot, number, call, body, length);
  }

  @Override
  public int poll(FrameSink sink) {
    if (closed) {
      return 0;
    }
    if (news) {
      news = false;
    }
    int work = 0;
    for (InProcessLink link : links) {
      if (link.open && !link.lost) {
        work += link.poll(sink);
      }
    }
    return work;
  }

  @Override
  public void await(long nanos) {
    parked = Thread.currentThread();
    if (!woken && !closed && !hasArrivals()) {
      // A peer looks at parked without a fence after it has queued a frame or made room, so it may
      // miss this nap; hence naps are short.
      LockSupport.parkNanos(this, Math.min(nanos, LONGEST_NAP_NANOS));
    }
    parked = null;
    woken = false;
  }

  private boolean hasArrivals() {
    for (InProcessLink link : links) {
      if (link.open && !link.lost && link.in.peek() != null) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void wakeup() {
    woken = true;
    unpark();
  }

  private void unpark() {
    if (!news) {
      news = true;
    }
    Thread thread = parked;
    if (thread != null) {
      LockSupport.unpark(thread);
    }
  }

  @Override
  public void close() {
    closed = true;
    wakeup();
    for (InProcessLink link : links) {
      if (link.open) {
        fabric.peer(link.peer).unpark();
      }
    }
  }

  /** Ends this rank as a crash would, for tests of what its peers make of it. */
  void kill(Throwable cause) {
    death = cause;
    close();
  }

  /** Frames to the peer go through the peer's link back to this rank. */
  private final class InProcessLink implements Link {
    private final int peer;
    private final FrameQueue in = new FrameQueue();
    private final InlineSlots slots; // Of this rank, for the peer.
    private volatile boolean open;

    /** If true, the peer has ended this link, because of data that came from here. */
    private volatile boolean severed;

    private boolean lost;

    InProcessLink(int peer, FrameBytes memory) {
      this.peer = peer;
      this.slots = new InlineSlots(memory, peer * InlineSlots.LENGTH);
    }

    int poll(FrameSink sink) {
      InProcessTransport other = fabric.peer(peer);
      // Looked at first: what was sent before the peer closed is delivered before its loss is.
      boolean peerClosed = other.closed;
      int work = 0;
      int length = 0;
      for (FrameQueue.Slot slot = in.peek();
          slot != null && !closed && length < MOST_BYTES_OF_POLL;
          slot = in.peek()) {
        length += slot.header.length;
        try {
          slot.header.check(peer, rank);
        } catch (ProtocolException e) {
          blame();
          sink.lost(this, e);
          return work + 1;
        }
        try {
          give(slot, sink);
        } finally {
          in.remove();
        }
        work++;
      }
      if (work > 0) {
        other.unpark();
      }
      if (in.peek() != null) {
        return work;
      }
      if (peerClosed && !closed) {
        lost = true;
        sink.lost(this, other.death);
        work++;
      } else if (severed && !closed) {
        lost = true;
        String why = "rank " + peer + " ended its link: what rank " + rank + " sends cannot be";
        sink.lost(this, new BrokenLinkException(why));
        work++;
      }
      return work;
    }

    private void give(FrameQueue.Slot slot, FrameSink sink) {
      int length = slot.header.length;
      if (length > 0 && views != null) {
        views.view(this, slot.header, slot.body);
        return;
      }
      sink.header(this, slot.header);
      if (length > 0) {
        if (copy.bytes().capacity() < length) {
          copy = new FrameBytes(ByteBuffer.allocate(length));
        }
        slot.body.store(copy, 0);
      }
      slot.body.release();
      if (length > 0) {
        sink.bytes(this, copy, 0, length);
      }
    }

    /** Cuts off a peer that has made a protocol error, and lets it know. */
    private void blame() {
      lost = true;
      for (FrameQueue.Slot slot = in.peek(); slot != null; slot = in.peek()) {
        slot.body.release();
        in.remove();
      }
      InProcessTransport other = fabric.peer(peer);
      other.links[rank].severed = true;
      other.unpark();
    }

    @Override
    public int peer() {
      return peer;
    }

    @Override
    public boolean trySend(FrameHeader header, FrameBody body) {
      if (header.length != body.length()) {
        throw new IllegalArgumentException(
            "a body of "
                + body.length()
                + " bytes, "
                + header.length
                + " in its header: must be the same");
      }
      InProcessTransport other = fabric.peer(peer);
      if (other.closed || closed || lost || severed) {
        body.release();
        return true;
      }
      if (!other.links[rank].in.offer(header, body)) {
        return false;
      }
      other.unpark();
      return true;
    }

    boolean post(int slot, long number, long[] call, FrameBody body) {
      InProcessTransport other = fabric.peer(peer);
      if (other.closed || closed) {
        return false;
      }
      other.links[rank].slots.post(slot, number, call, body);
      other.unpark();
      return true;
    }
  }
}
