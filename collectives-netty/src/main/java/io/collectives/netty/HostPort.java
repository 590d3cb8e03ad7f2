package io.collectives.netty;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** Addresses as text, {@code 127.0.0.1:4711} or {@code [::1]:4711}. */
final class HostPort {

  private HostPort() {}

  /**
   * Writes an address by its number, not its name, so that no other host needs to know the name.
   */
  static String format(InetAddress address, int port) {
    String host = address.getHostAddress();
    return host.indexOf(':') < 0 ? host + ":" + port : "[" + host + "]:" + port;
  }

  /**
   * Reads what {@link #format} writes, and nothing else: looking up a name that another rank has
   * chosen would hold up the thread that drives this one.
   *
   * @throws UnknownHostException if it is not an address by its numbers
   */
  static InetSocketAddress parse(String text) throws UnknownHostException {
    int colon = text.lastIndexOf(':');
    try {
      int port = Integer.parseInt(text.substring(colon + 1));
      String host = text.substring(0, Math.max(colon, 0));
      InetAddress address = NetUtil.createInetAddressFromIpAddressString(host);
      if (address != null && port > 0 && port < 65536) {
        return new InetSocketAddress(address, port);
      }
    } catch (NumberFormatException e) {
      // Reported below.
    }
    throw new UnknownHostException(
        "\"" + text + "\" is not an address: 127.0.0.1:4711 or [::1]:4711 is needed");
  }
}
