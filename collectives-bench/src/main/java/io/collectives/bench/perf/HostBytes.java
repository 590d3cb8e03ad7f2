package io.collectives.bench.perf;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * The bytes that the network interfaces of this host have carried, as Linux counts them: with the
 * headers of packets, but those of packets that TCP hands on in one piece once, and without
 * loopback.
 *
 * @param sent bytes so far
 * @param received bytes so far
 */
record HostBytes(long sent, long received) {
  private static final Path COUNTERS = Path.of("/proc/net/dev");
  private static final int RECEIVED = 0;
  private static final int SENT = 8;

  /** Returns the present counts. */
  static HostBytes now() {
    try {
      return of(Files.readAllLines(COUNTERS));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Of the lines of {@code /proc/net/dev}: two of headers, one of each interface. */
  static HostBytes of(List<String> lines) {
    long sent = 0;
    long received = 0;
    for (String line : lines.subList(2, lines.size())) {
      String[] parts = line.split(":", 2);
      if (!parts[0].strip().equals("lo")) {
        long[] counts =
            Arrays.stream(parts[1].strip().split("\\s+")).mapToLong(Long::parseLong).toArray();
        sent += counts[SENT];
        received += counts[RECEIVED];
      }
    }
    return new HostBytes(sent, received);
  }
}
