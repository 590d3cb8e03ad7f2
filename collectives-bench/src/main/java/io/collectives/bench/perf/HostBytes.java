package io.collectives.bench.perf;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The bytes that the network interfaces of this host have carried, as Linux counts them: with the
 * headers of packets, but those of packets that TCP hands on in one piece once, and without
 * loopback.
 *
 * @param sent bytes so far
 * @param received bytes so far
 */
record HostBytes(long sent, long received) {
  private static final String LOOPBACK = "lo";
  private static final Path COUNTERS = Path.of("/proc/net/dev");
  private static final int RECEIVED = 0;
  private static final int SENT = 8;

  /** Returns the present counts of all interfaces together. */
  static HostBytes now() {
    return of(lines());
  }

  /** Returns the present counts of each interface, by its name. */
  static Map<String, HostBytes> byInterface() {
    return byInterface(lines());
  }

  private static List<String> lines() {
    try {
      return Files.readAllLines(COUNTERS);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Of the lines of {@code /proc/net/dev}: two of headers, one of each interface. */
  static HostBytes of(List<String> lines) {
    long sent = 0;
    long received = 0;
    for (HostBytes each : byInterface(lines).values()) {
      sent += each.sent;
      received += each.received;
    }
    return new HostBytes(sent, received);
  }

  private static Map<String, HostBytes> byInterface(List<String> lines) {
    Map<String, HostBytes> counts = new HashMap<>();
    for (String line : lines.subList(2, lines.size())) {
      String[] parts = line.split(":", 2);
      if (!parts[0].strip().equals(LOOPBACK)) {
        long[] numbers =
            Arrays.stream(parts[1].strip().split("\\s+")).mapToLong(Long::parseLong).toArray();
        counts.put(parts[0].strip(), new HostBytes(numbers[SENT], numbers[RECEIVED]));
      }
    }
    return counts;
  }
}
