package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.HostAddress;
import io.collectives.internal.RankDirectory;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SocketDirectoryTest {
  private static final JobSettings SETTINGS =
      TcpJob.settings(0, 2, "127.0.0.1", CallSettings.defaults());

  @TempDir Path place;

  private SocketDirectory create() throws IOException {
    return SocketDirectory.create(place, RankDirectory.YOUNG_MILLIS);
  }

  private static ServerSocketChannel listen(SocketDirectory directory) throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    return server.bind(UnixDomainSocketAddress.of(directory.socket()));
  }

  @Test
  void onlyItsOwnerCanEnterIt() throws IOException {
    SocketDirectory own = create();
    assertEquals(
        "rwx------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(own.address().directory())));
    own.delete();
    assertFalse(Files.exists(own.address().directory()));
  }

  @Test
  void isReadAsItIsWritten() throws IOException {
    SocketDirectory own = create();
    assertEquals(own, SocketDirectory.parse(own.toString()));
    for (String other : new String[] {"", "127.0.0.1:80", "a/b:relative", "a/:/x", "/b:/x"}) {
      assertThrows(IllegalArgumentException.class, () -> SocketDirectory.parse(other), other);
    }
  }

  @Test
  void whatDeadRanksHaveLeftIsDeletedByTheNext() throws IOException {
    SocketDirectory dead = create();
    listen(dead).close();
    assertTrue(Files.exists(dead.socket()));
    SocketDirectory neverListened = create();
    SocketDirectory own = SocketDirectory.create(place, 0);
    assertTrue(Files.exists(own.address().directory()));
    assertFalse(Files.exists(dead.address().directory()));
    assertFalse(Files.exists(neverListened.address().directory()));
  }

  @Test
  void whatMayBeInUseStays() throws IOException {
    SocketDirectory live = create();
    Path ofAnotherHost = Files.createDirectory(place.resolve("collectives-unix-elsewhere-1"));
    Path notes = Files.createFile(create().address().directory().resolve("notes.txt"));
    try (ServerSocketChannel server = listen(live)) {
      SocketDirectory.create(place, 0);
      assertTrue(server.isOpen());
      assertTrue(Files.exists(live.socket()));
      assertTrue(Files.exists(ofAnotherHost));
      assertTrue(Files.exists(notes));
    }
    SocketDirectory young = create();
    create();
    assertTrue(Files.exists(young.address().directory()), "a rank that is just starting");
  }

  /** Whatever a peer has announced. */
  @Test
  void deletesNothingThatIsNoRanks() throws IOException {
    Path other = Files.createDirectory(place.resolve("precious"));
    Path file = Files.createFile(other.resolve("socket"));
    new SocketDirectory(new HostAddress("host", "boot", other)).deleteIfDead();
    assertTrue(Files.exists(file));
  }

  @Test
  void isNotMadeWhereOthersCouldReplaceIt() throws IOException {
    Files.setPosixFilePermissions(place, PosixFilePermissions.fromString("rwxrwxrwx"));
    IOException error = assertThrows(IOException.class, this::create);
    assertTrue(error.getMessage().contains("sticky"), error.getMessage());
    assertEquals(List.of(), left());
  }

  @Test
  void isNotMadeWhereASocketsPathWouldBeTooLong() throws IOException {
    Path deep = Files.createDirectory(place.resolve("d".repeat(SocketDirectory.PATH_LENGTH)));
    IOException error =
        assertThrows(
            IOException.class, () -> SocketDirectory.create(deep, RankDirectory.YOUNG_MILLIS));
    assertTrue(
        error.getMessage().contains("at most 103 bytes") && error.getMessage().contains("/socket"),
        error.getMessage());
    try (var made = Files.list(deep)) {
      assertEquals(List.of(), made.toList());
    }
  }

  @Test
  void namesThoseWhoCannotBeReached() throws IOException {
    SocketDirectory own = create();
    own.checkPeers(SETTINGS, roster(own.toString(), create().toString()));
    own.checkPeers(SETTINGS, roster(own.toString(), own + "-gone"));
    refused(own, "oak/another-boot:/dev/shm/x", "rank 1 on host oak (boot another-boot)");
    refused(own, "127.0.0.1:4711", "rank 1 announced \"127.0.0.1:4711\"");
  }

  @Test
  void namesThoseWhoBelongToOthers() throws IOException {
    SocketDirectory own = create();
    SocketDirectory theirs = create();
    UserPrincipal nobody =
        place.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("nobody");
    try {
      Files.setOwner(theirs.address().directory(), nobody);
    } catch (IOException e) {
      Assumptions.abort("only root can give a directory to somebody else");
    }
    refused(own, theirs.toString(), "rank 1 to user nobody");
  }

  private static void refused(SocketDirectory own, String peer, String reason) {
    String message =
        assertThrows(
                JoinException.class, () -> own.checkPeers(SETTINGS, roster(own.toString(), peer)))
            .getMessage();
    assertTrue(message.contains(reason), message);
  }

  private static Roster roster(String zero, String one) {
    return new Roster(JobEpoch.draw(), List.of(zero, one));
  }

  private List<Path> left() throws IOException {
    try (var left = Files.list(place)) {
      return left.toList();
    }
  }
}
