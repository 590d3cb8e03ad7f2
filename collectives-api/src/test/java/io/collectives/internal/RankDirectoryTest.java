package io.collectives.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RankDirectoryTest {
  private static final String BOOT = "0123456789abcdef";

  @TempDir Path place;

  private Path create() throws IOException {
    return create(BOOT, RankDirectory.YOUNG_MILLIS);
  }

  private Path create(String boot, long youngMillis) throws IOException {
    return RankDirectory.create(place, "shm", boot, youngMillis);
  }

  private static ServerSocketChannel listen(Path directory) throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(directory.resolve(RankDirectory.SOCKET)));
    return server;
  }

  @Test
  void onlyItsOwnerCanEnterIt() throws IOException {
    Path own = create();
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(own)));
    RankDirectory.delete(own);
    assertFalse(Files.exists(own));
  }

  @Test
  void whatDeadRanksHaveLeftIsDeletedByTheNext() throws IOException {
    Path dead = create();
    listen(dead).close();
    Files.createFile(dead.resolve(RankDirectory.RINGS + "3"));
    Path neverListened = create();
    Path ofAnotherKind = RankDirectory.create(place, "unix", BOOT, RankDirectory.YOUNG_MILLIS);
    listen(ofAnotherKind).close();
    Path own = create(BOOT, 0);
    assertTrue(Files.exists(own));
    assertFalse(Files.exists(dead));
    assertFalse(Files.exists(neverListened));
    assertFalse(Files.exists(ofAnotherKind), "whoever comes clears all kinds");
  }

  @Test
  void whatMayBeInUseStays() throws IOException {
    Path live = create();
    Path ofAnotherHost = create("f" + BOOT, RankDirectory.YOUNG_MILLIS);
    Path strange = create();
    Path file = Files.createFile(strange.resolve("notes.txt"));
    try (ServerSocketChannel server = listen(live)) {
      assertTrue(server.isOpen());
      create(BOOT, 0);
      assertTrue(Files.exists(live.resolve(RankDirectory.SOCKET)));
      assertTrue(Files.exists(ofAnotherHost));
      assertTrue(Files.exists(file));
    }
    Path young = create();
    create();
    assertTrue(Files.exists(young), "a rank that is just starting");
  }

  @Test
  void deletesNothingThatIsNoRanks() throws IOException {
    Path other = Files.createDirectory(place.resolve("precious"));
    RankDirectory.deleteDead(other);
    RankDirectory.deleteDead(place.resolve("collectives-gone"));
    assertTrue(Files.exists(other));
  }

  @Test
  void isNotMadeWhereOthersCouldReplaceIt() throws IOException {
    Files.setPosixFilePermissions(place, PosixFilePermissions.fromString("rwxrwxrwx"));
    IOException error = assertThrows(IOException.class, () -> create());
    assertTrue(error.getMessage().contains("sticky"), error.getMessage());
    Files.setPosixFilePermissions(place, PosixFilePermissions.fromString("rwx------"));
  }
}
