package io.collectives.engine.sharedmemory;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a rank is reached: {@code host/boot:directory}.
 *
 * @param host the name of the host, for people
 * @param boot what tells hosts, and runs of a host, apart; the host's name where the system says no
 *     better
 * @param directory the rank's directory
 */
record HostAddress(String host, String boot, Path directory) {
  private static final Pattern FORM = Pattern.compile("([!-~&&[^:/]]+)/([!-~&&[^:/]]+):([ -~]+)");
  private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");
  private static final Path HOST = Path.of("/proc/sys/kernel/hostname");

  /** The address of a directory of this host. */
  static HostAddress here(Path directory) {
    String host = word(firstLine(HOST, HostAddress::localHost));
    return new HostAddress(host, word(firstLine(BOOT, () -> host)), directory);
  }

  /**
   * Reads what {@link #toString} writes.
   *
   * @throws IllegalArgumentException if it is nothing of that kind
   */
  static HostAddress parse(String text) {
    Matcher parts = FORM.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is no address of shared memory, as host/boot:/directory");
    }
    return new HostAddress(parts.group(1), parts.group(2), Path.of(parts.group(3)));
  }

  boolean isSameHost(HostAddress other) {
    return boot.equals(other.boot);
  }

  /** Whether this address survives being announced. */
  boolean isPrintable() {
    return toString().length() <= 256 && FORM.matcher(toString()).matches();
  }

  /** All ranks of a host have the same text up to the colon. */
  @Override
  public String toString() {
    return host + "/" + boot + ":" + directory;
  }

  private interface Fallback {
    String text();
  }

  private static String firstLine(Path file, Fallback fallback) {
    try {
      return Files.readString(file).strip();
    } catch (IOException e) {
      return fallback.text();
    }
  }

  private static String localHost() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "localhost";
    }
  }

  private static String word(String text) {
    String word = text.replaceAll("[^A-Za-z0-9._-]", "_");
    return word.isEmpty() ? "unnamed" : word.substring(0, Math.min(word.length(), 64));
  }
}
