package io.collectives.engine.auto;

import io.collectives.engine.sharedmemory.SharedMemoryDomain;
import io.collectives.spi.TransportProvider.Endpoint;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The address of a rank by each transport that it listens with: {@code host/boot:place/room
 * shm=~address unix=~address tcp=address}. In the addresses, colons, spaces and percent signs are
 * written as in a URI, so that all ranks of a host have the same text up to the only colon; one
 * that begins with that text, too, has a tilde in its place.
 *
 * @param where the rank is
 * @param addresses by the name of the transport
 */
record AutoAddress(SharedMemoryDomain where, Map<String, String> addresses) {
  private static final Pattern FORM =
      Pattern.compile(
          "([!-~&&[^:/]]+)/([!-~&&[^:/]]+):([!-~&&[^:/]]+)/([0-9]{1,10})((?: [!-~]+)*)");

  /** The greatest length of an endpoint's announcement, together with the name of the job. */
  private static final int LONGEST = 384;

  private static final Pattern ESCAPED = Pattern.compile("%(20|25|3A|7E)");

  /** Keeps a copy of the map, in its order. */
  AutoAddress {
    addresses = new LinkedHashMap<>(addresses);
  }

  /** The address of endpoints, by the name of the transport. */
  static AutoAddress of(SharedMemoryDomain where, Map<String, Endpoint> endpoints) {
    Map<String, String> addresses = new LinkedHashMap<>();
    endpoints.forEach((name, endpoint) -> addresses.put(name, endpoint.address()));
    return new AutoAddress(where, addresses);
  }

  boolean canBeAnnounced(String job) {
    return toString().length() + job.length() <= LONGEST;
  }

  /**
   * Reads what {@link #toString} writes.
   *
   * @throws IllegalArgumentException if it is nothing of that kind
   */
  static AutoAddress parse(String text) {
    Matcher parts = FORM.matcher(text);
    if (!parts.matches()) {
      throw wrong(text);
    }
    Map<String, String> addresses = new LinkedHashMap<>();
    for (String entry : parts.group(5).strip().split(" ")) {
      int equals = entry.indexOf('=');
      if (equals < 1 || equals == entry.length() - 1) {
        throw wrong(text);
      }
      String at = entry.substring(equals + 1);
      String host = parts.group(1) + "/" + parts.group(2) + ":";
      addresses.put(
          entry.substring(0, equals),
          at.startsWith("~") ? host + unescaped(at.substring(1)) : unescaped(at));
    }
    long room = Math.min(Long.parseLong(parts.group(4)), Integer.MAX_VALUE);
    return new AutoAddress(
        new SharedMemoryDomain(parts.group(1), parts.group(2), parts.group(3), (int) room),
        addresses);
  }

  private static IllegalArgumentException wrong(String text) {
    return new IllegalArgumentException(
        "\"" + text + "\" is no address of auto, as host/boot:place/room tcp=address");
  }

  private static String escaped(String address) {
    return address.replace("%", "%25").replace(" ", "%20").replace(":", "%3A");
  }

  private static String unescaped(String entry) {
    return ESCAPED
        .matcher(entry)
        .replaceAll(found -> String.valueOf((char) Integer.parseInt(found.group(1), 16)));
  }

  @Override
  public String toString() {
    String host = where.host() + "/" + where.boot() + ":";
    StringBuilder text = new StringBuilder(host);
    text.append(where.place()).append('/').append(where.room());
    addresses.forEach(
        (name, at) -> {
          text.append(' ').append(name).append('=');
          if (at.startsWith(host)) {
            text.append('~').append(escaped(at.substring(host.length())));
          } else {
            text.append(escaped(at).replaceFirst("^~", "%7E"));
          }
        });
    return text.toString();
  }
}
