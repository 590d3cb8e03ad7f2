package io.collectives.engine.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.Security;
import io.collectives.internal.CallFingerprint;
import io.collectives.internal.HostAddress;
import io.collectives.internal.RankDirectory;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Link;
import io.collectives.spi.MemoryFaults;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Shared memory has some rules of its own; the rest is in the contract. */
class SharedMemoryTransportTest {
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(20);

  @TempDir Path directory;

  private final TransportProvider provider = new SharedMemoryTransportProvider();
  private final List<Transport> opened = new ArrayList<>();
  private final List<Heard> heard = new ArrayList<>();

  @AfterEach
  void closeAll() throws IOException {
    opened.forEach(Transport::close);
    assertEquals(List.of(), left());
  }

  private List<Path> left() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.toList();
    }
  }

  private JobSettings settings(int rank, int size) {
    return SharedMemoryJob.settings(rank, size, directory);
  }

  private void open(int ranks) {
    opened.addAll(SharedMemoryJob.open(ranks, rank -> settings(rank, ranks)));
    opened.forEach(transport -> heard.add(new Heard()));
  }

  /** Two ranks that do not agree on something. */
  private void open(JobSettings first, JobSettings second, JobEpoch one, JobEpoch other) {
    TransportProvider.Endpoint a = provider.listen(first);
    TransportProvider.Endpoint b = provider.listen(second);
    List<String> addresses = List.of(a.address(), b.address());
    opened.add(a.open(new Roster(one, addresses)));
    opened.add(b.open(new Roster(other, addresses)));
    opened.forEach(transport -> heard.add(new Heard()));
  }

  private void pumpUntil(BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.getAsBoolean()) {
      for (int i = 0; i < opened.size(); i++) {
        opened.get(i).poll(heard.get(i));
      }
      assertTrue(System.nanoTime() - end < 0, () -> "waited too long: " + heard);
    }
  }

  private void exchange(int from, int to) {
    int before = heard.get(to).frames;
    send(from, to);
    pumpUntil(() -> heard.get(to).frames > before);
  }

  private void send(int from, int to) {
    assertTrue(opened.get(from).link(to).trySend(new FrameHeader(), FrameBody.EMPTY));
  }

  private Path place(int rank) {
    return ((SharedMemoryTransport) opened.get(rank)).directory();
  }

  @Test
  void whoIsLinkedWithAllOthersNeedsNoPlaceAnyMore() throws Exception {
    open(3);
    exchange(0, 1);
    exchange(0, 2);
    pumpUntil(() -> Files.notExists(place(0)));
    assertTrue(Files.exists(place(1)) && Files.exists(place(2)), "these may still meet");
    exchange(2, 1);
    pumpUntil(() -> Files.notExists(place(1)) && Files.notExists(place(2)));
    exchange(1, 2);
    exchange(2, 0);
  }

  @Test
  void whatADyingPeerLeavesIsDeletedThoughItListensAMomentLonger() throws Exception {
    open(2);
    Path dying = Files.createDirectory(directory.resolve("collectives-dying"));
    try (ServerSocketChannel door = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      door.bind(UnixDomainSocketAddress.of(dying.resolve(RankDirectory.SOCKET)));
      ((SharedMemoryTransport) opened.get(0)).deserted(dying);
      assertTrue(Files.exists(dying), "somebody listens there");
    }
    opened.get(0).close();
    assertTrue(Files.notExists(dying));
  }

  @Test
  void itsMemoryIsBoundedByTheNumberOfPeers() {
    open(3);
    exchange(0, 1);
    SharedMemoryLink link = (SharedMemoryLink) opened.get(0).link(1);
    int each = Objects.requireNonNull(link.memory()).out.bytes().bytes().capacity();
    assertEquals(2L * each, opened.get(0).memoryLimit());
  }

  @Test
  void aRankAloneNeedsNoPlace() throws Exception {
    open(1);
    assertEquals(List.of(), left());
  }

  @Test
  void ringsOfRanksWithDifferentFramesTakeTheLonger() {
    TransportProvider.Endpoint a = provider.listen(settings(0, 2));
    TransportProvider.Endpoint b =
        provider.listen(
            settings(1, 2).withCalls(settings(1, 2).calls().withFrameLength(1024 * 1024)));
    Roster roster = new Roster(JobEpoch.draw(), List.of(a.address(), b.address()));
    opened.add(a.open(roster));
    opened.add(b.open(roster));
    opened.forEach(transport -> heard.add(new Heard()));
    exchange(0, 1);
    FrameHeader header = new FrameHeader();
    header.length = 1024 * 1024;
    for (int i = 0; i < 10; i++) {
      int before = heard.get(0).frames;
      assertTrue(opened.get(1).link(0).trySend(header, filled(header.length, (byte) 0)));
      pumpUntil(() -> heard.get(0).frames > before);
    }
  }

  private static FrameBody filled(int length, byte value) {
    byte[] content = new byte[length];
    Arrays.fill(content, value);
    return new FrameBody() {
      @Override
      public int length() {
        return length;
      }

      @Override
      public void store(FrameBytes target, int at) {
        target.bytes().put(at, content);
      }

      @Override
      public void release() {}
    };
  }

  @Test
  void ranksOfAnotherRunAreRefusedAndBothSeeWhy() {
    open(settings(0, 2), settings(1, 2), new JobEpoch(1L << 60, 2), new JobEpoch(1L << 61, 2));
    send(1, 0);
    pumpUntil(() -> heard.get(1).lost.containsKey(0));
    String why = heard.get(1).why(0, ProtocolException.class);
    assertTrue(why.contains("10000000… here, 20000000… there"), why);
    assertTrue(heard.get(0).lost.isEmpty(), "it has lost nobody whom it knew");
  }

  @Test
  void ranksThatDisagreeOnChecksumsAreRefused() {
    JobEpoch epoch = JobEpoch.draw();
    open(
        settings(0, 2).withSecurity(Security.none().withChecksums(true)),
        settings(1, 2),
        epoch,
        epoch);
    send(1, 0);
    pumpUntil(() -> heard.get(1).lost.containsKey(0));
    String why = heard.get(1).why(0, ProtocolException.class);
    assertTrue(why.contains("checksums of payloads here, none there"), why);
  }

  @Test
  void aHelloMustBeForThisRankOfAJobOfThisSize() {
    JobEpoch epoch = JobEpoch.draw();
    Hello mine = new Hello(1, 4, epoch, 2, 3, false, 4096);
    Hello theirs = new Hello(1, 4, epoch, 3, 2, false, 8192);
    long most = Ring.mostRecordLength();
    assertNull(mine.objectionTo(theirs, most));
    assertEquals(theirs, Hello.read(theirs.bytes().order(java.nio.ByteOrder.LITTLE_ENDIAN)));
    for (Hello wrong :
        List.of(
            new Hello(2, 4, epoch, 3, 2, false, 8192),
            new Hello(1, 5, epoch, 3, 2, false, 8192),
            new Hello(1, 4, epoch, 3, 1, false, 8192),
            new Hello(1, 4, epoch, 4, 2, false, 8192),
            new Hello(1, 4, epoch, -1, 2, false, 8192),
            new Hello(1, 4, epoch, 2, 2, false, 8192),
            new Hello(1, 4, epoch, 3, 2, false, Integer.MAX_VALUE),
            new Hello(1, 4, epoch, 3, 2, false, -1))) {
      assertTrue(mine.objectionTo(wrong, most) != null, wrong.toString());
    }
  }

  @Test
  void unauthenticatedPeersDisturbNobody() throws Exception {
    open(2);
    List<SocketChannel> peers = new ArrayList<>();
    for (byte[] bytes :
        List.of(
            new byte[] {},
            new byte[] {99, 0, 0},
            new byte[] {0, -1, -1},
            new byte[] {0, 2, 0, 1, 1},
            new byte[] {3, 4, 0, 1, 1, 1, 1},
            new byte[2000])) {
      UnixDomainSocketAddress door =
          UnixDomainSocketAddress.of(place(0).resolve(RankDirectory.SOCKET));
      SocketChannel peer = SocketChannel.open(door);
      peer.write(ByteBuffer.wrap(bytes));
      peers.add(peer);
    }
    exchange(0, 1);
    exchange(1, 0);
    for (SocketChannel peer : peers) {
      peer.close();
    }
    exchange(0, 1);
  }

  @Test
  void aPeerThatWritesWrongBytesIsLostAndGivesWay() {
    open(2);
    exchange(0, 1);
    exchange(1, 0);
    SharedMemoryLink link = (SharedMemoryLink) opened.get(0).link(1);
    int tailOfTaker = 256; // Rank 1, who was asked, has made the rings.
    Objects.requireNonNull(link.memory()).out.bytes().bytes().putLong(tailOfTaker, 17);
    pumpUntil(() -> heard.get(1).lost.containsKey(0) && heard.get(0).lost.containsKey(1));
    String why = heard.get(1).why(0, ProtocolException.class);
    assertTrue(why.contains("the tail of a ring is 17"), why);
    String echo = heard.get(0).why(1, BrokenLinkException.class);
    assertTrue(echo.contains("the tail of a ring is 17"), echo);
  }

  @Test
  void impossibleValuesInASlotNameTheirRank() {
    open(2);
    exchange(0, 1);
    exchange(1, 0);
    int slotsOfTaker = 32768; // Rank 1, who was asked, has made the rings.
    SharedMemoryLink link = (SharedMemoryLink) opened.get(0).link(1);
    ByteBuffer memory = Objects.requireNonNull(link.memory()).out.bytes().bytes();
    FrameBytes body = new FrameBytes(ByteBuffer.allocate(8));
    long[] call = new long[CallFingerprint.WORDS];
    InlineExchange at = (InlineExchange) opened.get(1);
    assertFalse(at.take(0, 0, 1, call, body, 8), "nothing is there yet");
    memory.putLong(slotsOfTaker, 0x5a5a5a5a5a5a5a5aL);
    assertFalse(at.take(0, 0, 1, call, body, 8));
    pumpUntil(() -> heard.get(1).lost.containsKey(0) && heard.get(0).lost.containsKey(1));
    String why = heard.get(1).why(0, ProtocolException.class);
    assertTrue(why.contains("rank 0") && why.contains("the number of a message"), why);
    heard.get(0).why(1, BrokenLinkException.class);
  }

  /** Somebody truncates what two ranks share, which each finds out in another way. */
  @ParameterizedTest
  @CsvSource({"0, false", "0, true", "3000, false", "9000, true", "30000, false", "60000, true"})
  void aTruncatedFileIsALostLinkOnBothSides(int length, boolean checksums) throws Exception {
    opened.addAll(
        SharedMemoryJob.open(
            2, rank -> settings(rank, 2).withSecurity(Security.none().withChecksums(checksums))));
    opened.forEach(transport -> heard.add(new Heard()));
    send(0, 1);
    Path rings = place(1).resolve(RankDirectory.RINGS + "0");
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (Files.notExists(rings) && System.nanoTime() - end < 0) {
      opened.get(1).poll(heard.get(1)); // Rank 0 has not mapped and deleted it yet.
    }
    try (FileChannel file = FileChannel.open(rings, StandardOpenOption.WRITE)) {
      exchange(0, 1);
      exchange(1, 0);
      file.truncate(length);
      FrameHeader header = new FrameHeader();
      header.length = 1000;
      for (int i = 0; i < 5; i++) {
        opened.get(0).link(1).trySend(header, filled(header.length, (byte) i));
      }
      pumpUntil(() -> heard.get(0).lost.containsKey(1) && heard.get(1).lost.containsKey(0));
    }
    String higher = heard.get(1).why(0, BrokenLinkException.class);
    String lower = heard.get(0).why(1, IOException.class);
    assertTrue(higher.contains("truncated the file of the memory that ranks 0 and 1"), higher);
    assertTrue(lower.contains("truncated the file of the memory that ranks 0 and 1"), lower);
    assertFalse(heard.get(0).lost.get(1) instanceof BrokenLinkException, "one of them stays");
    assertFalse(MemoryFaults.of(opened.get(0)).lostMemory().isEmpty());
    assertTrue(opened.get(0).link(1).trySend(new FrameHeader(), FrameBody.EMPTY), "dropped");
    InlineExchange gone = (InlineExchange) opened.get(1);
    assertFalse(gone.post(0, 0, 1, new long[6], FrameBody.EMPTY));
  }

  @Test
  void damageInMemoryIsFoundByChecksums() {
    opened.addAll(
        SharedMemoryJob.open(
            2, rank -> settings(rank, 2).withSecurity(Security.none().withChecksums(true))));
    opened.forEach(transport -> heard.add(new Heard()));
    exchange(0, 1);
    FrameHeader header = new FrameHeader();
    header.length = 1000;
    assertTrue(opened.get(0).link(1).trySend(header, filled(header.length, (byte) 0x5a)));
    SharedMemoryLink link = (SharedMemoryLink) opened.get(0).link(1);
    ByteBuffer memory = Objects.requireNonNull(link.memory()).out.bytes().bytes();
    int at = 4096;
    while (memory.getLong(at) != 0x5a5a5a5a5a5a5a5aL) {
      at += 8;
    }
    memory.put(at + 3, (byte) 0x5b);
    int before = heard.get(1).frames;
    pumpUntil(() -> heard.get(1).lost.containsKey(0));
    String why = heard.get(1).why(0, ProtocolException.class);
    assertTrue(why.contains("checksum"), why);
    assertEquals(before, heard.get(1).frames, "no frame that is wrong is ever complete");
  }

  /** A frame that was accepted before there were rings reaches a peer that polls. */
  @Test
  void whoLeavesStaysForThoseWhoAreToGetFrames() throws Exception {
    open(2);
    send(0, 1);
    Thread leaver = new Thread(opened.get(0)::close, "leaver");
    leaver.start();
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!heard.get(1).lost.containsKey(0) && System.nanoTime() - end < 0) {
      opened.get(1).poll(heard.get(1));
    }
    leaver.join();
    assertEquals(1, heard.get(1).frames);
    assertNull(heard.get(1).lost.get(0), "rank 0 said that it leaves");
  }

  @Test
  void whoCannotMakeRingsGivesWay() throws Exception {
    open(2);
    // Somebody has put something else where the file would be.
    Path inTheWay = Files.createFile(place(0).resolve(RankDirectory.RINGS + "1"));
    send(1, 0);
    pumpUntil(() -> heard.get(0).lost.containsKey(1) && heard.get(1).lost.containsKey(0));
    String why = heard.get(0).why(1, BrokenLinkException.class);
    assertTrue(why.contains("bytes are wanted") && why.contains("are free"), why);
    String echo = heard.get(1).why(0, IOException.class);
    assertTrue(echo.contains("bytes are wanted"), echo);
    assertTrue(!(heard.get(1).lost.get(0) instanceof BrokenLinkException));
    assertTrue(Files.notExists(inTheWay));
  }

  @Test
  void ranksOfDifferentHostsAreToldToUseTcp() {
    TransportProvider.Endpoint a = provider.listen(settings(0, 2));
    Roster roster = new Roster(JobEpoch.draw(), List.of(a.address(), "far-away/b00t:/dev/shm/x"));
    String why = assertThrows(JoinException.class, () -> a.open(roster)).getMessage();
    String here = HostAddress.parse(a.address()).host();
    assertTrue(why.contains("host " + here) && why.contains("host far-away"), why);
    assertTrue(why.contains("--transport tcp"), why);
    Roster tcp = new Roster(JobEpoch.draw(), List.of(a.address(), "127.0.0.1:4711"));
    assertThrows(JoinException.class, () -> a.open(tcp));
    a.close();
  }

  @Test
  void whereNoPlaceCanBeMadeJoiningFails() {
    JobSettings settings = settings(0, 2).withMemoryDirectory(directory.resolve("none"));
    String why = assertThrows(JoinException.class, () -> provider.listen(settings)).getMessage();
    assertTrue(why.contains("none") && why.contains("COLLECTIVES_MEMORY_DIRECTORY"), why);
  }

  @Test
  void wherePathsAreTooLongForASocketJoiningFails() throws Exception {
    Path deep = Files.createDirectory(directory.resolve("x".repeat(120)));
    JobSettings settings = settings(0, 2).withMemoryDirectory(deep);
    String why = assertThrows(JoinException.class, () -> provider.listen(settings)).getMessage();
    assertTrue(why.contains("too long") && why.contains("COLLECTIVES_MEMORY_DIRECTORY"), why);
    Files.delete(deep); // Nothing is left in it.
  }

  @Test
  void anInterruptedThreadCanLink() {
    open(2);
    Thread.currentThread().interrupt();
    exchange(0, 1);
    exchange(1, 0);
    opened.get(0).await(PATIENCE_NANOS);
    assertTrue(Thread.interrupted());
  }

  /** Each side sleeps until the other has sent, so a lost wake-up would end in a long sleep. */
  @Test
  void noWakeUpIsLost() throws Exception {
    open(2);
    exchange(0, 1);
    exchange(1, 0);
    int rounds = 2000;
    int first = heard.get(1).frames;
    Thread echo =
        new Thread(
            () -> {
              Heard mine = heard.get(1);
              for (int i = 0; i < rounds; i++) {
                sleepUntil(1, first + i + 1);
                send(1, 0);
              }
              mine.done = true;
            },
            "echo");
    echo.start();
    int before = heard.get(0).frames;
    for (int i = 0; i < rounds; i++) {
      send(0, 1);
      sleepUntil(0, before + i + 1);
    }
    echo.join(TimeUnit.NANOSECONDS.toMillis(PATIENCE_NANOS));
    assertTrue(heard.get(1).done);
  }

  private void sleepUntil(int rank, int frames) {
    Transport transport = opened.get(rank);
    Heard to = heard.get(rank);
    while (to.frames < frames) {
      long start = System.nanoTime();
      transport.await(2 * PATIENCE_NANOS);
      assertTrue(System.nanoTime() - start < PATIENCE_NANOS, "a wake-up was lost");
      transport.poll(to);
    }
  }

  /** Counts frames and keeps losses. */
  private static final class Heard implements FrameSink {
    private final Map<Integer, @Nullable Throwable> lost = new HashMap<>();
    private volatile int frames;
    private volatile boolean done;
    private int open;

    <T extends Throwable> String why(int peer, Class<T> type) {
      return String.valueOf(assertInstanceOf(type, lost.get(peer)).getMessage());
    }

    @Override
    public void header(Link link, FrameHeader header) {
      open = header.length;
      if (open == 0) {
        frames++;
      }
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {
      open -= length;
      if (open == 0) {
        frames++;
      }
    }

    @Override
    public void lost(Link link, @Nullable Throwable cause) {
      lost.put(link.peer(), cause);
    }

    @Override
    public String toString() {
      return frames + " frames, lost " + lost;
    }
  }
}
