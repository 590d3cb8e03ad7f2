package io.collectives.netty;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.HostAddress;
import io.collectives.internal.Log;
import io.collectives.internal.RankDirectory;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The directory that only a rank's user can enter (mode 0700), in which the rank's Unix-domain
 * socket lies ({@link RankDirectory}).
 */
record SocketDirectory(HostAddress address) {
  private static final Log LOG = Log.of(SocketDirectory.class);

  /**
   * The longest path of a socket, in bytes: the system's structure has room for 108 on Linux and
   * 104 elsewhere, one of which is its end.
   */
  static final int PATH_LENGTH = 103;

  private static final String KIND = "unix";

  /**
   * Makes a new directory, and deletes those that dead ranks of this user have left in the place.
   *
   * @param youngMillis how old they must be
   * @throws IOException if that is not possible, or safe, or a socket's path would be too long
   */
  static SocketDirectory create(Path place, long youngMillis) throws IOException {
    Path path = RankDirectory.create(place, KIND, HostAddress.here(place).boot(), youngMillis);
    SocketDirectory own = new SocketDirectory(HostAddress.here(path));
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
    if (!address.isPrintable()) {
      throw new IOException(address.directory() + " has characters that are not ASCII");
    }
  }

  /**
   * Reads what {@link #toString} writes.
   *
   * @throws IllegalArgumentException if it is nothing of that kind
   */
  static SocketDirectory parse(String text) {
    return new SocketDirectory(HostAddress.parse(text));
  }

  /** The file of the socket. */
  Path socket() {
    return address.socket();
  }

  /**
   * Fails if not all ranks can be reached from here.
   *
   * @throws JoinException naming the rank, and what to do
   */
  void checkPeers(JobSettings settings, Roster roster) {
    List<@Nullable HostAddress> peers =
        address.peers(settings, roster, "Unix-domain sockets do not reach other hosts");
    UserPrincipal mine = owner(address);
    for (int rank = 0; rank < peers.size(); rank++) {
      HostAddress peer = peers.get(rank);
      UserPrincipal theirs = peer == null ? null : owner(peer);
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

  /** Returns the owner of a rank's directory; null if it is not there any more. */
  private static @Nullable UserPrincipal owner(HostAddress of) {
    try {
      return Files.getOwner(of.directory(), LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      return null;
    }
  }

  /** Returns whether a process listens there, even if it is too busy to accept a connection. */
  boolean isAnswering() {
    return RankDirectory.isAnswering(address.directory());
  }

  /** Deletes the directory of a rank that has been killed. */
  void deleteIfDead() {
    RankDirectory.deleteIfDead(address.directory());
  }

  /** Deletes the socket and the directory; not if something else is in it. */
  void delete() {
    try {
      RankDirectory.delete(address.directory());
    } catch (IOException e) {
      LOG.warn("cannot delete {}", address.directory(), e);
    }
  }

  /** All ranks of a host have the same text up to the colon. */
  @Override
  public String toString() {
    return address.toString();
  }
}
