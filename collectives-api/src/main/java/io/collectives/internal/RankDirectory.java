package io.collectives.internal;

import java.io.IOException;
import java.net.ConnectException;
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
import java.util.regex.Pattern;

/**
 * The directory in which a rank can be found by ranks of its host, and which only its user can
 * enter: a socket on which it listens, and for moments the files of rings and regions that a peer
 * has not mapped yet.
 *
 * <p><b>What stays behind.</b> A rank deletes its directory when it leaves, or earlier, when nobody
 * needs it any more. If it is killed before that, whoever was linked to it deletes it. If all are
 * killed at once, the next rank of this user in the same place does so, whatever transports of
 * shared memory or Unix-domain sockets the one and the other use. Whether a rank is dead is found
 * out by knocking at its socket: a dead one's refuses. Where sockets of several hosts may meet (a
 * network file system) that says nothing, so the names of directories tell hosts apart, and only
 * those of this host, and of this run of it, are touched.
 *
 * <p><b>Threads.</b> Any may use it.
 */
public final class RankDirectory {
  private static final Log LOG = Log.of(RankDirectory.class);

  /** The name of the socket. */
  public static final String SOCKET = "socket";

  /** The prefix of the names of files of rings. */
  public static final String RINGS = "rings-";

  /** The prefix of the names of files of regions. */
  public static final String REGION = "region-";

  /** In milliseconds: a rank that is just starting has a directory before it has a socket. */
  public static final long YOUNG_MILLIS = 10_000;

  private static final String PREFIX = "collectives-";
  private static final int BOOT_LENGTH = 13;
  private static final FileAttribute<Set<PosixFilePermission>> FOR_OWNER =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final int STICKY = 01000;
  private static final int WRITABLE_BY_OTHERS = 022;

  private RankDirectory() {}

  /** In memory, where the host has such a file system; else where temporary files are. */
  public static Path usualPlace() {
    Path memory = Path.of("/dev/shm");
    return Files.isDirectory(memory) && Files.isWritable(memory)
        ? memory
        : Path.of(System.getProperty("java.io.tmpdir"));
  }

  /**
   * Makes a new directory, and deletes those that dead ranks of this user have left in the place.
   *
   * @param kind of transport, letters, so that people see whose it is
   * @param boot what tells hosts, and runs of a host, apart
   * @param youngMillis how old those must be; {@link #YOUNG_MILLIS}
   * @throws IOException if that is not possible, or not safe
   */
  public static Path create(Path place, String kind, String boot, long youngMillis)
      throws IOException {
    int mode = (Integer) Files.getAttribute(place, "unix:mode");
    if ((mode & WRITABLE_BY_OTHERS) != 0 && (mode & STICKY) == 0) {
      throw new IOException(
          "others may delete and replace what this user has in "
              + place
              + ": it is writable for them and not sticky; choose another directory, or chmod +t");
    }
    Path own =
        Files.createTempDirectory(place, PREFIX + kind + "-" + hint(boot) + "-", FOR_OWNER)
            .toAbsolutePath();
    Pattern name = Pattern.compile(PREFIX + "[a-z]+-" + Pattern.quote(hint(boot)) + "-.*");
    try (DirectoryStream<Path> all = Files.newDirectoryStream(place, PREFIX + "*")) {
      UserPrincipal user = Files.getOwner(own);
      for (Path other : all) {
        if (name.matcher(String.valueOf(other.getFileName())).matches()
            && !other.toAbsolutePath().equals(own)
            && isOld(other, user, youngMillis)) {
          deleteIfDead(other);
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      LOG.debug("cannot look for what dead ranks have left in {}", place, e);
    }
    return own;
  }

  private static String hint(String boot) {
    return boot.substring(0, Math.min(boot.length(), BOOT_LENGTH));
  }

  /**
   * Makes a rank's directory again, which has been deleted; nobody else has its name.
   *
   * @throws IOException if that is not possible
   */
  public static void createAgain(Path directory) throws IOException {
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
  public static void deleteIfDead(Path directory) {
    if (!isAnswering(directory)) {
      deleteDead(directory);
    }
  }

  /** Returns whether a process listens in a rank's directory, even if it is too busy to answer. */
  public static boolean isAnswering(Path directory) {
    Path socket = directory.resolve(SOCKET);
    if (!Files.exists(socket, LinkOption.NOFOLLOW_LINKS)) {
      return false;
    }
    try (SocketChannel knock = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      knock.configureBlocking(false);
      knock.connect(UnixDomainSocketAddress.of(socket));
    } catch (ConnectException e) {
      return false;
    } catch (IOException e) {
      LOG.debug("cannot tell whether {} is that of a dead rank", directory, e);
    }
    return true;
  }

  /** Deletes the directory of a rank that is dead. */
  public static void deleteDead(Path directory) {
    if (String.valueOf(directory.getFileName()).startsWith(PREFIX)) {
      try {
        delete(directory);
        LOG.debug("deleted {}, which a dead rank has left", directory);
      } catch (IOException e) {
        LOG.debug("cannot delete {}, which a dead rank has left", directory, e);
      }
    }
  }

  /**
   * Deletes a rank's directory with all that may be in it, if it is still there.
   *
   * @throws java.nio.file.DirectoryNotEmptyException if something else is in it
   * @throws IOException if it cannot be deleted
   */
  public static void delete(Path directory) throws IOException {
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
