package io.collectives.internal;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The address at which ranks of the same host reach a rank: {@code host/boot:directory}, with the
 * directory of {@link RankDirectory}.
 *
 * @param host the name of the host, for people
 * @param boot what tells hosts, and runs of a host, apart; the host's name where the system says no
 *     better
 * @param directory the rank's directory
 */
public record HostAddress(String host, String boot, Path directory) {
  private static final Pattern FORM = Pattern.compile("([!-~&&[^:/]]+)/([!-~&&[^:/]]+):(/[ -~]+)");
  private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");
  private static final Path HOST = Path.of("/proc/sys/kernel/hostname"); // Asks no DNS.

  /** The address of a directory of this host. */
  public static HostAddress here(Path directory) {
    String host = word(firstLine(HOST, HostAddress::localHost));
    return new HostAddress(host, word(firstLine(BOOT, () -> host)), directory);
  }

  /**
   * Reads what {@link #toString} writes.
   *
   * @throws IllegalArgumentException if it is nothing of that kind
   */
  public static HostAddress parse(String text) {
    Matcher parts = FORM.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is no address of a rank of a host, as host/boot:/directory");
    }
    return new HostAddress(parts.group(1), parts.group(2), Path.of(parts.group(3)));
  }

  /** Returns whether another rank is on the same host, which has not been started again. */
  public boolean isSameHost(HostAddress other) {
    return boot.equals(other.boot);
  }

  /** The socket on which the rank listens. */
  public Path socket() {
    return directory.resolve(RankDirectory.SOCKET);
  }

  /**
   * The addresses of all ranks; nothing for those with which there is to be no link.
   *
   * @param whyNot what a rank of another host hears, for people
   * @throws JoinException naming the rank that cannot be reached from here
   */
  public List<@Nullable HostAddress> peers(JobSettings settings, Roster roster, String whyNot) {
    List<@Nullable HostAddress> peers = new ArrayList<>();
    for (int rank = 0; rank < roster.addresses().size(); rank++) {
      String announced = roster.addresses().get(rank);
      if (announced.isEmpty()) {
        peers.add(null);
        continue;
      }
      HostAddress peer;
      try {
        peer = parse(announced);
      } catch (IllegalArgumentException e) {
        throw new JoinException("rank " + rank + " announced " + e.getMessage(), e);
      }
      if (!peer.isSameHost(this)) {
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
                + "): "
                + whyNot
                + "; use --transport tcp");
      }
      peers.add(peer);
    }
    return peers;
  }

  /** Returns whether this address can be announced: its text can be parsed again. */
  public boolean isPrintable() {
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
