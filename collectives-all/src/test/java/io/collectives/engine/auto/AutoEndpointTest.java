package io.collectives.engine.auto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.Security;
import io.collectives.TlsFiles;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Link;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import io.collectives.spi.TransportProvider.Endpoint;
import io.collectives.testkit.Certificates;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which transports a rank listens with, opens and closes. */
@Timeout(60)
class AutoEndpointTest {
  @TempDir Path directory;

  private final List<Endpoint> endpoints = new ArrayList<>();
  private final List<Transport> transports = new ArrayList<>();

  @AfterEach
  void closeAll() throws IOException {
    transports.forEach(Transport::close);
    endpoints.forEach(Endpoint::close);
    if (Files.isDirectory(memory())) {
      assertEquals(0, places(""), "nothing is left");
    }
  }

  @Test
  void opensOnlyWhatIsUsedOnOneHost() throws IOException {
    listen("a", "a");
    assertTrue(answers(0));
    assertEquals(4, places(""));
    assertEquals(2, places("unix-"));
    open();
    assertEquals(List.of("shm"), transports.get(0).names());
    assertFalse(transports.get(0) instanceof MixedTransport, "nothing is put in between");
    assertFalse(answers(0), "nobody is to come by TCP");
    assertEquals(0, places("unix-"));
    assertEquals(2, places(""));
  }

  @Test
  void opensOnlyWhatIsUsedBetweenHosts() throws IOException {
    listen("a", "b");
    open();
    assertEquals(List.of("tcp"), transports.get(1).names());
    assertTrue(answers(0));
    assertEquals(0, places(""));
  }

  @Test
  void mixesWhereItMust() throws IOException {
    listen("a", "a", "b");
    open();
    assertEquals(List.of("shm", "tcp"), transports.get(0).names());
    assertEquals(List.of("tcp"), transports.get(2).names());
    assertInstanceOf(MixedTransport.class, transports.get(0));
    assertTrue(
        transports.get(0).memoryLimit() > transports.get(2).memoryLimit() / 2,
        "a link of each kind counts");
    assertEquals(0, places("unix-"));
    assertEquals(2, places(""));
  }

  @Test
  void usesSocketsWhereThereIsNoSharedMemory() {
    TlsFiles files =
        new Certificates(directory)
            .certify(TlsFiles.identity("default", 0), TlsFiles.identity("default", 1));
    for (int rank = 0; rank < 2; rank++) {
      endpoints.add(
          new AutoTransportProvider()
              .listen(settings(rank, 2, "a").withSecurity(Security.none().withTls(files))));
    }
    open();
    assertEquals(List.of("unix"), transports.get(0).names(), "TLS rules shared memory out");
  }

  /** An announcement is bounded, as unauthenticated peers may say no more. */
  @Test
  void leavesOutWhatIsTooLongToAnnounce() throws IOException {
    String job = "j".repeat(128);
    for (int rank = 0; rank < 2; rank++) {
      endpoints.add(new AutoTransportProvider().listen(settings(rank, 2, "a").withJob(job)));
      String address = endpoints.get(rank).address();
      assertTrue(job.length() + address.length() <= 384, address);
      assertEquals(Set.of("shm", "tcp"), AutoAddress.parse(address).addresses().keySet());
    }
    open();
    assertEquals(List.of("shm"), transports.get(0).names());
  }

  @Test
  void leavesOutWhatDoesNotWork() {
    for (int rank = 0; rank < 2; rank++) {
      endpoints.add(
          new AutoTransportProvider()
              .listen(settings(rank, 2, "a").withMemoryDirectory(directory.resolve("not there"))));
    }
    assertEquals(Set.of("tcp"), AutoAddress.parse(endpoints.get(0).address()).addresses().keySet());
    open();
    assertEquals(List.of("tcp"), transports.get(0).names());
  }

  @Test
  void aWrongAddressIsAnErrorAndClosesTheRest() throws IOException {
    JobSettings wrong = settings(0, 2, "a").withListen("0.0.0.0", 0);
    assertThrows(JoinException.class, () -> new AutoTransportProvider().listen(wrong));
    assertEquals(0, places(""));
  }

  @Test
  void aRankAloneOpensOne() throws IOException {
    listen("a");
    open();
    assertEquals(List.of("shm"), transports.get(0).names());
    assertFalse(answers(0));
  }

  @Test
  void saysWhichPairHasNoTransport() throws IOException {
    listen("a", "b");
    List<String> addresses = new ArrayList<>();
    for (Endpoint endpoint : endpoints) {
      addresses.add(endpoint.address().replaceAll(" tcp=\\S+", ""));
    }
    Roster roster = new Roster(JobEpoch.draw(), addresses);
    JoinException e = assertThrows(JoinException.class, () -> endpoints.get(0).open(roster));
    assertTrue(e.getMessage().contains("from rank 0 to rank 1"), e.getMessage());
    assertTrue(e.getMessage().contains("shm, unix"), e.getMessage());
  }

  /** Ranks 0 and 2 share memory, rank 1 is elsewhere. */
  @ParameterizedTest
  @CsvSource({"shm, 1", "tcp, 2"})
  void nobodyComesInByAnotherTransport(String name, int intruder) {
    listen("a", "b", "a");
    JobEpoch epoch = JobEpoch.draw();
    List<String> announced = endpoints.stream().map(Endpoint::address).toList();
    Transport victim = endpoints.get(0).open(new Roster(epoch, announced));
    transports.add(victim);
    Ears heard = new Ears();
    TransportProvider provider =
        ServiceLoader.load(TransportProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(found -> found.name().equals(name))
            .findFirst()
            .orElseThrow();
    Endpoint own =
        provider.listen(settings(intruder, 3, "a").withJoinTimeout(Duration.ofMillis(500)));
    String[] known = {"", "", ""};
    known[0] = AutoAddress.parse(announced.get(0)).addresses().get(name);
    known[intruder] = own.address();
    Transport wrong = own.open(new Roster(epoch, List.of(known)));
    transports.add(wrong);
    Ears answered = new Ears();
    FrameHeader header = new FrameHeader();
    header.kind = FrameHeader.Kind.FAILURE;
    assertTrue(wrong.link(0).trySend(header, FrameBody.EMPTY));
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!answered.lost && !heard.frames && System.nanoTime() - end < 0) {
      victim.poll(heard);
      wrong.poll(answered);
    }
    assertTrue(answered.lost, "it is sent away");
    assertFalse(heard.frames || heard.lost, "rank 0 has no such link");
  }

  /** A sink that keeps what a rank has been given. */
  private static final class Ears implements FrameSink {
    boolean frames;
    boolean lost;

    @Override
    public void header(Link link, FrameHeader header) {
      frames = true;
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {}

    @Override
    public void lost(Link link, @Nullable Throwable cause) {
      lost = true;
    }
  }

  private Path memory() {
    return directory.resolve("memory");
  }

  private void listen(String... hosts) {
    for (int rank = 0; rank < hosts.length; rank++) {
      endpoints.add(new AutoTransportProvider().listen(settings(rank, hosts.length, hosts[rank])));
    }
  }

  private JobSettings settings(int rank, int size, String host) {
    try {
      Files.createDirectories(memory());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return JobSettings.of(rank, size, URI.create("tcp://localhost:1"))
        .withMemoryDirectory(memory())
        .withHost(host);
  }

  private void open() {
    Roster roster = new Roster(JobEpoch.draw(), endpoints.stream().map(Endpoint::address).toList());
    endpoints.forEach(endpoint -> transports.add(endpoint.open(roster)));
  }

  /** Returns whether somebody listens where a rank has listened by TCP. */
  private boolean answers(int rank) throws IOException {
    String address = AutoAddress.parse(endpoints.get(rank).address()).addresses().get("tcp");
    int colon = address.lastIndexOf(':');
    try (Socket socket =
        new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)))) {
      return socket.isConnected();
    } catch (ConnectException e) {
      return false;
    }
  }

  private long places(String kind) throws IOException {
    try (Stream<Path> all = Files.list(memory())) {
      return all.filter(path -> path.getFileName().toString().startsWith("collectives-" + kind))
          .count();
    }
  }
}
