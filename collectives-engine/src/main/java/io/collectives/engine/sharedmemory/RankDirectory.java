package io.collectives.engine.sharedmemory;

import io.collectives.spi.Log;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Set;

/**
 * The directory in which a rank can be found, and which only its user can enter: a socket on which
 * it listens, and for moments the files of rings and regions that a peer has not mapped yet.
 *
 * <p><b>What stays behind.</b> A rank deletes its directory when it leaves, or earlier, when it is
 * linked with all others. If it is killed before that, whoever was linked to it deletes it. If all
 * are killed at once, the next job of this user in the same place does so. Whether a rank is dead
 * is found out by knocking at its socket: a dead one's refuses. Where sockets of several hosts may
 * meet (a network file system) that says nothing, so the names of directories begin with what tells
 * hosts apart, and only those of this host, and of this run of it, are touched.
 */
final class RankDirectory {
  private static final Log LOG = Log.of(RankDirectory.class);

  static final String SOCKET = "socket";
  static final String RINGS = "rings-";
  static final String REGION = "region-";

  private static final String PREFIX = "collectives-";
  private static final int BOOT_LENGTH = 13;
  private static final FileAttribute<Set<PosixFilePermission>> FOR_OWNER =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final int STICKY = 01000;
  private static final int WRITABLE_BY_OTHERS = 022;

  /** A rank that is just starting has a directory before it has a socket. */
  private static final long YOUNG_MILLIS = 10_000;

  private RankDirectory() {}

  /** In memory, where the host has such a file system; else where temporary files are. */
  static Path usualPlace() {
    Path memory = Path.of("/dev/shm");
    return Files.isDirectory(memory) && Files.isWritable(memory)
        ? memory
        : Path.of(System.getProperty("java.io.tmpdir"));
  }

  /**
   * Makes a new directory, and deletes those that dead ranks of this user have left.
   *
   * @param boot what tells hosts apart
   */
  static Path create(Path place, String boot) throws IOException {
    return create(place, boot, YOUNG_MILLIS);
  }

  static Path create(Path place, String boot, long youngMillis) throws IOException {
    int mode = (Integer) Files.getAttribute(place, "unix:mode");
    if ((mode & WRITABLE_BY_OTHERS) != 0 && (mode & STICKY) == 0) {
      throw new IOException(
          "others may delete and replace what this user has in "
              + place
              + ": it is writable for them and not sticky; choose another directory, or chmod +t");
    }
    String prefix = PREFIX + boot.substring(0, Math.min(boot.length(), BOOT_LENGTH)) + "-";
    Path own = Files.createTempDirectory(place, prefix, FOR_OWNER).toAbsolutePath();
    UserPrincipal user = Files.getOwner(own);
    try (DirectoryStream<Path> all = Files.newDirectoryStream(place, prefix + "*")) {
      for (Path other : all) {
        if (!other.toAbsolutePath().equals(own) && isOld(other, user, youngMillis)) {
          deleteIfDead(other);
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      LOG.debug("cannot look for what dead ranks have left in {}", place, e);
    }
    return own;
  }

  /** Makes a rank's directory again, which has been deleted; nobody else has its name. */
  static void createAgain(Path directory) throws IOException {
    Files.createDirectory(directory, FOR_OWNER);
  }

  private static boolean isOld(Path directory, UserPrincipal user, long youngMillis) {
    try {
      long modified = Files.getLastModifiedTime(directory, LinkOption.NOFOLLOW_LINKS).toMillis();
      return Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
          && Files.getOwner(directory, LinkOption.NOFOLLOW_LINKS).equals(user)
          && System.currentTimeMillis() - modified >= youngMillis;
    } catch (IOException e) {
      return false; // Somebody else has deleted it.
    }
  }

  /** Knocks at a rank's door, and deletes its directory if nobody listens there. */
  static void deleteIfDead(Path directory) {
    Path socket = directory.resolve(SOCKET);
    try {
      if (!Files.exists(socket, LinkOption.NOFOLLOW_LINKS) || !answers(socket)) {
        deleteDead(directory);
      }
    } catch (IOException e) {
      LOG.debug("cannot tell whether {} is that of a dead rank", directory, e);
    }
  }

  /** Deletes the directory of a rank that is dead. */
  static void deleteDead(Path directory) {
    if (String.valueOf(directory.getFileName()).startsWith(PREFIX)) {
      try {
        delete(directory);
        LOG.debug("deleted {}, which a dead rank has left", directory);
      } catch (IOException e) {
        LOG.debug("cannot delete {}, which a dead rank has left", directory, e);
      }
    }
  }

  private static boolean answers(Path socket) throws IOException {
    try (SocketChannel knock = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      knock.configureBlocking(false);
      knock.connect(UnixDomainSocketAddress.of(socket));
      return true; // Or would, if it were not busy.
    } catch (java.net.ConnectException e) {
      return false;
    }
  }

  /**
   * Deletes a rank's directory with all that may be in it, if it is still there.
   *
   * @throws java.nio.file.DirectoryNotEmptyException if something else is in it
   */
  static void delete(Path directory) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
      for (Path file : files) {
        String name = String.valueOf(file.getFileName());
        if (name.equals(SOCKET) || name.startsWith(RINGS) || name.startsWith(REGION)) {
          Files.deleteIfExists(file);
        }
      }
      Files.deleteIfExists(directory);
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    } catch (NoSuchFileException e) {
      // Somebody else was faster.
    }
  }
}
