package io.collectives.engine.sharedmemory;

import io.collectives.JobSettings;
import io.collectives.ProtocolException;
import io.collectives.internal.HostAddress;
import io.collectives.internal.Log;
import io.collectives.internal.RankDirectory;
import io.collectives.internal.RefusalLog;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameSink;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Link;
import io.collectives.spi.MemoryFaults;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Transport;
import io.collectives.spi.ViewSink;
import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A rank's end of all its rings and of the sockets beside them.
 *
 * <pre>
 *   trySend ─ body.store, header ─▶ ring ═▶ sink.header, bytes
 *             (copied once)                 within poll, not copied
 *           ─ where it lies     ─▶      ═▶ sink.header, view
 * </pre>
 *
 * <p><b>Polling</b> looks at each ring, which costs a load; at the sockets, which costs a system
 * call, it looks only now and then: they tell of ranks that come, leave or die, and wake this rank
 * when it sleeps. A rank sleeps in the selector of its sockets; see {@link Ring} for why it misses
 * nothing.
 *
 * <p><b>Memory.</b> For each peer that it is linked with two rings, which the two share, of four
 * longest records each (of two, if these are longer than 256 KiB), and until then at most one
 * longest record. A frame allocates nothing. Regions, which users ask for, and the engine for what
 * it relays, come on top of that.
 *
 * <p><b>Threads.</b> One at a time is inside; {@link #close} from another one raises {@code
 * closing}, wakes the one inside, waits for it to leave, and only then unmaps. From within the sink
 * it only raises {@code closing}; the poll finishes the job before it returns.
 *
 * <p><b>Leaving.</b> A rank that leaves says goodbye and goes: what is in a ring stays there for
 * the peer, which has mapped it, too. It waits, at most {@link #CLOSE_NANOS}, only for peers that
 * are to get frames and that it is not yet linked with.
 *
 * <p>One class because all of it runs under one lock over one set of links: polling, sleeping,
 * closing and the loss of memory each have to see, in one step, what the others have done.
 */
final class SharedMemoryTransport implements Transport, InlineExchange, MemoryLeases, MemoryFaults {
  /** By which users ask for it. */
  static final String NAME = "shm";

  private static final Log LOG = Log.of(SharedMemoryTransport.class);

  /** Failures are told in a frame whose body may be longer than the longest piece of a payload. */
  private static final int CONTROL_LENGTH = 4096;

  /**
   * The interval of looking at the sockets while it waits to be linked; else {@link #LOOK_NANOS}.
   */
  private static final long WAITING_LOOK_NANOS = 50_000;

  private static final long LOOK_NANOS = 1_000_000;

  /** The number of polls before it asks for the time. */
  private static final int POLLS_PER_CLOCK = 8;

  /** Looking whether a memory is gone can cost an error, but seldom does. */
  private static final int MOST_ERRORS = 100;

  private static final long CUT_OFF_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long CLOSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long CLOSE_LOOK_MILLIS = 10;

  private final JobSettings settings;
  private final JobEpoch epoch;
  private final List<@Nullable HostAddress> addresses;
  private final Path directory;
  private final Selector selector;
  private final ServerSocketChannel server;
  private final ReentrantLock lock = new ReentrantLock();
  private final @Nullable SharedMemoryLink[] links;
  private final List<SharedMemoryLink> waiting = new ArrayList<>();
  private final List<SharedMemoryLink> linked = new ArrayList<>();
  private final Queue<SharedMemoryLink> losses = new ArrayDeque<>();
  private final Set<ControlChannel> unadmitted = new HashSet<>();
  private final RefusalLog refusalLog = new RefusalLog(LOG);
  private final ByteBuffer wakeMessage = ControlChannel.wakeMessage();
  private final Consumer<SelectionKey> hear = this::hear;
  private @Nullable ViewSink views;
  private @Nullable FrameSink sink; // During a poll,
  private @Nullable SharedMemoryLink giving; // and which link gives it a frame.
  private final List<SharedRegion> regions = new ArrayList<>();

  /** The causes for which links were lost whose memory is gone, by peer. */
  private final Map<Integer, Throwable> cutOff = new HashMap<>();

  /** The number of them when a thread settled last. */
  private int settledFor;

  /** The directories of peers of which control channels ended without a goodbye. */
  private final Set<Path> deserted = new HashSet<>();

  private int regionsMade;
  private int regionFiles; // That peers may still look for.
  private int polls;
  private long lookedNanos;
  private boolean unreachable; // On purpose, as this rank is linked with all others.
  private volatile boolean woken;
  private volatile boolean closing;
  private boolean closeAfterPoll;
  private boolean closed;

  /**
   * Begins to accept peers.
   *
   * @param addresses of all ranks, nothing for those with which there is to be no link
   * @param selector of nothing yet
   * @param server listens, but has accepted nobody yet
   */
  SharedMemoryTransport(
      JobSettings settings,
      JobEpoch epoch,
      List<@Nullable HostAddress> addresses,
      Selector selector,
      ServerSocketChannel server)
      throws IOException {
    this.settings = settings;
    this.epoch = epoch;
    this.addresses = addresses;
    this.directory = address(settings.rank()).directory();
    this.selector = selector;
    this.server = server;
    links = new SharedMemoryLink[settings.size()];
    lookedNanos = System.nanoTime();
    server.register(selector, SelectionKey.OP_ACCEPT);
    LOG.debug(
        "rank {}: {} bytes of shared memory for each peer that it is linked with, in {}",
        rank(),
        ringsLength(settings),
        directory);
    settled();
  }

  @Override
  public int rank() {
    return settings.rank();
  }

  @Override
  public int size() {
    return settings.size();
  }

  @Override
  public List<String> names() {
    return List.of(NAME);
  }

  /** If no peer has longer frames than this rank. */
  @Override
  public long memoryLimit() {
    long peers = addresses.stream().filter(Objects::nonNull).count() - 1;
    return peers * ringsLength(settings);
  }

  /** Returns the number of bytes that the rings of a pair of ranks take. */
  static long ringsLength(JobSettings settings) {
    return Ring.fileLength(Ring.capacity((int) Ring.recordLength(bodyLimit(settings))));
  }

  /**
   * Returns this transport as each capability that it has. Inline exchange is none of them if
   * bodies have checksums, as the contents of a slot have none.
   */
  @Override
  public <C> @Nullable C capability(Class<C> kind) {
    boolean hasIt =
        kind == MemoryLeases.class
            || kind == MemoryFaults.class
            || kind == InlineExchange.class && !hasChecksums();
    return hasIt ? kind.cast(this) : null;
  }

  @Override
  public void viewBy(ViewSink sink) {
    views = sink;
  }

  /** Returns the receiver of leased bodies. */
  ViewSink views() {
    return Objects.requireNonNull(views);
  }

  @Override
  public Region createRegion(int length, int[] peers) throws IOException {
    int number;
    enter();
    try {
      if (closing || closed) {
        throw new IOException("rank " + rank() + " leaves");
      }
      if (unreachable && regionFiles == 0) {
        RankDirectory.createAgain(directory);
      }
      regionFiles++;
      number = ++regionsMade;
    } finally {
      leave();
    }
    Path path = directory.resolve(RankDirectory.REGION + number);
    MappedMemory memory = null;
    try {
      memory = RingFile.createForUsers(path, length, rank()); // May take long, so without the lock.
    } finally {
      if (memory == null) {
        enter();
        regionFileGone();
        leave();
      }
    }
    SharedRegion region = new SharedRegion(this, number, peers, path, memory);
    enter();
    try {
      regions.add(region);
    } finally {
      leave();
    }
    if (closing) {
      region.close();
      throw new IOException("rank " + rank() + " leaves");
    }
    return region;
  }

  /** Returns where a region of a peer is, or was. */
  Path regionOf(int peer, int number) {
    return address(peer).directory().resolve(RankDirectory.REGION + number);
  }

  /**
   * A peer has mapped a region that this rank has announced, or cannot. With the lock held.
   *
   * @throws ProtocolException if it was not announced to that peer
   */
  void answered(int peer, int number, boolean mapped) {
    if (number < 1 || number > regionsMade) {
      throw new ProtocolException("region " + number + " is mapped, which was not announced");
    }
    for (SharedRegion region : regions) {
      if (region.number() == number) {
        region.answered(peer, mapped);
        return;
      }
    }
  }

  /** A region has ended. With the lock held. */
  void closed(SharedRegion region) {
    regions.remove(region);
  }

  /** The file of a region is not there any more, or never was. With the lock held. */
  void regionFileGone() {
    regionFiles--;
    if (unreachable || closed) {
      deleteDirectory();
    }
  }

  /** Returns whether a region may be leased to a peer. */
  boolean isShared(Region region, int peer) {
    return region instanceof SharedRegion shared
        && shared.belongsTo(this)
        && shared.isSharedWith(peer);
  }

  /** The link to a peer, opened or not. With the lock held. */
  SharedMemoryLink linkTo(int peer) {
    return at(peer);
  }

  /** Returns the time for which a peer may be silent before it is given up. */
  long silenceLimitNanos() {
    return settings.calls().silenceLimit().toNanos();
  }

  /** Finds out which peers have died. The lock is held. */
  void hearOfDeaths() {
    if (!closed) {
      look(0);
    }
  }

  @Override
  public Link link(int peer) {
    if (Objects.checkIndex(peer, size()) == rank()) {
      throw new IllegalArgumentException("rank " + peer + " has no link to itself");
    }
    enter();
    try {
      return opened(peer);
    } finally {
      leave();
    }
  }

  @Override
  public boolean post(int peer, int slot, long number, long[] call, FrameBody body) {
    enter();
    try {
      return opened(peer).post(slot, number, call, body);
    } finally {
      leave();
    }
  }

  @Override
  public boolean take(int peer, int slot, long number, long[] call, FrameBytes body, int length) {
    enter();
    try {
      return opened(peer).take(slot, number, call, body, length);
    } finally {
      leave();
    }
  }

  private SharedMemoryLink opened(int peer) {
    SharedMemoryLink link = at(peer);
    if (!closing) {
      link.open();
    }
    return link;
  }

  private SharedMemoryLink at(int peer) {
    SharedMemoryLink link = links[peer];
    if (link == null) {
      link = links[peer] = new SharedMemoryLink(this, peer);
    }
    return link;
  }

  @Override
  public int poll(FrameSink to) {
    if (closing) {
      return 0;
    }
    enter();
    try {
      if (closing) {
        return 0;
      }
      if (sink != null) {
        throw new IllegalStateException("poll called from within a sink");
      }
      sink = to;
      try {
        int done = lookNowAndThen();
        for (int i = 0; i < linked.size() && !closing; i++) {
          done += linked.get(i).receive(to);
        }
        return done + reportLosses(to);
      } finally {
        sink = null;
      }
    } finally {
      if (closeAfterPoll) {
        shutDown();
      }
      leave();
    }
  }

  private int lookNowAndThen() {
    if (++polls < POLLS_PER_CLOCK && waiting.isEmpty()) {
      return 0;
    }
    polls = 0;
    for (int i = 0; i < linked.size(); i++) {
      linked.get(i).loseIfRingsCutOff();
    }
    long now = System.nanoTime();
    if (now - lookedNanos < (waiting.isEmpty() ? LOOK_NANOS : WAITING_LOOK_NANOS)) {
      return 0;
    }
    lookedNanos = now;
    loseWhatIsCutOff();
    return look(0);
  }

  /** Checks whether memory is gone, so that nobody touches it for long. */
  private void loseWhatIsCutOff() {
    for (int errors = 0; !closed; errors++) {
      try {
        for (SharedMemoryLink link : links) {
          if (link != null) {
            link.loseIfCutOff();
          }
        }
        loseIfRegionsAreCutOff();
        if (!cutOff.isEmpty()) {
          MappedMemory.awaitError(); // Another thread may have found out.
        }
        return;
      } catch (InternalError e) {
        if (errors > MOST_ERRORS) {
          throw e; // It is of something else.
        }
      }
    }
  }

  /** A link gives the sink a frame, or nothing any more. */
  void gives(@Nullable SharedMemoryLink link) {
    giving = link;
  }

  private void loseIfGivenIsCutOff() {
    if (giving != null && giving.loseIfGivenIsCutOff()) {
      throw new InternalError(String.valueOf(giving.cause()));
    }
  }

  /**
   * Checks whether memory is gone that a body may have come from, a region of this rank, for whose
   * users links are lost then, or the frame that the sink has now.
   *
   * @throws InternalError if it is the frame
   */
  void loseWhatBodiesComeFrom() {
    loseIfRegionsAreCutOff();
    loseIfGivenIsCutOff();
  }

  /**
   * Checks whether a region of this rank is gone; then the links to all peers that may use it are
   * lost.
   */
  private void loseIfRegionsAreCutOff() {
    for (int i = 0; i < regions.size(); i++) {
      regions.get(i).loseIfCutOff();
    }
  }

  /** The memory that is shared with a peer is gone, so its link is lost. */
  void cutOff(int peer, Throwable why) {
    cutOff.put(peer, why);
  }

  @Override
  public Map<Integer, Throwable> lostMemory() {
    enter();
    try {
      long start = System.nanoTime();
      loseWhatIsCutOff();
      // The kernel takes the pages of a file one after the other, the last of them last.
      while (cutOff.isEmpty() && !closed && System.nanoTime() - start < CUT_OFF_NANOS) {
        LockSupport.parkNanos(this, WAITING_LOOK_NANOS);
        loseWhatIsCutOff();
      }
      return Map.copyOf(cutOff);
    } finally {
      leave();
    }
  }

  @Override
  public boolean settle() {
    if (!MappedMemory.ERRORS_COME_LATE) {
      return true;
    }
    enter();
    try {
      loseIfGivenIsCutOff();
      loseWhatIsCutOff();
      if (cutOff.size() == settledFor) {
        return true;
      }
      settledFor = cutOff.size();
      MappedMemory.awaitError();
      return false;
    } finally {
      leave();
    }
  }

  /** Goes on after an error that comes of memory that is gone, whose links are lost now. */
  void survive(InternalError fault) {
    if (lostMemory().isEmpty()) {
      throw fault;
    }
  }

  /**
   * Looks at the sockets, and tries to connect where that is due.
   *
   * @param millis how long to wait for something to look at; 0 for not at all
   */
  private int look(long millis) {
    int count;
    try {
      count = millis > 0 ? selector.select(hear, millis) : selector.selectNow(hear);
    } catch (IOException e) {
      throw new IllegalStateException("rank " + rank() + " cannot look at its sockets", e);
    }
    if (!waiting.isEmpty()) {
      long now = System.nanoTime();
      for (int i = waiting.size() - 1; i >= 0; i--) {
        waiting.get(i).tryToConnect(now);
      }
      waiting.removeIf(link -> !link.isWaiting());
    }
    return count;
  }

  private void hear(SelectionKey key) {
    if (key.attachment() instanceof ControlChannel control) {
      control.hear();
    } else {
      accept();
    }
  }

  private void accept() {
    try {
      for (SocketChannel channel = server.accept(); channel != null; channel = server.accept()) {
        ControlChannel control = new ControlChannel(this, channel, selector);
        unadmitted.add(control);
      }
    } catch (IOException e) {
      refusalLog.warn("rank {} cannot accept a connection now: {}", rank(), e.toString());
    }
  }

  private int reportLosses(FrameSink to) {
    int count = 0;
    for (SharedMemoryLink link = losses.poll(); link != null; link = losses.poll()) {
      linked.remove(link);
      to.lost(link, link.cause()); // Who may still take what the peer has left.
      link.free();
      for (int i = 0; i < regions.size(); i++) {
        regions.get(i).lost(link.peer());
      }
      count++;
    }
    if (count > 0) {
      settled();
    }
    return count;
  }

  @Override
  public void await(long nanos) {
    if (closing || nanos <= 0) {
      return;
    }
    enter();
    try {
      if (!woken && !closing && losses.isEmpty()) {
        sleep(TimeUnit.NANOSECONDS.toMillis(nanos - 1) + 1);
      }
    } catch (InternalError e) {
      survive(e);
    } finally {
      woken = false;
      leave();
    }
  }

  private void sleep(long millis) {
    for (int i = 0; i < linked.size(); i++) {
      linked.get(i).beginSleep();
    }
    VarHandle.fullFence();
    boolean mustNot = false;
    for (int i = 0; i < linked.size(); i++) {
      mustNot |= linked.get(i).mustNotSleep();
    }
    if (!mustNot) {
      look(waiting.isEmpty() ? millis : 1);
    }
    for (int i = 0; i < linked.size(); i++) {
      linked.get(i).endSleep();
    }
  }

  @Override
  public void wakeup() {
    woken = true;
    selector.wakeup();
  }

  @Override
  public void close() {
    closing = true;
    wakeup();
    enter();
    try {
      if (sink == null) {
        shutDown();
      } else {
        closeAfterPoll = true;
      }
    } finally {
      leave();
    }
  }

  private void shutDown() {
    if (closed) {
      return;
    }
    loseWhatIsCutOff();
    boolean interrupted = Thread.interrupted(); // Or waiting would be in vain.
    for (SharedMemoryLink link : links) {
      if (link != null) {
        link.sayGoodbye();
      }
    }
    look(0);
    long start = System.nanoTime();
    while (mustStay() && System.nanoTime() - start < CLOSE_NANOS) {
      look(CLOSE_LOOK_MILLIS);
    }
    free();
    deserted.forEach(RankDirectory::deleteIfDead);
    try {
      RankDirectory.delete(directory);
    } catch (IOException e) {
      LOG.warn("rank {} cannot delete {}", rank(), directory, e);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns whether there are peers that are to get frames and cannot yet. */
  private boolean mustStay() {
    for (SharedMemoryLink link : links) {
      if (link != null && (link.isExpecting() || link.isToBeMapped())) {
        return true;
      }
    }
    return false;
  }

  /** Ends all without a goodbye, and leaves behind what a process that is killed leaves. */
  void kill() {
    closing = true;
    wakeup();
    enter();
    try {
      free();
    } finally {
      leave();
    }
  }

  private void free() {
    if (closed) {
      return;
    }
    for (SharedRegion region : List.copyOf(regions)) {
      try {
        region.close();
      } catch (IllegalStateException e) {
        LOG.warn("rank {} cannot free a buffer that somebody reads", rank(), e);
      }
    }
    closed = true;
    refusalLog.end();
    try {
      server.close();
      for (SharedMemoryLink link : links) {
        if (link != null) {
          link.free();
        }
      }
      MappedMemory.awaitError(); // Or it would come when nobody knows of this transport.
      unadmitted.forEach(ControlChannel::close);
      selector.close();
    } catch (IOException e) {
      LOG.warn("rank {} cannot close its sockets", rank(), e);
    }
  }

  void enter() {
    lock.lock();
  }

  void leave() {
    lock.unlock();
  }

  boolean isClosing() {
    return closing;
  }

  Log log() {
    return LOG;
  }

  JobEpoch epoch() {
    return epoch;
  }

  HostAddress address(int peer) {
    HostAddress address = addresses.get(peer);
    if (address == null) {
      throw new IllegalStateException("rank " + rank() + " is to share no memory with " + peer);
    }
    return address;
  }

  Path directory() {
    return directory;
  }

  Selector selector() {
    return selector;
  }

  ByteBuffer wakeMessage() {
    return wakeMessage;
  }

  boolean hasChecksums() {
    return settings.security().checksums();
  }

  /** The length of the longest body that may be sent. */
  int bodyLimit() {
    return bodyLimit(settings);
  }

  private static int bodyLimit(JobSettings settings) {
    return Math.max(settings.calls().frameLimit(), CONTROL_LENGTH);
  }

  /** The length of the longest record that this rank writes. */
  int recordLimit() {
    return (int) Ring.recordLength(bodyLimit());
  }

  Hello hello(int peer) {
    return new Hello(
        Rendezvous.PROTOCOL_VERSION, size(), epoch, rank(), peer, hasChecksums(), recordLimit());
  }

  /** Admits or refuses a process that has connected to this rank and said HELLO. */
  void saidHello(ControlChannel control, Hello theirs) {
    String objection = hello(theirs.from()).objectionTo(theirs, Ring.mostRecordLength());
    if (objection == null && addresses.get(theirs.from()) == null) {
      objection = "no memory is to be shared by ranks " + rank() + " and " + theirs.from();
    }
    if (objection == null) {
      at(theirs.from()).saidHello(control, theirs.recordLength());
    } else {
      refusalLog.warn("rank {} refused rank {}: {}", rank(), theirs.from(), objection);
      control.sayRefusal(objection);
      control.close();
      left(control);
    }
  }

  /** Removes a control channel from those that have not been admitted yet. */
  void left(ControlChannel control) {
    unadmitted.remove(control);
  }

  /** Adds a link that this rank wants. */
  void wanted(SharedMemoryLink link) {
    waiting.add(link);
  }

  /** Adds a link that has got its rings. */
  void linked(SharedMemoryLink link) {
    linked.add(link);
    if (closing) {
      link.sayGoodbye();
    }
    settled();
  }

  void lost(SharedMemoryLink link) {
    losses.add(link);
  }

  /**
   * A peer's control channel has ended without a goodbye, so its process may be dead. One that dies
   * may listen a moment longer than it converses, so whether it does is looked at again when this
   * rank leaves.
   */
  void deserted(Path peersDirectory) {
    RankDirectory.deleteIfDead(peersDirectory);
    deserted.add(peersDirectory);
  }

  /** Stops listening when no peer will connect any more: then none needs to find this rank. */
  void settled() {
    if (unreachable || closed) {
      return;
    }
    for (int peer = 0; peer < size(); peer++) {
      SharedMemoryLink link = links[peer];
      if (peer != rank() && addresses.get(peer) != null && (link == null || !link.isSettled())) {
        return;
      }
    }
    unreachable = true;
    try {
      server.close();
    } catch (IOException e) {
      LOG.warn("rank {} cannot close its socket", rank(), e);
    }
    deleteDirectory();
  }

  /** Unless there are files of regions in it. */
  private void deleteDirectory() {
    if (regionFiles == 0) {
      try {
        RankDirectory.delete(directory);
      } catch (IOException e) {
        LOG.warn("rank {} cannot delete {}", rank(), directory, e);
      }
    }
  }
}
