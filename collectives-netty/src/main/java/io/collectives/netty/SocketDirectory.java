package io.collectives.netty;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.Log;
import io.collectives.internal.RankDirectory;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The directory that only a rank's user can enter (mode 0700), in which the rank's Unix-domain
 * socket lies ({@link RankDirectory}), and where in the world that is. As an address: {@code
 * host/boot:directory}.
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

  private static final String KIND = "unix";
  private static final Pattern ADDRESS =
      Pattern.compile("([!-~&&[^:/]]+)/([!-~&&[^:/]]+):(/[ -~]+)");
  private static final Path BOOT_FILE = Path.of("/proc/sys/kernel/random/boot_id");
  private static final Path HOST_FILE = Path.of("/proc/sys/kernel/hostname"); // Asks no DNS.

  /**
   * Makes a new directory, and deletes those that dead ranks of this user have left in the place.
   *
   * @param youngMillis how old they must be
   * @throws IOException if that is not possible, or safe, or a socket's path would be too long
   */
  static SocketDirectory create(Path place, long youngMillis) throws IOException {
    String host = hostName();
    String boot = boot(host);
    Path path = RankDirectory.create(place, KIND, boot, youngMillis);
    SocketDirectory own = new SocketDirectory(host, boot, path);
    try {
      own.checkPath();
    } catch (IOException e) {
      own.delete();
      throw e;
    }
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
    return path.resolve(RankDirectory.SOCKET);
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
    return RankDirectory.isAnswering(path);
  }

  /** Deletes the directory of a rank that has been killed. */
  void deleteIfDead() {
    RankDirectory.deleteIfDead(path);
  }

  /** Deletes the socket and the directory; not if something else is in it. */
  void delete() {
    try {
      RankDirectory.delete(path);
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
