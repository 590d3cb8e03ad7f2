package io.collectives.engine.status;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSettings;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** A rank answers on a socket that only its user can reach, and nothing but short requests. */
@Tag("once")
@Timeout(60)
@DisabledOnOs(OS.WINDOWS)
class StatusServerTest {
  private static final JobEpoch EPOCH = new JobEpoch(0x0123456789abcdefL, 7);

  @TempDir private Path directory;

  private StatusServer server(@Nullable String report, Path... places) {
    JobSettings settings = JobSettings.of(1, 2, URI.create("tcp://localhost:1")).withJob("night");
    StatusSource source =
        new StatusSource() {
          @Override
          public @Nullable String report(long nanos) {
            return report;
          }

          @Override
          public long memoryLimit() {
            return 4711;
          }

          @Override
          public String flightRecord() {
            return "# flight\n";
          }

          @Override
          public void beginTrace(long nanos) {
            throw new IllegalStateException("planted");
          }

          @Override
          public @Nullable String takeTrace() {
            return null;
          }
        };
    return new StatusServer(
        settings, new Roster(EPOCH, List.of("a:1", "b\u001b:2")), source, List.of(places));
  }

  private static Path awaitSocket(Path place) throws Exception {
    while (true) {
      if (Files.isDirectory(place)) {
        List<StatusDirectory.Socket> living = StatusDirectory.living(place);
        if (!living.isEmpty()) {
          return living.get(0).path();
        }
      }
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    }
  }

  private static String ask(Path socket, String request) throws IOException {
    try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
      channel.write(ByteBuffer.wrap(request.getBytes(StandardCharsets.UTF_8)));
      return new String(Channels.newInputStream(channel).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void itAnswersAndItsSocketIsGoneWhenItIsClosed() throws Exception {
    Path place = directory.resolve("own");
    Path socket;
    try (StatusServer server = server("group\t1\t*\t0\twhole\t\n", place)) {
      server.start();
      socket = awaitSocket(place);
      assertEquals(
          "01234567-1-" + ProcessHandle.current().pid(), String.valueOf(socket.getFileName()));
      assertEquals(
          "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(place)));
      List<String> lines = ask(socket, "status\n").lines().toList();
      assertEquals("collectives-status\t1", lines.get(0));
      assertTrue(lines.contains("rank\t1\t2\t01234567\tnight"), lines::toString);
      assertTrue(lines.contains("group\t1\t*\t0\twhole\t"), lines::toString);
      assertEquals("end", lines.get(lines.size() - 1));
      assertFalse(lines.toString().contains(EPOCH.toString()));
      assertTrue(ask(socket, "roster\n").contains("address\t1\tb :2\n"));
      assertTrue(ask(socket, "stacks\n").contains("StatusServerTest.ask"));
      assertTrue(ask(socket, "kill 1\n").contains("error\tthis version knows status"));
      assertTrue(ask(socket, "trace 5s\n").contains("error\ta trace takes 1 to 60000"));
      assertTrue(ask(socket, "trace 60001\n").contains("error\ta trace takes 1 to 60000"));
      assertTrue(ask(socket, "trace 10\n").contains("planted"));
      assertTrue(ask(socket, "traced\n").contains("error\tnothing was traced"));
      assertTrue(ask(socket, "flight\n").endsWith("\nrecord\n# flight\nend\n"));
    }
    assertFalse(Files.exists(socket));
  }

  @Test
  void whoAsksTooMuchOrNothingKeepsNobodyElseFromAnAnswer() throws Exception {
    Path place = directory.resolve("own");
    try (StatusServer server = server("", place)) {
      server.start();
      Path socket = awaitSocket(place);
      String answer;
      try {
        answer = ask(socket, "status ".repeat(100) + "\n");
      } catch (IOException e) {
        answer = ""; // What it has not read makes the end a reset.
      }
      assertEquals("", answer);
      try (SocketChannel silent = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
        assertTrue(silent.isConnected());
        assertTrue(ask(socket, "status\n").endsWith("end\n"));
      }
    }
  }

  @Test
  void anEngineThatDoesNotLetGoIsTold() throws Exception {
    Path place = directory.resolve("own");
    try (StatusServer server = server(null, place)) {
      server.start();
      assertTrue(ask(awaitSocket(place), "status\n").contains("busy\t1000\n"));
    }
  }

  @Test
  void socketsOfDeadProcessesAreDeletedAndThoseOfOthersAreKept() throws Exception {
    Path place = directory.resolve("own");
    Files.createDirectory(
        place, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    Path dead = place.resolve("00000000-0-999999999");
    Path young = place.resolve("00000000-2-999999997"); // Its process does not listen yet.
    for (Path socket : List.of(dead, young)) {
      ServerSocketChannel.open(StandardProtocolFamily.UNIX)
          .bind(UnixDomainSocketAddress.of(socket))
          .close();
    }
    Files.setLastModifiedTime(dead, FileTime.from(Instant.now().minusSeconds(11)));
    Path other = Files.createFile(place.resolve("notes"));
    Path alive = place.resolve("00000000-1-999999998"); // As of a container with pids of its own.
    try (ServerSocketChannel listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      listening.bind(UnixDomainSocketAddress.of(alive));
      StatusDirectory.socket(List.of(place), "11111111", 0, 1);
      assertFalse(Files.exists(dead));
      assertTrue(Files.exists(other) && Files.exists(alive) && Files.exists(young));
    }
  }

  @Test
  void aPlaceThatOthersCanEnterIsNotUsed() throws Exception {
    Path open = Files.createDirectory(directory.resolve("open"));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path link = Files.createSymbolicLink(directory.resolve("link"), directory.resolve("own"));
    Path good = directory.resolve("good");
    IOException e =
        assertThrows(
            IOException.class, () -> StatusDirectory.socket(List.of(open, link), "1", 0, 1));
    assertTrue(e.getMessage().contains("run chmod 700 " + open), e.getMessage());
    assertTrue(e.getMessage().contains(link + " is no directory"), e.getMessage());
    assertEquals(
        good.resolve("11111111-0-1"),
        StatusDirectory.socket(List.of(open, link, good), "11111111", 0, 1));
  }

  @Test
  void aPlaceWithALongNameIsPassedOver() throws Exception {
    Path longest = directory.resolve("x".repeat(100));
    Path good = directory.resolve("good");
    assertEquals(
        good, StatusDirectory.socket(List.of(longest, good), "11111111", 0, 1).getParent());
    IOException e =
        assertThrows(IOException.class, () -> StatusDirectory.socket(List.of(longest), "1", 0, 1));
    assertTrue(e.getMessage().contains("at most 103"), e.getMessage());
    assertFalse(Files.exists(longest));
  }

  @Test
  void aRelativeRuntimeDirectoryIsNotUsed() {
    assertEquals(
        List.of(Path.of("/run/user/7/collectives"), Path.of("/tmp/collectives-a_b")),
        StatusDirectory.usual(Map.of("XDG_RUNTIME_DIR", "/run/user/7"), "/tmp", "a/b"));
    assertEquals(
        List.of(Path.of("/var/tmp/collectives-me"), Path.of("/tmp/collectives-me")),
        StatusDirectory.usual(Map.of("XDG_RUNTIME_DIR", "run"), "/var/tmp", "me"));
  }
}
