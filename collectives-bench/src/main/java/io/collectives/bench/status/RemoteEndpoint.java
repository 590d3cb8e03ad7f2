package io.collectives.bench.status;

import io.collectives.JoinException;
import io.collectives.Security;
import io.collectives.engine.auto.AutoTransportProvider;
import io.collectives.engine.join.JobEnvironment;
import io.collectives.netty.StatusClient;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The port at which a rank listens for others, on this host or on another one. */
record RemoteEndpoint(String host, int port) implements Endpoint {
  private static final Pattern FORM =
      Pattern.compile(
          "(?:\\[(?<v6>[0-9A-Fa-f:.%]{2,60})]|(?<host>[^:\\[\\]\\s/]{1,253})):(?<port>\\d{1,5})");

  /** Reads {@code host:port}, null if it is something else. */
  static @Nullable RemoteEndpoint parse(String text) {
    Matcher parts = FORM.matcher(text);
    if (!parts.matches()) {
      return null;
    }
    int port = Integer.parseInt(parts.group("port"));
    String v6 = parts.group("v6");
    return port == 0 || port > 65_535
        ? null
        : new RemoteEndpoint(v6 != null ? v6 : parts.group("host"), port);
  }

  /** Returns where a rank listens by TCP, null if it does not, from what it has announced. */
  static @Nullable RemoteEndpoint announced(String address) {
    String byTcp = AutoTransportProvider.addressBy("tcp", address);
    return parse(byTcp == null ? address : byTcp);
  }

  @Override
  public long pid() {
    return -1;
  }

  @Override
  public String describe() {
    return host + ":" + port;
  }

  @Override
  public String ask(String request, Duration limit) throws IOException {
    InetSocketAddress address = new InetSocketAddress(host, port);
    if (address.isUnresolved()) {
      throw new UnknownHostException("the name " + host + " is not known here");
    }
    try {
      Security security = JobEnvironment.security(System.getenv());
      return StatusClient.ask(address, security, request, limit, LONGEST_ANSWER);
    } catch (JoinException e) {
      throw new IOException(e.getMessage(), e);
    }
  }
}
