package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.Security;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.RendezvousProvider;
import io.collectives.spi.Roster;
import io.collectives.testkit.FreePort;
import io.collectives.testkit.TcpProxy;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks of one job join, and others are told why they do not. */
@Tag("once")
class TcpRendezvousTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration SHORT = Duration.ofMillis(700);

  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "rendezvous-test");
            thread.setDaemon(true);
            return thread;
          });
  private final List<Rendezvous> opened = new ArrayList<>();
  private int port;

  @BeforeEach
  void choosePort() throws IOException {
    port = FreePort.find();
  }

  @AfterEach
  void close() {
    opened.forEach(Rendezvous::close);
    threads.shutdownNow();
  }

  @Test
  void isFoundByScheme() {
    RendezvousProvider provider =
        ServiceLoader.load(RendezvousProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(TcpRendezvousProvider.class::isInstance)
            .findAny()
            .orElseThrow();
    assertTrue(
        provider.open(JobSettings.of(0, 2, URI.create("tcp://localhost:29500"))).isPresent());
    assertFalse(
        provider.open(JobSettings.of(0, 2, URI.create("file:///tmp/somewhere"))).isPresent());
    for (String wrong :
        new String[] {"tcp://localhost", "tcp://localhost:0", "tcp://:29500", "tcp:29500"}) {
      JobSettings settings = JobSettings.of(0, 2, URI.create(wrong));
      assertContains(
          assertThrows(JoinException.class, () -> provider.open(settings)),
          wrong,
          "tcp://host:port");
    }
  }

  @Test
  void givesAllTheSameRoster() throws Exception {
    List<Future<Roster>> met = new ArrayList<>();
    for (int rank = 8;
        rank >= 0;
        rank--) { // Rank 0 comes last; the others try again until it listens.
      met.add(meet(announce(rank, 9), LONG));
    }
    Roster first = met.get(0).get();
    for (Future<Roster> one : met) {
      assertEquals(first, one.get());
    }
    for (int rank = 0; rank < 9; rank++) {
      assertEquals("address-" + rank, first.addresses().get(rank));
    }
  }

  @Test
  void drawsAnotherEpochForAnotherRun() throws Exception {
    Roster first = meetTwo().get(0).get();
    Roster second = meetTwo().get(0).get();
    assertEquals(first.addresses(), second.addresses());
    assertFalse(first.epoch().equals(second.epoch()));
  }

  private List<Future<Roster>> meetTwo() throws Exception {
    List<Future<Roster>> met = List.of(meet(announce(0, 2), LONG), meet(announce(1, 2), LONG));
    for (Future<Roster> one : met) {
      one.get();
    }
    return met;
  }

  @Test
  void meetsOverIpv6() throws Exception {
    try {
      port = FreePort.find("::1");
    } catch (IOException e) {
      Assumptions.abort("no IPv6 on this host");
    }
    Future<Roster> zero = meet("[::1]", announce(0, 2), LONG);
    Future<Roster> one = meet("[::1]", announce(1, 2), LONG);
    assertEquals(zero.get(), one.get());
  }

  @Test
  void aRankAloneNeedsNobody() throws Exception {
    assertEquals(List.of("address-0"), meet(announce(0, 1), SHORT).get().addresses());
  }

  @Test
  void refusesOtherJobsSizesVersionsAndTransports() throws Exception {
    Future<Roster> zero = meet(announce(0, 2), LONG);
    assertContains(
        refused(new Announcement("other", 1, 2, 1, "tcp", "a", "h/2")), "\"other\"", "\"job\"");
    assertContains(
        refused(new Announcement("job", 1, 3, 1, "tcp", "a", "h/2")),
        "expects 3 ranks",
        "rank 0 (host/0) 2");
    assertContains(
        refused(new Announcement("job", 1, 2, 7, "tcp", "a", "h/2")), "version 1", "rank 7");
    assertContains(
        refused(new Announcement("job", 1, 2, 1, "shm", "a", "h/2")), "transport shm", "tcp");
    assertFalse(zero.isDone());
    Future<Roster> one = meet(announce(1, 2), LONG);
    assertEquals(zero.get(), one.get());
  }

  @Test
  void refusesASeatThatIsTaken() throws Exception {
    Future<Roster> zero = meet(announce(0, 3), LONG);
    Future<Roster> one = meet(announce(1, 3), LONG);
    Announcement second = new Announcement("job", 1, 3, 1, "tcp", "elsewhere", "host/77");
    // Whichever of the two comes first has the rank; the other is told both places.
    Future<Roster> again = meet(second, LONG);
    Future<Roster> loser = firstDone(one, again);
    assertContains(failure(loser), "host/1", "host/77", "rank 1");
    assertContains(
        refused(new Announcement("job", 0, 3, 1, "tcp", "elsewhere", "host/88")),
        "host/0",
        "host/88");
    Roster roster = meet(announce(2, 3), LONG).get();
    assertEquals(roster, zero.get());
    assertEquals(roster, (loser == one ? again : one).get());
  }

  @Test
  void givesBackThePlaceOfARankThatDied() throws Exception {
    Future<Roster> zero = meet(announce(0, 3), LONG);
    sit(announce(1, 3)).close();
    Future<Roster> two = meet(announce(2, 3), LONG);
    Roster roster = null;
    while (roster == null) { // The end of the first one may be seen a little later.
      try {
        roster = meet(announce(1, 3), LONG).get();
      } catch (ExecutionException e) {
        assertContains(assertInstanceOf(JoinException.class, e.getCause()), "already");
      }
    }
    assertEquals(roster, zero.get());
    assertEquals(roster, two.get());
  }

  @Test
  void aRankThatDiesWhileOthersAreAwaitedIsNamedToAll() throws Exception {
    Future<Roster> zero = meetImpatiently(announce(0, 4));
    Future<Roster> one = meetImpatiently(announce(1, 4));
    sit(announce(2, 4)).close();
    for (Future<Roster> survivor : List.of(zero, one)) {
      assertContains(
          failure(survivor), "rank 2 (host/2)", "was lost", "nobody has taken its place");
    }
  }

  @Test
  void aRankZeroThatDiesIsNamedToAllWhoHadMetIt() throws Exception {
    Future<Roster> one;
    try (ServerSocket host = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
      one = meetImpatiently(announce(1, 3));
      try (Socket client = host.accept()) {
        assertTrue(client.getInputStream().read() >= 0, "it has announced itself");
      }
    }
    assertContains(failure(one), "rank 0", "was met by rank 1", "was lost");
  }

  /** Whatever a false rank 0 says, and however slowly: the limit stands over the whole of it. */
  @ParameterizedTest
  @ValueSource(strings = {"roster", "challenge", "refusal"})
  void anAnswerThatNeverEndsIsNotWaitedForLongerThanTheLimit(String kind) throws Exception {
    byte[] answer =
        switch (kind) {
          case "roster" ->
              RendezvousWire.roster(
                  new Roster(new JobEpoch(1, 2), List.of("a".repeat(300), "b".repeat(300))));
          case "challenge" -> RendezvousWire.challenge(new byte[RendezvousWire.NONCE_LENGTH]);
          default -> RendezvousWire.refusal("x".repeat(1000));
        };
    Security security = kind.equals("challenge") ? secret("one") : Security.none();
    long pause = LONG.toMillis() / 2 / answer.length;
    try (ServerSocket host = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
      Future<Roster> one = meet(security, announce(1, 2), SHORT);
      try (Socket client = host.accept()) {
        int at = 0;
        long start = System.nanoTime();
        while (!one.isDone() && System.nanoTime() - start < LONG.toNanos()) {
          // A byte now and then, so that no single read is long; never the last one.
          if (at < answer.length - 1) {
            try {
              client.getOutputStream().write(answer[at++]);
            } catch (IOException e) {
              break; // The client has gone.
            }
          }
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(pause));
        }
        assertTrue(at < answer.length - 1, "the client waits for all of the answer");
      }
      assertContains(failure(one), "met nobody", "gave no answer", SHORT.toMillis() + " ms");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aResolverThatNeverAnswersIsNotWaitedForLongerThanTheLimit(int rank) {
    JobSettings settings = JobSettings.of(rank, 2, URI.create("tcp://meeting.example:" + port));
    Rendezvous place =
        new TcpRendezvous(settings, "meeting.example", port, host -> new CompletableFuture<>());
    opened.add(place);
    assertContains(
        failure(threads.submit(() -> place.meet(announce(rank, 2), SHORT))),
        "meeting.example",
        "the resolver of this host gives no answer");
  }

  /** Rank 0 as well: a pod of Kubernetes runs before a name server knows it. */
  @Test
  void aNameThatIsNotYetKnownIsLookedUpAgain() throws Exception {
    List<Future<Roster>> met = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      AtomicInteger asked = new AtomicInteger();
      JobSettings settings = JobSettings.of(rank, 2, URI.create("tcp://pod-0.example:" + port));
      Rendezvous place =
          new TcpRendezvous(
              settings,
              "pod-0.example",
              port,
              host ->
                  asked.incrementAndGet() < 3
                      ? CompletableFuture.failedFuture(new UnknownHostException(host))
                      : CompletableFuture.completedFuture(InetAddress.getLoopbackAddress()));
      opened.add(place);
      Announcement me = announce(rank, 2);
      met.add(threads.submit(() -> place.meet(me, LONG)));
    }
    assertEquals(met.get(0).get(), met.get(1).get());
  }

  @Test
  void rankZeroSaysThatItsNameIsUnknown() {
    assertContains(
        failure(meet("no-such-host.invalid", announce(0, 2), SHORT)),
        "cannot listen",
        "no-such-host.invalid");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aRankThatIsInterruptedGivesUpAndStaysInterrupted(int rank) throws Exception {
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    CompletableFuture<JoinException> given = new CompletableFuture<>();
    try (ServerSocket host =
        rank == 0 ? null : new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
      Rendezvous place = rendezvous("127.0.0.1");
      Thread waiter =
          new Thread(
              () -> {
                try {
                  place.meet(announce(rank, 2), LONG);
                } catch (JoinException e) {
                  interrupted.complete(Thread.currentThread().isInterrupted());
                  given.complete(e);
                }
              });
      waiter.setDaemon(true);
      waiter.start();
      if (host == null) {
        connectSoon().close();
      } else {
        assertTrue(host.accept().getInputStream().read() >= 0, "it has announced itself");
      }
      waiter.interrupt();
      assertContains(given.get(), "rank " + rank, "was interrupted while meeting");
      assertTrue(interrupted.get());
    }
  }

  /** Joins as a rank that gives a lost one a quarter of a second to come back. */
  private Future<Roster> meetImpatiently(Announcement me) {
    JobSettings settings =
        JobSettings.of(0, 2, URI.create("tcp://127.0.0.1:" + port))
            .withCalls(CallSettings.defaults().withSilenceLimit(Duration.ofMillis(250)));
    Rendezvous rendezvous = new TcpRendezvousProvider().open(settings).orElseThrow();
    opened.add(rendezvous);
    return threads.submit(() -> rendezvous.meet(me, LONG));
  }

  @Test
  void namesTheMissingToAllWhoCame() throws Exception {
    List<Future<Roster>> met = new ArrayList<>();
    for (int rank : new int[] {0, 1, 4}) {
      met.add(meet(announce(rank, 5), SHORT));
    }
    for (Future<Roster> one : met) {
      assertContains(failure(one), "ranks 2, 3 have not come", "3 of 5", "job");
    }
  }

  @Test
  void theShortestPatienceCounts() throws Exception {
    long start = System.nanoTime();
    Future<Roster> zero = meet(announce(0, 3), LONG);
    Future<Roster> one = meet(announce(1, 3), SHORT);
    assertContains(failure(one), "rank 2 has not come", "rank 1 waits no longer");
    assertContains(failure(zero), "rank 2 has not come", "rank 1 waits no longer");
    assertTrue(System.nanoTime() - start < LONG.toNanos() / 2);
  }

  @Test
  void saysThatNobodyListens() {
    assertContains(
        failure(meet(announce(1, 2), SHORT)), "127.0.0.1:" + port, "nobody listens", "rank 0");
    assertContains(failure(meet("no-such-host.invalid", announce(1, 2), SHORT)), "no such host");
  }

  @Test
  void saysThatTheAddressIsTaken() throws Exception {
    try (ServerSocket other = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
      assertTrue(other.isBound());
      assertContains(failure(meet(announce(0, 2), SHORT)), "cannot listen", "127.0.0.1:" + port);
    }
    assertContains(failure(meet("0.0.0.0", announce(0, 2), SHORT)), "0.0.0.0", "one address");
  }

  @Test
  void unauthenticatedPeersDisturbNobody() throws Exception {
    Future<Roster> zero = meet(announce(0, 2), LONG);
    List<Socket> sockets = new ArrayList<>();
    try {
      byte[] random = new byte[5000];
      new Random(1).nextBytes(random);
      byte[] tooLong = RendezvousWire.announcement(announce(1, 2), 0, null);
      tooLong[4] = tooLong[5] = (byte) 0xff;
      byte[] cut = RendezvousWire.announcement(announce(1, 2), 0, null);
      cut[cut.length - 20] = 120; // A text that is longer than what is left.
      byte[] http = "GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
      for (byte[] bytes : List.of(random, tooLong, cut, http, new byte[0])) {
        Socket socket = connectSoon();
        sockets.add(socket);
        socket.getOutputStream().write(bytes);
      }
      sockets.get(3).setSoTimeout(20_000);
      assertEquals(
          -1,
          assertDoesNotThrow(() -> sockets.get(3).getInputStream().read()),
          "no answer to HTTP");
      Future<Roster> one = meet(announce(1, 2), LONG);
      assertEquals(zero.get(), one.get());
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  @Test
  void closeEndsTheJoin() throws Exception {
    Rendezvous host = rendezvous("127.0.0.1");
    Future<Roster> zero = threads.submit(() -> host.meet(announce(0, 3), LONG));
    try (Socket one = sit(announce(1, 3))) {
      host.close();
      host.close();
      assertContains(failure(zero), "closed");
      DataInputStream in = new DataInputStream(one.getInputStream());
      assertContains(
          assertThrows(JoinException.class, () -> RendezvousWire.readAnswer(in, 3)), "closed");
    }
    assertThrows(
        IOException.class, () -> new Socket("127.0.0.1", port).close(), "nobody listens any more");
  }

  @Test
  void meetsElsewhereOnlyWithASecretOrIfToldThatItIsInsecure() {
    // An address of the documentation, which no host has.
    for (int rank = 0; rank < 2; rank++) {
      assertContains(
          failure(meet("192.0.2.1", announce(rank, 2), SHORT)),
          "192.0.2.1",
          "COLLECTIVES_SECRET_FILE",
          "COLLECTIVES_INSECURE_ANYONE_MAY_JOIN=true");
    }
    for (Security allowed : List.of(secret("one"), Security.none().insecureAnyoneMayJoin())) {
      Rendezvous rendezvous = rendezvous("192.0.2.1", allowed);
      assertContains(
          assertThrows(JoinException.class, () -> rendezvous.meet(announce(0, 2), SHORT)),
          "cannot listen at tcp://192.0.2.1");
    }
  }

  @Test
  void meetsWithASecret() throws Exception {
    List<Future<Roster>> met = new ArrayList<>();
    for (int rank = 4; rank >= 0; rank--) {
      met.add(meet(secret("one"), announce(rank, 5), LONG));
    }
    for (Future<Roster> one : met) {
      assertEquals(met.get(0).get(), one.get());
    }
  }

  @Test
  void refusesWhoDoesNotKnowTheSecret() throws Exception {
    Future<Roster> zero = meet(secret("one"), announce(0, 3), Duration.ofSeconds(2));
    assertContains(
        failure(meet(secret("two"), announce(1, 3), LONG)), "rank 1", "another job secret");
    assertContains(
        failure(meet(Security.none(), announce(1, 3), LONG)), "rank 1", "has no job secret");
    Future<Roster> one = meet(secret("one"), announce(1, 3), LONG);
    assertContains(failure(zero), "rank 2 has not come", "refused: rank 1", "no job secret");
    assertContains(failure(one), "rank 2 has not come");
  }

  @Test
  void refusesASecretThatTheHostDoesNotHave() throws Exception {
    Future<Roster> zero = meet(announce(0, 2), LONG);
    assertContains(
        failure(meet(secret("one"), announce(1, 2), LONG)), "has a job secret", "has none");
    assertFalse(zero.isDone());
  }

  @Test
  void tellsTheEpochToNobodyWhoReplaysAnAnnouncement() throws Exception {
    Future<Roster> zero = meet(secret("one"), announce(0, 2), LONG);
    byte[] announcement =
        RendezvousWire.announcement(announce(1, 2), 30_000, new byte[RendezvousWire.NONCE_LENGTH]);
    try (Socket first = connectSoon();
        Socket second = connectSoon()) {
      byte[] nonce = challenge(first, announcement);
      byte[] hmac = hmac(RendezvousWire.Side.CLIENT, announcement, nonce);
      challenge(second, announcement);
      second.getOutputStream().write(hmac);
      assertContains(
          assertThrows(
              JoinException.class,
              () -> RendezvousWire.readAnswer(new DataInputStream(second.getInputStream()), 2)),
          "another job secret");
      assertFalse(zero.isDone());
      // A server's proof is no client's.
      try (Socket third = connectSoon()) {
        byte[] other = challenge(third, announcement);
        third.getOutputStream().write(hmac(RendezvousWire.Side.SERVER, announcement, other));
        assertThrows(
            JoinException.class,
            () -> RendezvousWire.readAnswer(new DataInputStream(third.getInputStream()), 2));
      }
      // Where it belongs it is right.
      first.getOutputStream().write(hmac);
      assertEquals(
          zero.get(), RendezvousWire.readAnswer(new DataInputStream(first.getInputStream()), 2));
    }
  }

  private static byte[] challenge(Socket socket, byte[] announcement) throws IOException {
    socket.setSoTimeout(20_000);
    socket.getOutputStream().write(announcement);
    return RendezvousWire.readChallenge(new DataInputStream(socket.getInputStream()));
  }

  private static byte[] hmac(RendezvousWire.Side side, byte[] announcement, byte[] nonce) {
    return RendezvousWire.hmac(
        JobSecret.of("the secret called one"), side, announcement, nonce, new byte[0]);
  }

  @Test
  void believesNoRosterOfAHostThatDoesNotKnowTheSecret() throws Exception {
    Roster roster = new Roster(new JobEpoch(1, 2), List.of("a", "b"));
    byte[] bytes = RendezvousWire.roster(roster);
    byte[] nonce = new byte[RendezvousWire.NONCE_LENGTH];
    // The client's own proof sent back, or none at all.
    for (boolean asksForProof : new boolean[] {true, false}) {
      try (ServerSocket host = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
        Future<Roster> one = meet(secret("one"), announce(1, 2), LONG);
        try (Socket client = host.accept()) {
          DataInputStream in = new DataInputStream(client.getInputStream());
          in.readInt();
          in.readFully(new byte[in.readUnsignedShort()]);
          byte[] hmac = new byte[RendezvousWire.HMAC_LENGTH];
          if (asksForProof) {
            client.getOutputStream().write(RendezvousWire.challenge(nonce));
            in.readFully(hmac);
          }
          client.getOutputStream().write(bytes);
          client.getOutputStream().write(hmac);
          assertContains(failure(one), asksForProof ? "does not know the job secret" : "no proof");
        }
      }
    }
  }

  @Test
  void believesNoRosterThatWasChangedOnItsWay() throws Exception {
    Future<Roster> zero = meet(secret("one"), announce(0, 2), LONG);
    connectSoon().close();
    try (TcpProxy proxy =
        new TcpProxy(
            "127.0.0.1:" + port,
            (bytes, length, at) -> {
              int address =
                  new String(bytes, 0, length, StandardCharsets.US_ASCII).indexOf("address-0");
              if (address >= 0) {
                bytes[address]++;
              }
            })) {
      String away = proxy.address();
      Rendezvous client =
          new TcpRendezvousProvider()
              .open(JobSettings.of(1, 2, URI.create("tcp://" + away)).withSecurity(secret("one")))
              .orElseThrow();
      opened.add(client);
      assertContains(
          assertThrows(JoinException.class, () -> client.meet(announce(1, 2), LONG)),
          "does not know the job secret");
      assertEquals("address-0", zero.get().addresses().get(0));
    }
  }

  @Test
  void severalJobsMeetAtSeveralPorts() throws Exception {
    List<Future<Roster>> rosters = new ArrayList<>();
    for (int job = 0; job < 4; job++) {
      choosePort();
      for (int rank = 0; rank < 3; rank++) {
        rosters.add(
            meet(
                new Announcement("job-" + job, rank, 3, 1, "tcp", "a" + job + rank, "here"), LONG));
      }
    }
    for (int i = 0; i < rosters.size(); i++) {
      int job = i / 3;
      assertEquals(
          List.of("a" + job + 0, "a" + job + 1, "a" + job + 2), rosters.get(i).get().addresses());
    }
  }

  @Test
  void refusesToAnnounceTooMuch() {
    Announcement long1 = new Announcement("job", 1, 2, 1, "tcp", "x".repeat(700), "h");
    assertThrows(JoinException.class, () -> rendezvous("127.0.0.1").meet(long1, SHORT));
    Announcement longest =
        new Announcement("j".repeat(128), 1, 2, 1, "tcp", "x".repeat(256), "h".repeat(5000));
    assertTrue(
        RendezvousWire.announcement(longest, 0, new byte[RendezvousWire.NONCE_LENGTH]).length
            <= RendezvousWire.ANNOUNCEMENT_LIMIT);
  }

  private static Announcement announce(int rank, int size) {
    return new Announcement(
        "job", rank, size, Rendezvous.PROTOCOL_VERSION, "tcp", "address-" + rank, "host/" + rank);
  }

  private static Security secret(String name) {
    return Security.none().withSecret(JobSecret.of("the secret called " + name));
  }

  private Rendezvous rendezvous(String host) {
    return rendezvous(host, Security.none());
  }

  private Rendezvous rendezvous(String host, Security security) {
    JobSettings settings =
        JobSettings.of(0, 2, URI.create("tcp://" + host + ":" + port)).withSecurity(security);
    Rendezvous rendezvous = new TcpRendezvousProvider().open(settings).orElseThrow();
    opened.add(rendezvous);
    return rendezvous;
  }

  private Future<Roster> meet(Announcement me, Duration timeout) {
    return meet("127.0.0.1", me, timeout);
  }

  private Future<Roster> meet(Security security, Announcement me, Duration timeout) {
    Rendezvous rendezvous = rendezvous("127.0.0.1", security);
    return threads.submit(() -> rendezvous.meet(me, timeout));
  }

  private Future<Roster> meet(String host, Announcement me, Duration timeout) {
    Rendezvous rendezvous = rendezvous(host);
    return threads.submit(() -> rendezvous.meet(me, timeout));
  }

  private JoinException refused(Announcement me) {
    return failure(meet(me, LONG));
  }

  /** Takes a rank by nothing but bytes; it is taken when another one for it is refused. */
  private Socket sit(Announcement me) throws Exception {
    while (true) {
      Socket sitting = connectSoon();
      sitting.getOutputStream().write(RendezvousWire.announcement(me, 30_000, null));
      Rendezvous other = rendezvous("127.0.0.1");
      Future<Roster> attempt = threads.submit(() -> other.meet(me, LONG));
      try {
        attempt.get(500, TimeUnit.MILLISECONDS);
      } catch (ExecutionException e) {
        assertContains(assertInstanceOf(JoinException.class, e.getCause()), "already");
        return sitting;
      } catch (TimeoutException e) {
        other.close(); // It was faster: once more.
        sitting.close();
      }
    }
  }

  private static Future<Roster> firstDone(Future<Roster> a, Future<Roster> b) {
    while (!a.isDone() && !b.isDone()) {
      Thread.onSpinWait();
    }
    return a.isDone() ? a : b;
  }

  private Socket connectSoon() {
    while (true) {
      try {
        return new Socket("127.0.0.1", port);
      } catch (IOException e) {
        Thread.onSpinWait();
      }
    }
  }

  private static JoinException failure(Future<Roster> joining) {
    return assertInstanceOf(
        JoinException.class, assertThrows(ExecutionException.class, joining::get).getCause());
  }

  private static void assertContains(Exception e, String... parts) {
    for (String part : parts) {
      assertTrue(String.valueOf(e.getMessage()).contains(part), part + " in: " + e.getMessage());
    }
  }
}
