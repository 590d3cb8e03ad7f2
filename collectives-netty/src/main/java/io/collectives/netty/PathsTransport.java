package io.collectives.netty;

import io.collectives.JoinException;
import io.collectives.internal.Log;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Roster;
import io.collectives.spi.StatusRequests;
import io.collectives.spi.Transport;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A rank's end of several connections to each peer, its <em>paths</em>, over which frames are
 * sprayed, as Herring's network does (Thangakrishnan et al. 2020, section V-A): a path for each
 * link of a host, or several over one link where one connection does not fill it.
 *
 * <p>Each path is a {@link TcpTransport} of its own, with an address, connections, admission, TLS
 * and checksums of its own, so all that holds for one connection holds for each path. What is here
 * is what is between them: {@link PathsLink} numbers the frames of a pair, and puts them in order
 * again.
 *
 * <p><b>Waiting.</b> A thread can sleep in one place, the first path, so no sleep is longer than
 * {@link #SLEEP_NANOS}.
 *
 * <p><b>Threads.</b> As each path allows. {@link #close} from within a sink waits for the end of
 * the poll. Each path is closed by a thread of its own, as each waits for peers that do not answer.
 */
final class PathsTransport implements Transport {
  static final Log LOG = Log.of(PathsTransport.class);

  private static final long SLEEP_NANOS = 200_000;

  /** The character between the addresses of the paths. */
  private static final char BETWEEN = '+';

  private final TcpTransport[] paths;
  private final Path[] sinks;
  private final int bodyLimit;
  private final @Nullable PathsLink[] links;
  private @Nullable FrameSink sink; // During a poll.
  private @Nullable Thread poller;
  private @Nullable Throwable failure;
  private volatile boolean closing;

  /** Joins the paths of a rank, at least one, of the same job. */
  PathsTransport(List<TcpTransport> paths) {
    this.paths = paths.toArray(TcpTransport[]::new);
    this.bodyLimit = this.paths[0].bodyLimit() - PathsLink.PREFIX_LENGTH;
    this.links = new PathsLink[this.paths[0].size()];
    this.sinks = new Path[this.paths.length];
    for (int path = 0; path < sinks.length; path++) {
      sinks[path] = new Path(path);
    }
  }

  /** Returns the address of a rank whose paths have these. */
  static String address(List<String> ofPaths) {
    return String.join(String.valueOf(BETWEEN), ofPaths);
  }

  /**
   * Returns the addresses of all ranks on each path.
   *
   * @throws JoinException if a rank has another number of paths
   */
  static List<Roster> rosters(Roster roster, int rank, int paths) {
    List<List<String>> ofPaths = new ArrayList<>();
    for (int path = 0; path < paths; path++) {
      ofPaths.add(new ArrayList<>());
    }
    List<String> all = roster.addresses();
    for (int peer = 0; peer < all.size(); peer++) {
      boolean isAbsent = all.get(peer).isEmpty();
      String[] addresses = all.get(peer).split("\\" + BETWEEN, -1);
      if (!isAbsent && addresses.length != paths) {
        throw new JoinException(
            "rank "
                + peer
                + " has "
                + addresses.length
                + " TCP paths to its peers, rank "
                + rank
                + " has "
                + paths
                + ": give all ranks the same number of COLLECTIVES_TCP_PATHS, and of addresses to"
                + " listen on");
      }
      for (int path = 0; path < paths; path++) {
        ofPaths.get(path).add(isAbsent ? "" : addresses[path]);
      }
    }
    return ofPaths.stream().map(addresses -> new Roster(roster.epoch(), addresses)).toList();
  }

  @Override
  public int rank() {
    return paths[0].rank();
  }

  @Override
  public int size() {
    return paths[0].size();
  }

  @Override
  public List<String> names() {
    return paths[0].names();
  }

  @Override
  public long memoryLimit() {
    long limit = 0;
    for (TcpTransport path : paths) {
      limit += path.memoryLimit();
    }
    return limit + (size() - 1L) * 2 * PathsLink.WINDOW * PathsLink.SEGMENT_LENGTH;
  }

  /** Returns nothing but what TCP tells of the status of this rank, on the first path. */
  @Override
  public <C> @Nullable C capability(Class<C> kind) {
    return kind == StatusRequests.class ? paths[0].capability(kind) : null;
  }

  int count() {
    return paths.length;
  }

  TcpTransport path(int number) {
    return paths[number];
  }

  int bodyLimit() {
    return bodyLimit;
  }

  int slotLength() {
    return paths[0].slotLength();
  }

  boolean isClosing() {
    return closing;
  }

  @Override
  public Link link(int peer) {
    if (Objects.checkIndex(peer, size()) == rank()) {
      throw new IllegalArgumentException("rank " + peer + " has no link to itself");
    }
    PathsLink link = at(peer);
    link.open();
    return link;
  }

  private PathsLink at(int peer) {
    PathsLink link = links[peer];
    if (link == null) {
      link = links[peer] = new PathsLink(this, peer);
    }
    return link;
  }

  @Override
  public int poll(FrameSink to) {
    if (closing) {
      return 0;
    }
    if (sink != null) {
      throw new IllegalStateException("poll called from within a sink");
    }
    sink = to;
    poller = Thread.currentThread();
    int done = 0;
    try {
      for (int path = 0; path < paths.length; path++) {
        done += paths[path].poll(sinks[path]);
      }
      long now = System.nanoTime();
      for (PathsLink link : links) {
        if (link != null && !closing) {
          done += link.tick(now);
        }
      }
    } finally {
      sink = null;
      poller = null;
      if (closing) {
        closePaths();
      }
    }
    if (failure != null) {
      Throwable thrown = failure;
      failure = null;
      throw PathsTransport.<RuntimeException>sneaky(thrown);
    }
    return done;
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException sneaky(Throwable t) throws T {
    throw (T) t;
  }

  /** Gives the sink something; what it throws comes out of the poll in the end. */
  void deliver(Consumer<FrameSink> what) {
    FrameSink to = sink;
    if (to == null || closing) {
      return;
    }
    try {
      what.accept(to);
    } catch (Throwable t) {
      if (failure == null) {
        failure = t;
      } else if (failure != t) {
        failure.addSuppressed(t);
      }
    }
  }

  @Override
  public void await(long nanos) {
    paths[0].await(Math.min(nanos, SLEEP_NANOS));
  }

  @Override
  public void wakeup() {
    paths[0].wakeup();
  }

  @Override
  public void close() {
    closing = true;
    if (poller == Thread.currentThread()) {
      return; // The end of the poll does the rest.
    }
    closePaths();
  }

  private void closePaths() {
    CompletableFuture<?>[] closed = new CompletableFuture<?>[paths.length];
    for (int path = 0; path < paths.length; path++) {
      closed[path] =
          CompletableFuture.runAsync(
              paths[path]::close, task -> new Thread(task, "collectives-close").start());
    }
    CompletableFuture.allOf(closed).join();
  }

  /** Cuts all connections without a goodbye, as if the process had died. */
  void kill() {
    closing = true;
    for (TcpTransport path : paths) {
      path.kill();
    }
  }

  /** The receiver of what arrives on one path. */
  private final class Path implements FrameSink {
    private final int number;

    Path(int number) {
      this.number = number;
    }

    @Override
    public void header(Link link, FrameHeader header) {
      at(link.peer()).header(number, header);
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {
      at(link.peer()).bytes(number, source, at, length);
    }

    @Override
    public void lost(Link link, @Nullable Throwable cause) {
      at(link.peer()).lost(number, cause);
    }
  }
}
