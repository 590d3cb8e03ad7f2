package io.collectives.engine.status;

import io.collectives.spi.JobEpoch;
import java.io.IOException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The directory that holds the status sockets of all ranks of one user on a host. Only that user
 * (and root) can enter it. A socket is named after the job, the rank and the process.
 *
 * <p>Who is killed leaves its socket behind. It is deleted when somebody looks, or a later rank
 * opens its own: a socket at which nobody listens refuses connections, while that of a stopped
 * process still takes them.
 */
public final class StatusDirectory {
  /** The most bytes that the address of a Unix-domain socket has on any system. */
  private static final int LONGEST_PATH = 103;

  /** The most sockets that are looked at. */
  private static final int MOST_SOCKETS = 4_096;

  private static final long YOUNG_MILLIS = 10_000;
  private static final String OWN = "rwx------";
  private static final Pattern NAME = Pattern.compile("([0-9a-f]{8})-(\\d{1,9})-(\\d{1,18})");

  private StatusDirectory() {}

  /**
   * The socket of a rank.
   *
   * @param path where it lies
   * @param job the first digits of the job's epoch, which tell its runs apart
   * @param rank in the job
   * @param pid the process, as its own system numbers it
   */
  public record Socket(Path path, String job, int rank, long pid) {
    /** Returns the socket of a file name, null if it is none. */
    static @Nullable Socket of(Path path) {
      Matcher name = NAME.matcher(String.valueOf(path.getFileName()));
      return name.matches()
          ? new Socket(
              path, name.group(1), Integer.parseInt(name.group(2)), Long.parseLong(name.group(3)))
          : null;
    }
  }

  /** The name of a job's run, by which sockets of the same job are known. */
  public static String job(JobEpoch epoch) {
    return epoch.toString().substring(0, 8);
  }

  /** Returns where ranks make the directory: in the first place of these that can be used. */
  public static List<Path> usual() {
    return usual(
        System.getenv(), System.getProperty("java.io.tmpdir"), System.getProperty("user.name"));
  }

  static List<Path> usual(Map<String, String> environment, String temporary, String user) {
    List<Path> places = new ArrayList<>();
    String runtime = environment.getOrDefault("XDG_RUNTIME_DIR", "");
    if (runtime.startsWith("/")) {
      places.add(Path.of(runtime, "collectives"));
    }
    String name = "collectives-" + user.replaceAll("[^A-Za-z0-9._-]", "_");
    places.add(Path.of(temporary).toAbsolutePath().resolve(name));
    Path common = Path.of("/tmp", name);
    if (!places.contains(common)) {
      places.add(common);
    }
    return places;
  }

  /**
   * Makes the path of a rank's socket, in a directory that is made if it is not there.
   *
   * @throws IOException if none of the places can be used; the message says why for each
   */
  static Path socket(List<Path> places, String job, int rank, long pid) throws IOException {
    List<String> reasons = new ArrayList<>();
    for (Path place : places) {
      Path socket = place.resolve(job + "-" + rank + "-" + pid);
      int length = socket.toString().getBytes(StandardCharsets.UTF_8).length;
      if (length > LONGEST_PATH) {
        reasons.add(
            socket + " has " + length + " bytes, and a socket's name at most " + LONGEST_PATH);
        continue;
      }
      try {
        create(place);
        check(place);
        deleteDead(place);
        return socket;
      } catch (IOException | UnsupportedOperationException e) {
        reasons.add(e.getMessage() == null ? e.toString() : e.getMessage());
      }
    }
    throw new IOException(String.join("; ", reasons));
  }

  private static void create(Path place) throws IOException {
    try {
      Files.createDirectory(
          place, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(OWN)));
    } catch (FileAlreadyExistsException e) {
      // It is checked next.
    } catch (IOException e) {
      throw new IOException(place + " cannot be made: " + e, e);
    }
  }

  /**
   * Checks that only this user can enter a directory.
   *
   * @throws IOException that says why not
   */
  public static void check(Path place) throws IOException {
    PosixFileAttributes found;
    try {
      found = Files.readAttributes(place, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      throw new IOException(place + " cannot be looked at: " + e, e);
    }
    if (!found.isDirectory()) {
      throw new IOException(place + " is no directory");
    }
    UserPrincipal user = user();
    if (!found.owner().equals(user)) {
      throw new IOException(place + " belongs to " + found.owner() + ", not to " + user);
    }
    String permissions = PosixFilePermissions.toString(found.permissions());
    if (!permissions.equals(OWN)) {
      throw new IOException(
          place
              + " has permissions "
              + permissions
              + ", and only its owner may enter it: "
              + "run chmod 700 "
              + place);
    }
  }

  private static UserPrincipal user() throws IOException {
    Path process = Path.of("/proc/self");
    if (Files.exists(process)) {
      return Files.getOwner(process);
    }
    Path own = Files.createTempFile("collectives-", ".user");
    try {
      return Files.getOwner(own);
    } finally {
      Files.deleteIfExists(own);
    }
  }

  /**
   * Returns the sockets in a directory at which a process listens, even if it is stopped, and
   * deletes those of dead processes.
   *
   * @throws IOException if the directory cannot be read
   */
  public static List<Socket> living(Path place) throws IOException {
    List<Socket> living = new ArrayList<>();
    for (Socket socket : sockets(place)) {
      if (isAnswering(socket)) {
        living.add(socket);
      } else {
        deleteIfOld(socket);
      }
    }
    return living;
  }

  /** Deletes the sockets of processes that are gone, but for those of other systems. */
  private static void deleteDead(Path place) throws IOException {
    for (Socket socket : sockets(place)) {
      if (ProcessHandle.of(socket.pid).isEmpty() && !isAnswering(socket)) {
        deleteIfOld(socket);
      }
    }
  }

  /** A socket has a name before its process listens at it. */
  private static void deleteIfOld(Socket socket) throws IOException {
    try {
      long made = Files.getLastModifiedTime(socket.path, LinkOption.NOFOLLOW_LINKS).toMillis();
      if (System.currentTimeMillis() - made >= YOUNG_MILLIS) {
        Files.deleteIfExists(socket.path);
      }
    } catch (NoSuchFileException e) {
      // Somebody else was faster.
    }
  }

  private static List<Socket> sockets(Path place) throws IOException {
    List<Socket> sockets = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(place)) {
      for (Path file : files) {
        Socket socket = Socket.of(file);
        if (socket != null && sockets.size() < MOST_SOCKETS) {
          sockets.add(socket);
        }
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    return sockets;
  }

  private static boolean isAnswering(Socket socket) {
    try (SocketChannel knock = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      knock.configureBlocking(false);
      knock.connect(UnixDomainSocketAddress.of(socket.path));
    } catch (ConnectException e) {
      return false;
    } catch (IOException e) {
      return true; // Too many wait to be heard, or this system does not say.
    }
    return true;
  }
}
