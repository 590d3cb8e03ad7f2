package io.collectives.engine.sharedmemory;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.collectives.JobSettings;
import io.collectives.internal.HostAddress;
import io.collectives.internal.RankDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/**
 * The key that tells whether two ranks reach each other through the files of a directory: they must
 * be on the same host, see the same directory by the same name, and belong to the same user.
 * Containers on one host may have file systems of their own in the same place, and user numbers of
 * their own.
 *
 * @param host the name of the host, for people
 * @param boot what tells hosts, and runs of a host, apart
 * @param place what tells directories, as this process sees them, and users apart
 * @param room how many pairs of ranks can have rings in the directory
 */
public record SharedMemoryDomain(String host, String boot, String place, int room) {
  private static final Path PROCESS = Path.of("/proc/self");

  /** Returns the domain of a rank with these settings. */
  public static SharedMemoryDomain of(JobSettings settings) {
    Path wanted = settings.memoryDirectory();
    Path directory = (wanted == null ? RankDirectory.usualPlace() : wanted).toAbsolutePath();
    HostAddress address = HostAddress.here(directory);
    String name = settings.host() == null ? "" : "@" + settings.host();
    return new SharedMemoryDomain(
        address.host(), address.boot(), place(directory) + name, room(directory, settings));
  }

  /**
   * Returns whether ranks of both domains reach each other through the files of a directory; this
   * is symmetric.
   */
  public boolean isSame(SharedMemoryDomain other) {
    return key().equals(other.key());
  }

  /** Returns the key of the domain, which all its ranks have and no others. */
  public String key() {
    return boot + ":" + place;
  }

  private static String place(Path directory) {
    String facts;
    try {
      facts =
          directory
              + " "
              + Files.getAttribute(directory, "unix:dev")
              + " "
              + Files.getAttribute(directory, "unix:ino")
              + " "
              + user();
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
      facts = directory.toString(); // Here nothing can be shared.
    }
    CRC32C sum = new CRC32C();
    sum.update(facts.getBytes(UTF_8));
    return Long.toHexString(sum.getValue());
  }

  private static String user() throws IOException {
    return Files.isDirectory(PROCESS)
        ? Files.getAttribute(PROCESS, "unix:uid") + " " + userNamespace()
        : System.getProperty("user.name");
  }

  private static String userNamespace() {
    try {
      return Files.readSymbolicLink(PROCESS.resolve("ns/user")).toString();
    } catch (IOException e) {
      return ""; // The system has none.
    }
  }

  private static int room(Path directory, JobSettings settings) {
    long pairs = directory.toFile().getUsableSpace() / SharedMemoryTransport.ringsLength(settings);
    return (int) Math.min(pairs, Integer.MAX_VALUE);
  }
}
