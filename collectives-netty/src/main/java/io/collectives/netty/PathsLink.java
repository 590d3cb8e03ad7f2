package io.collectives.netty;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Link;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * The way to one peer over several paths.
 *
 * <p><b>Segments.</b> A frame is cut into segments of at most {@link #SEGMENT_LENGTH}, and all
 * segments of a link are numbered. Each goes over one path, in an envelope: a frame of that path
 * whose body is
 *
 * <pre>
 *     0  number of the segment, -1 if there is none
 *     8  how many segments have come on this path from the receiver of this one
 *    16  1 if a frame begins, else 0 (64 bits)
 *    24  if a frame begins: what its header {@linkplain FrameHeader#write writes}, 100 bytes, and
 *        4 of zero
 *        bytes of the body of the frame
 * </pre>
 *
 * <p><b>Spraying.</b> A segment takes the path on which it will have come first, by the bytes under
 * way there, which the peer has not said to have come, and the pace at which earlier ones came. If
 * that path has {@link #SEGMENTS_UNDER_WAY} already, it waits. So a slow path gets as many as it
 * carries. Each path keeps its order, so a count says what has come. At most {@link #WINDOW}
 * segments are sent from the oldest on that has not come.
 *
 * <p><b>Order.</b> The receiver gives on the next segment while it arrives; one that comes before
 * its turn is held, in {@link PathsArrivals}. So it never holds more than the window.
 *
 * <p><b>Stalls and losses.</b> A segment is kept until it has come. If that takes {@link
 * #STALL_NANOS} more than four times what the path's pace says, while another path moves, or if its
 * path is lost, it is sent again by another path, and what comes twice is dropped. A path that has
 * stalled gets nothing until it moves again. The link is lost when its last path is.
 */
final class PathsLink implements Link, PathsArrivals.Out {
  /** A multiple of 8. */
  static final int SEGMENT_LENGTH = 32 << 10;

  /** The number of segments that may be under way, or held by the receiver. */
  static final int WINDOW = 128;

  /** The length of the prefix of a segment with which no frame begins. */
  static final int SHORT_PREFIX = 24;

  static final int PREFIX_LENGTH = SHORT_PREFIX + FrameHeader.BYTES + 4;

  /** The number of the longest segments that may be under way on one path. */
  private static final int SEGMENTS_UNDER_WAY = 8;

  private static final long STALL_NANOS = 250_000_000;

  /** The part of a measured pace that is taken over each time. */
  private static final double SHARE = 0.25;

  private final PathsTransport transport;
  private final int peer;
  private final Way[] ways;
  private final Kept[] kept = new Kept[WINDOW];
  private final Deque<Body> free = new ArrayDeque<>();
  private final PathsArrivals arrivals;
  private final FrameHeader outgoing = new FrameHeader();
  private final Envelope envelope = new Envelope();
  private @Nullable Body waiting; // The frame of which segments are to be sent.
  private int waitingFrom; // Where the next of them begins in its body.
  private long next; // The number of the next segment to be sent.
  private long oldest; // That of the oldest that has not come.
  private boolean isLost;
  private @Nullable Throwable cause;

  PathsLink(PathsTransport transport, int peer) {
    this.transport = transport;
    this.peer = peer;
    this.ways = new Way[transport.count()];
    for (int path = 0; path < ways.length; path++) {
      ways[path] = new Way(transport.path(path));
    }
    for (int i = 0; i < WINDOW; i++) {
      kept[i] = new Kept();
    }
    this.arrivals = new PathsArrivals(peer, transport.rank(), SEGMENT_LENGTH, ways.length, this);
  }

  @Override
  public int peer() {
    return peer;
  }

  @Override
  public String toString() {
    return "rank " + transport.rank() + "'s " + ways.length + " paths to rank " + peer;
  }

  void open() {
    for (Way way : ways) {
      if (!way.isOpened) {
        way.isOpened = true;
        way.path.link(peer);
      }
    }
  }

  @Override
  public boolean trySend(FrameHeader header, FrameBody body) {
    int length = body.length();
    if (header.length != length || length > transport.bodyLimit()) {
      throw new IllegalArgumentException(
          "a body of "
              + length
              + " bytes, "
              + header.length
              + " in its header: must be the same and at most "
              + transport.bodyLimit());
    }
    if (isLost || transport.isClosing()) {
      body.release();
      return true;
    }
    // A frame is taken when the one before is under way, so that little waits when this rank
    // leaves.
    if (waiting != null || isWindowFull() || best(-1) < 0) {
      return false;
    }
    Body stored = free.poll();
    if (stored == null) {
      stored = new Body();
    }
    stored.fill(header, body, Math.max(1, (length + SEGMENT_LENGTH - 1) / SEGMENT_LENGTH));
    body.release();
    waiting = stored;
    waitingFrom = 0;
    sendOn();
    return true;
  }

  private boolean isWindowFull() {
    return next - oldest >= WINDOW;
  }

  /** Sends what waits, as far as there is room. Returns how many segments. */
  private int sendOn() {
    int count = 0;
    for (Body frame; (frame = waiting) != null && !isWindowFull(); count++) {
      int path = best(-1);
      if (path < 0) {
        break;
      }
      int left = frame.header.length - waitingFrom;
      Kept segment = keptAt(next);
      segment.begin(next++, frame, waitingFrom, Math.min(SEGMENT_LENGTH, left));
      waitingFrom += segment.length;
      if (segment.length == left) {
        waiting = null;
      }
      send(path, segment);
    }
    return count;
  }

  /**
   * Returns the path on which a segment would have come first.
   *
   * @param but a path that is not asked
   * @return -1 if that has no room
   */
  private int best(int but) {
    boolean anyConnected = false;
    for (Way way : ways) {
      anyConnected |= way.isConnected(peer);
    }
    int best = -1;
    double soonest = Double.MAX_VALUE;
    for (int path = 0; path < ways.length; path++) {
      Way way = ways[path];
      if (path != but
          && !way.isLost
          && !way.isStalled
          && (way.isConnected(peer) || !anyConnected && way.isOpened)) {
        double comes = (way.bytes + SEGMENT_LENGTH) * way.nanosPerByte;
        if (comes < soonest) {
          soonest = comes;
          best = path;
        }
      }
    }
    return best >= 0 && ways[best].hasRoom(peer) ? best : -1;
  }

  private void send(int path, Kept segment) {
    Way way = ways[path];
    envelope.number = segment.number;
    envelope.came = arrivals.came(path);
    envelope.segment = segment;
    outgoing.length = envelope.length();
    segment.path = path;
    segment.sentNanos = System.nanoTime();
    way.sent(segment);
    way.path.at(peer).trySend(outgoing, envelope); // It has room; if it is lost, we are told.
    arrivals.told(path);
  }

  /** Sends empty envelopes, which only say what has come. Returns how many. */
  private int tell() {
    int told = 0;
    for (int path = 0; path < ways.length; path++) {
      Way way = ways[path];
      if (arrivals.owes(path) && !way.isLost && way.isConnected(peer) && way.isWritable(peer)) {
        envelope.number = PathsArrivals.EMPTY;
        envelope.came = arrivals.came(path);
        envelope.segment = null;
        outgoing.length = envelope.length();
        way.path.at(peer).trySend(outgoing, envelope);
        arrivals.told(path);
        told++;
      }
    }
    return told;
  }

  @Override
  public void came(int path, long count) {
    Way way = ways[path];
    if (count < way.came || count > way.came + way.count) {
      throw new ProtocolException(
          "rank "
              + peer
              + " says that "
              + count
              + " segments have come on path "
              + path
              + " from rank "
              + transport.rank()
              + ": must be from "
              + way.came
              + " to "
              + (way.came + way.count));
    }
    if (count > way.came) {
      way.moved(count);
    }
    while (way.came < count) {
      long number = way.takeOldest();
      if (keptAt(number).number == number) {
        keptAt(number).hasCome = true;
      }
    }
    while (oldest < next && keptAt(oldest).hasCome) {
      Body body = keptAt(oldest++).body;
      if (body != null && --body.segments == 0) {
        free.add(body);
      }
    }
  }

  @Override
  public void header(FrameHeader header) {
    transport.deliver(sink -> sink.header(this, header));
  }

  @Override
  public void bytes(FrameBytes source, int at, int length) {
    transport.deliver(sink -> sink.bytes(this, source, at, length));
  }

  private Kept keptAt(long number) {
    return kept[(int) (number % WINDOW)];
  }

  /** Does what is due within a poll; returns how much that was. */
  int tick(long now) {
    if (isLost) {
      return 0;
    }
    int done = arrivals.deliverHeld() + sendOn() + tell();
    if (oldest < next) {
      Kept first = keptAt(oldest);
      Way way = ways[first.path];
      if (way.isLost) {
        done += sendAgain(first.path);
      } else if (now - first.sentNanos > way.patienceNanos() && anotherMoves(first)) {
        way.isStalled = true;
        PathsTransport.LOG.debug("{}: path {} stalls", this, first.path);
        done += sendAgain(first.path);
      }
    }
    return done;
  }

  private boolean anotherMoves(Kept segment) {
    for (int path = 0; path < ways.length; path++) {
      Way way = ways[path];
      if (path != segment.path
          && !way.isLost
          && way.isConnected(peer)
          && (way.count == 0 || way.movedNanos - segment.sentNanos > 0)) {
        return true;
      }
    }
    return false;
  }

  /** Sends what is under way on a path by others, as far as these have room. */
  private int sendAgain(int path) {
    int count = 0;
    for (long number = oldest; number < next; number++) {
      Kept segment = keptAt(number);
      if (segment.path == path && !segment.hasCome) {
        int other = best(path);
        if (other < 0) {
          break;
        }
        send(other, segment);
        count++;
      }
    }
    return count;
  }

  void header(int path, FrameHeader header) {
    if (!isLost) {
      try {
        arrivals.header(path, header);
      } catch (ProtocolException e) {
        abort(e);
      }
    }
  }

  void bytes(int path, FrameBytes source, int at, int length) {
    if (!isLost) {
      try {
        arrivals.bytes(path, source, at, length);
      } catch (ProtocolException e) {
        abort(e);
      }
    }
  }

  /** Ends all paths for what has come over one. */
  private void abort(ProtocolException why) {
    cause = why;
    for (Way way : ways) {
      TcpLink link = way.path.known(peer);
      if (link != null && link.connection() != null) {
        way.path.sayAbort(link);
        link.lose(why);
      }
    }
  }

  /** A path is lost: the link is if no other is left. */
  void lost(int path, @Nullable Throwable why) {
    ways[path].isLost = true;
    if (cause == null) {
      cause = why;
    }
    if (isLost) {
      return;
    }
    for (Way way : ways) {
      if (!way.isLost && (way.isOpened || way.isConnected(peer))) {
        PathsTransport.LOG.debug("{}: path {} is lost", this, path, why);
        return;
      }
    }
    isLost = true;
    arrivals.deliverHeld();
    transport.deliver(sink -> sink.lost(this, cause));
  }

  /** A path as the sender sees it: what is under way on it, in a ring. */
  private static final class Way {
    final TcpTransport path;
    final long[] numbers = new long[2 * WINDOW];
    final int[] lengths = new int[2 * WINDOW];
    final long[] times = new long[2 * WINDOW];
    int head;
    int count;
    long bytes;

    /** The number of segments that have come by it. */
    long came;

    long movedNanos;

    /** The pace, at first a guess that all paths share. */
    double nanosPerByte = 1;

    boolean isOpened;
    boolean isStalled;
    boolean isLost;

    Way(TcpTransport path) {
      this.path = path;
    }

    boolean isConnected(int peer) {
      TcpLink link = path.known(peer);
      return link != null && link.connection() != null;
    }

    boolean hasRoom(int peer) {
      return bytes < (long) SEGMENTS_UNDER_WAY * SEGMENT_LENGTH
          && count < numbers.length
          && isWritable(peer);
    }

    /** Returns how long a segment may take: what one does here at most, several times over. */
    long patienceNanos() {
      return STALL_NANOS + (long) (4 * SEGMENTS_UNDER_WAY * SEGMENT_LENGTH * nanosPerByte);
    }

    boolean isWritable(int peer) {
      TcpLink link = path.known(peer);
      return link != null && link.hasRoom();
    }

    void sent(Kept segment) {
      int at = (head + count++) % numbers.length;
      numbers[at] = segment.number;
      lengths[at] = segment.length + SHORT_PREFIX;
      times[at] = segment.sentNanos;
      bytes += lengths[at];
    }

    /** Measures the pace: the time since the last ones came, or since these were sent. */
    void moved(long newCount) {
      long now = System.nanoTime();
      long begun = movedNanos == 0 ? times[head] : Math.max(times[head], movedNanos);
      long moved = 0;
      for (int i = 0; i < newCount - came; i++) {
        moved += lengths[(head + i) % lengths.length];
      }
      if (moved >= SEGMENT_LENGTH / 2) {
        nanosPerByte += SHARE * ((double) Math.max(1, now - begun) / moved - nanosPerByte);
      }
      movedNanos = now;
      isStalled = false;
    }

    long takeOldest() {
      long number = numbers[head];
      bytes -= lengths[head];
      head = (head + 1) % numbers.length;
      count--;
      came++;
      return number;
    }
  }

  /** A frame of which segments have not come, or are not known to have. Objects are reused. */
  private static final class Body {
    final FrameHeader header = new FrameHeader();
    FrameBytes bytes = PathsArrivals.bytes(0);
    int segments;

    void fill(FrameHeader head, FrameBody from, int count) {
      header.copyFrom(head);
      segments = count;
      if (bytes.bytes().capacity() < head.length) {
        bytes = PathsArrivals.bytes(head.length + 7 & ~7);
      }
      from.store(bytes, 0);
    }
  }

  /** A segment. Objects are reused. */
  private static final class Kept {
    @Nullable Body body;
    int from;
    int length;
    long number = -1;
    int path;
    long sentNanos;
    boolean hasCome;

    void begin(long of, Body whole, int at, int count) {
      number = of;
      body = whole;
      from = at;
      length = count;
      hasCome = false;
    }
  }

  /** The body of a frame of a path. */
  private static final class Envelope implements FrameBody {
    long number;
    long came;
    @Nullable Kept segment;

    @Override
    public int length() {
      Kept sent = segment;
      return sent == null
          ? SHORT_PREFIX
          : (sent.from == 0 ? PREFIX_LENGTH : SHORT_PREFIX) + sent.length;
    }

    @Override
    public void store(FrameBytes target, int at) {
      Kept sent = segment;
      boolean begins = sent != null && sent.from == 0;
      target.bytes().putLong(at, number).putLong(at + 8, came);
      target.bytes().putLong(at + 16, begins ? 1 : 0);
      if (sent == null || sent.body == null) {
        return;
      }
      int to = at + SHORT_PREFIX;
      if (begins) {
        sent.body.header.write(target, to);
        target.bytes().putInt(at + PREFIX_LENGTH - 4, 0);
        to = at + PREFIX_LENGTH;
      }
      target.bytes().put(to, sent.body.bytes.bytes(), sent.from, sent.length);
    }

    @Override
    public void release() {}
  }
}
