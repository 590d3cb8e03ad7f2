package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.Security;
import io.collectives.internal.LinkLifecycle;
import io.collectives.internal.RankDirectory;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.TransportProvider;
import io.netty.channel.epoll.Epoll;
import java.io.IOException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** In what Unix-domain sockets differ from TCP: where they are found, and what they leave. */
@Timeout(60)
class UnixTransportTest {
  @TempDir Path directory;

  private JobSettings settings(int rank) {
    return Ranks.settings(rank).withMemoryDirectory(directory);
  }

  private Ranks open(SocketKind kind, UnaryOperator<List<String>> told, JobSettings... all) {
    Assumptions.assumeTrue(!kind.isNative() || Epoll.isAvailable(), "epoll is for Linux");
    return Ranks.open(TcpJob.provider(kind, TcpTransport.SLOTS), told, all);
  }

  private Ranks open(SocketKind kind) {
    return open(kind, addresses -> addresses, settings(0), settings(1));
  }

  private List<Path> left() throws IOException {
    try (var left = Files.list(directory)) {
      return left.toList();
    }
  }

  @Test
  void isFoundByName() {
    assertTrue(
        ServiceLoader.load(TransportProvider.class).stream()
            .anyMatch(found -> found.get().name().equals("unix")));
  }

  @Test
  void onlyItsUserCanReachAnEndpointThatLeavesNothing() throws Exception {
    try (TransportProvider.Endpoint endpoint = new UnixTransportProvider().listen(settings(0))) {
      SocketDirectory own = SocketDirectory.parse(endpoint.address());
      assertEquals(List.of(own.address().directory()), left());
      assertEquals(
          "rwx------",
          PosixFilePermissions.toString(Files.getPosixFilePermissions(own.address().directory())));
      assertTrue(own.isAnswering());
    }
    assertEquals(List.of(), left());
  }

  @ParameterizedTest
  @EnumSource(names = ".*_UNIX", mode = EnumSource.Mode.MATCH_ALL)
  void aRankThatLeavesDeletesItsSocket(SocketKind kind) throws Exception {
    try (Ranks ranks = open(kind)) {
      ranks.exchange(0, 1);
      ranks.exchange(1, 0);
      assertEquals(2, left().size());
      ranks.get(0).transport.close();
      assertEquals(1, left().size());
      ranks.get(1).transport.close();
      assertEquals(List.of(), left());
    }
  }

  /** The higher one of two asks whether the other lives, the lower one does not. */
  @ParameterizedTest
  @EnumSource(names = ".*_UNIX", mode = EnumSource.Mode.MATCH_ALL)
  void whoeverSurvivesDeletesWhatTheKilledOneHasLeft(SocketKind kind) throws Exception {
    for (int victim = 0; victim < 2; victim++) {
      try (Ranks ranks = open(kind)) {
        Ranks.Rank survivor = ranks.get(1 - victim);
        ranks.exchange(0, 1);
        ranks.get(victim).transport.kill();
        ranks.pumpUntil(() -> survivor.losses == 1);
        assertInstanceOf(IOException.class, survivor.cause);
        assertFalse(survivor.cause instanceof BrokenLinkException, survivor.message());
        assertEquals(2, left().size());
        survivor.transport.close();
        assertEquals(List.of(), left());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = ".*_UNIX", mode = EnumSource.Mode.MATCH_ALL)
  void ofTwoThatLiveTheHigherOneGivesWay(SocketKind kind) throws Exception {
    try (Ranks ranks = open(kind)) {
      ranks.exchange(0, 1);
      TcpTransport zero = ranks.get(0).transport;
      zero.loop().enter();
      try {
        Objects.requireNonNull(((TcpLink) zero.link(1)).connection()).channel().close();
      } finally {
        zero.loop().leave();
      }
      ranks.pumpUntil(() -> ranks.get(0).losses == 1 && ranks.get(1).losses == 1);
      assertInstanceOf(BrokenLinkException.class, ranks.get(1).cause);
      assertInstanceOf(IOException.class, ranks.get(0).cause, () -> ranks.get(0).message());
      assertFalse(ranks.get(0).cause instanceof BrokenLinkException, ranks.get(0).message());
      ranks.get(1).transport.close();
      assertEquals(1, left().size(), "rank 0 lives");
    }
  }

  @ParameterizedTest
  @EnumSource(names = ".*_UNIX", mode = EnumSource.Mode.MATCH_ALL)
  void losesTheLinkAtOnceWhenNobodyListens(SocketKind kind) throws Exception {
    SocketDirectory dead = SocketDirectory.create(directory, RankDirectory.YOUNG_MILLIS);
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(dead.socket())).close();
    for (String nobody : List.of(dead.toString(), dead + "-gone")) {
      try (Ranks one = open(kind, own -> List.of(nobody, own.get(0)), settings(1))) {
        one.get(0).transport.link(0);
        one.pumpUntil(() -> one.get(0).losses == 1);
        assertTrue(
            one.get(0).message().contains("nobody listens any more at " + nobody),
            one.get(0).message());
      }
    }
  }

  /** A full backlog refuses at once; that is no sign of death. */
  @ParameterizedTest
  @EnumSource(names = ".*_UNIX", mode = EnumSource.Mode.MATCH_ALL)
  void triesAgainWhereTooManyWait(SocketKind kind) throws Exception {
    SocketDirectory zero = SocketDirectory.create(directory, RankDirectory.YOUNG_MILLIS);
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(zero.socket());
    List<SocketChannel> crowd = new ArrayList<>();
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        Ranks one = open(kind, own -> List.of(zero.toString(), own.get(0)), settings(1))) {
      server.bind(address, 1).configureBlocking(false);
      try {
        while (crowd.size() < 100) {
          SocketChannel next = SocketChannel.open(StandardProtocolFamily.UNIX);
          crowd.add(next);
          next.configureBlocking(false);
          assertTrue(next.connect(address));
        }
        Assumptions.abort("this system lets any number wait");
      } catch (SocketException e) {
        assertTrue(crowd.size() > 1, e.toString());
      }
      TcpLink link = (TcpLink) one.get(0).transport.link(0);
      for (int i = 0; i < 1000; i++) {
        one.pump();
      }
      assertEquals(0, one.get(0).losses, one.get(0).message());
      for (int i = 0; i < crowd.size() - 1; i++) {
        Objects.requireNonNull(server.accept()).close();
      }
      one.pumpUntil(() -> link.answer() == LinkLifecycle.Answer.OWN_COUNTS);
      one.pumpUntil(() -> hasAccepted(server));
    } finally {
      for (SocketChannel waiting : crowd) {
        waiting.close();
      }
    }
  }

  private static boolean hasAccepted(ServerSocketChannel server) {
    try (SocketChannel next = server.accept()) {
      return next != null;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void unauthenticatedPeersMustKnowTheSecretHereToo() throws Exception {
    try (Ranks ranks =
        open(
            SocketKind.bestUnix(),
            addresses -> addresses,
            settings(0).withSecurity(Security.none().withSecret(JobSecret.of("one secret of us"))),
            settings(1)
                .withSecurity(
                    Security.none().withSecret(JobSecret.of("another secret than theirs"))))) {
      ranks.get(1).transport.link(0);
      ranks.pumpUntil(() -> ranks.get(1).losses == 1);
      assertInstanceOf(ProtocolException.class, ranks.get(1).cause);
      assertTrue(ranks.get(1).message().contains("secret"), ranks.get(1).message());
    }
  }

  @Test
  void saysWhatToDoWhereItCannotListen() throws Exception {
    Path deep = Files.createDirectory(directory.resolve("d".repeat(100)));
    String message = refused(settings(0).withMemoryDirectory(deep));
    assertTrue(
        message.contains("at most 103 bytes") && message.contains("COLLECTIVES_MEMORY_DIRECTORY"),
        message);
    Path missing = directory.resolve("missing");
    message = refused(settings(0).withMemoryDirectory(missing));
    assertTrue(message.contains(missing.toString()), message);
  }

  private static String refused(JobSettings settings) {
    return String.valueOf(
        assertThrows(JoinException.class, () -> new UnixTransportProvider().listen(settings))
            .getMessage());
  }
}
