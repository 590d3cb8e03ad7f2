package io.collectives.netty;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.spi.Log;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The directory that only a rank's user can enter (mode 0700), in which the rank's Unix-domain
 * socket lies, and where in the world that is. As an address: {@code host/boot:directory}.
 *
 * <p><b>What stays behind.</b> A rank deletes its directory when it leaves. If it is killed, those
 * that were linked to it do so when they leave. If all are killed, the next rank of this user that
 * makes its directory in the same place does. Whether a rank is dead is found out by connecting to
 * its socket: a dead one's refuses. Where directories of several hosts may meet (a network file
 * system) that says nothing, so their names tell of which host, and which run of it, they are, and
 * only those of this one are touched.
 *
 * @param host the name of the host, for people
 * @param boot what tells hosts, and runs of a host, apart; the host's name where the system says no
 *     better
 * @param path of the directory, absolute
 */
record SocketDirectory(String host, String boot, Path path) {
  private static final Log LOG = Log.of(SocketDirectory.class);

  /**
   * The longest path of a socket, in bytes: the system's structure has room for 108 on Linux and
   * 104 elsewhere, one of which is its end.
   */
  static final int PATH_LENGTH = 103;

  /** A rank that is just starting has a directory before it listens. */
  static final long YOUNG_MILLIS = 10_000;

  private static final String PREFIX = "collectives-unix-";
  private static final String SOCKET = "socket";
  private static final int BOOT_LENGTH = 13;
  private static final Pattern ADDRESS =
      Pattern.compile("([!-~&&[^:/]]+)/([!-~&&[^:/]]+):(/[ -~]+)");
  private static final Path BOOT_FILE = Path.of("/proc/sys/kernel/random/boot_id");
  private static final Path HOST_FILE = Path.of("/proc/sys/kernel/hostname"); // Asks no DNS.
  private static final FileAttribute<Set<PosixFilePermission>> FOR_OWNER =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final int STICKY = 01000;
  private static final int WRITABLE_BY_OTHERS = 022;

  /** Where the host has a file system in memory, there; else where temporary files are. */
  static Path usualPlace() {
    Path memory = Path.of("/dev/shm");
    return Files.isDirectory(memory) && Files.isWritable(memory)
        ? memory
        : Path.of(System.getProperty("java.io.tmpdir"));
  }

  /**
   * Makes a new directory, and deletes those that dead ranks of this user have left in the place.
   *
   * @param youngMillis how old they must be
   * @throws IOException if that is not possible, or safe, or a socket's path would be too long
   */
  static SocketDirectory create(Path place, long youngMillis) throws IOException {
    int mode = (Integer) Files.getAttribute(place, "unix:mode");
    if ((mode & WRITABLE_BY_OTHERS) != 0 && (mode & STICKY) == 0) {
      throw new IOException(
          "others may delete and replace what this user has in "
              + place
              + ": it is writable for them and not sticky; chmod +t");
    }
    String host = hostName();
    String boot = boot(host);
    String prefix = PREFIX + boot.substring(0, Math.min(boot.length(), BOOT_LENGTH)) + "-";
    Path path = Files.createTempDirectory(place, prefix, FOR_OWNER).toAbsolutePath();
    SocketDirectory own = new SocketDirectory(host, boot, path);
    try {
      own.checkPath();
    } catch (IOException e) {
      own.delete();
      throw e;
    }
    deleteDead(place, prefix, own, youngMillis);
    return own;
  }

  private void checkPath() throws IOException {
    int length = socket().toString().getBytes(UTF_8).length;
    if (length > PATH_LENGTH) {
      throw new IOException(
          "the path of a Unix-domain socket has at most "
              + PATH_LENGTH
              + " bytes, "
              + socket()
              + " has "
              + length);
    }
    if (!ADDRESS.matcher(toString()).matches()) {
      throw new IOException(path + " has characters that are not ASCII");
    }
  }

  private static void deleteDead(Path place, String prefix, SocketDirectory own, long youngMillis) {
    try (DirectoryStream<Path> all = Files.newDirectoryStream(place, prefix + "*")) {
      UserPrincipal user = Files.getOwner(own.path);
      for (Path other : all) {
        if (!other.toAbsolutePath().equals(own.path) && isOld(other, user, youngMillis)) {
          new SocketDirectory(own.host, own.boot, other.toAbsolutePath()).deleteIfDead();
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      LOG.debug("cannot look for what dead ranks have left in {}", place, e);
    }
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

  /**
   * Reads what {@link #toString} writes.
   *
   * @throws IllegalArgumentException if it is nothing of that kind
   */
  static SocketDirectory parse(String text) {
    Matcher parts = ADDRESS.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is no address of a Unix-domain socket, as host/boot:/directory");
    }
    return new SocketDirectory(parts.group(1), parts.group(2), Path.of(parts.group(3)));
  }

  /** The file of the socket. */
  Path socket() {
    return path.resolve(SOCKET);
  }

  /**
   * Fails if not all ranks can be reached from here.
   *
   * @throws JoinException naming the rank, and what to do
   */
  void checkPeers(JobSettings settings, Roster roster) {
    for (int rank = 0; rank < roster.addresses().size(); rank++) {
      if (roster.addresses().get(rank).isEmpty()) {
        continue; // There is to be no link with it.
      }
      SocketDirectory peer;
      try {
        peer = parse(roster.addresses().get(rank));
      } catch (IllegalArgumentException e) {
        throw new JoinException("rank " + rank + " announced " + e.getMessage(), e);
      }
      if (!peer.boot.equals(boot)) {
        throw new JoinException(
            "rank "
                + settings.rank()
                + " is on host "
                + host
                + " (boot "
                + boot
                + "), rank "
                + rank
                + " on host "
                + peer.host
                + " (boot "
                + peer.boot
                + "): Unix-domain sockets do not reach other hosts; use --transport tcp");
      }
      UserPrincipal mine = owner();
      UserPrincipal theirs = peer.owner();
      if (mine != null && theirs != null && !theirs.equals(mine)) {
        throw new JoinException(
            "rank "
                + settings.rank()
                + " belongs to user "
                + mine.getName()
                + ", rank "
                + rank
                + " to user "
                + theirs.getName()
                + ": over Unix-domain sockets all must belong to one; use --transport tcp");
      }
    }
  }

  /** Nobody if it is not there any more. */
  private @Nullable UserPrincipal owner() {
    try {
      return Files.getOwner(path, LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      return null;
    }
  }

  /** Whether somebody listens there, even if they are too busy to let anybody in. */
  boolean isAnswering() {
    if (!Files.exists(socket(), LinkOption.NOFOLLOW_LINKS)) {
      return false;
    }
    try (SocketChannel knock = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      knock.configureBlocking(false);
      knock.connect(UnixDomainSocketAddress.of(socket()));
    } catch (ConnectException e) {
      return false;
    } catch (IOException e) {
      LOG.debug("cannot tell whether {} is that of a dead rank", this, e);
    }
    return true;
  }

  /** Deletes the directory of a rank that has been killed. */
  void deleteIfDead() {
    if (String.valueOf(path.getFileName()).startsWith(PREFIX) && !isAnswering()) {
      delete();
    }
  }

  /** Deletes the socket and the directory; not if something else is in it. */
  void delete() {
    try {
      Files.deleteIfExists(socket());
      Files.deleteIfExists(path);
    } catch (IOException e) {
      LOG.warn("cannot delete {}", path, e);
    }
  }

  /** All ranks of a host have the same text up to the colon. */
  @Override
  public String toString() {
    return host + "/" + boot + ":" + path;
  }

  private static String boot(String host) {
    try {
      return word(Files.readString(BOOT_FILE).strip());
    } catch (IOException e) {
      return host;
    }
  }

  private static String hostName() {
    try {
      return word(Files.readString(HOST_FILE).strip());
    } catch (IOException e) {
      try {
        return word(InetAddress.getLocalHost().getHostName());
      } catch (UnknownHostException unnamed) {
        return "localhost";
      }
    }
  }

  private static String word(String text) {
    String word = text.replaceAll("[^A-Za-z0-9._-]", "_");
    return word.isEmpty() ? "unnamed" : word.substring(0, Math.min(word.length(), 64));
  }
}
