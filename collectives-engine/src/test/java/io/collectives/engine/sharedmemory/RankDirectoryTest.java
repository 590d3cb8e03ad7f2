package io.collectives.engine.sharedmemory;

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

  private static ServerSocketChannel listen(Path directory) throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(directory.resolve(RankDirectory.SOCKET)));
    return server;
  }

  @Test
  void onlyItsOwnerCanEnterIt() throws IOException {
    Path own = RankDirectory.create(place, BOOT);
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(own)));
    RankDirectory.delete(own);
    assertFalse(Files.exists(own));
  }

  @Test
  void whatDeadRanksHaveLeftIsDeletedByTheNext() throws IOException {
    Path dead = RankDirectory.create(place, BOOT);
    listen(dead).close();
    Files.createFile(dead.resolve(RankDirectory.RINGS + "3"));
    Path neverListened = RankDirectory.create(place, BOOT);
    Path own = RankDirectory.create(place, BOOT, 0);
    assertTrue(Files.exists(own));
    assertFalse(Files.exists(dead));
    assertFalse(Files.exists(neverListened));
  }

  @Test
  void whatMayBeInUseStays() throws IOException {
    Path live = RankDirectory.create(place, BOOT);
    Path ofAnotherHost = RankDirectory.create(place, "f" + BOOT);
    Path strange = RankDirectory.create(place, BOOT);
    Path file = Files.createFile(strange.resolve("notes.txt"));
    try (ServerSocketChannel server = listen(live)) {
      assertTrue(server.isOpen());
      RankDirectory.create(place, BOOT, 0);
      assertTrue(Files.exists(live.resolve(RankDirectory.SOCKET)));
      assertTrue(Files.exists(ofAnotherHost));
      assertTrue(Files.exists(file));
    }
    Path young = RankDirectory.create(place, BOOT);
    RankDirectory.create(place, BOOT);
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
    IOException error = assertThrows(IOException.class, () -> RankDirectory.create(place, BOOT));
    assertTrue(error.getMessage().contains("sticky"), error.getMessage());
    Files.setPosixFilePermissions(place, PosixFilePermissions.fromString("rwx------"));
  }
}
