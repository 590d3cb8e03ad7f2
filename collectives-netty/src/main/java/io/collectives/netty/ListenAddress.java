package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.HostNames;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The address at which a rank accepts its peers. It is the address that the settings name, or, if
 * they name {@link #AUTO}, the address of this host from which packets to rank 0 go out. On rank
 * 0's own host this is the address at which rank 0 listens for the others, so that it is loopback
 * exactly if the ranks meet on loopback.
 */
final class ListenAddress {
  /** Stands for the address by which rank 0 is reached. */
  static final String AUTO = "auto";

  private static final long PAUSE_MILLIS = 100;

  private ListenAddress() {}

  /**
   * Returns the address that the settings name or stand for.
   *
   * @throws JoinException if there is none
   */
  static InetAddress of(JobSettings settings) {
    if (settings.listen().equals(AUTO)) {
      return towardsRankZero(settings);
    }
    try {
      return HostNames.lookUp(settings.listen(), settings.joinTimeout());
    } catch (UnknownHostException e) {
      throw new JoinException(
          "rank "
              + settings.rank()
              + " cannot listen at \""
              + settings.listen()
              + "\": no such host ("
              + e.getMessage()
              + ")",
          e);
    }
  }

  /**
   * Tries until there is a way to rank 0, or for the time to join: under Kubernetes the name of
   * rank 0's pod is known only some time after that pod has started.
   */
  private static InetAddress towardsRankZero(JobSettings settings) {
    URI place = settings.rendezvous();
    if (!"tcp".equalsIgnoreCase(place.getScheme()) || place.getHost() == null) {
      throw new JoinException(unfound(settings, place + " does not say where rank 0 is"));
    }
    long start = System.nanoTime();
    while (true) {
      IOException failure;
      try {
        Duration rest = settings.joinTimeout().minusNanos(System.nanoTime() - start);
        return towards(HostNames.lookUp(host(place), rest));
      } catch (IOException e) {
        failure = e;
      }
      if (System.nanoTime() - start >= settings.joinTimeout().toNanos()) {
        throw new JoinException(
            unfound(settings, "within " + settings.joinTimeout() + ": " + failure), failure);
      }
      try {
        TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new JoinException(unfound(settings, "interrupted; last " + failure), failure);
      }
    }
  }

  /** Asks the system's table of routes; connecting a datagram socket sends nothing. */
  private static InetAddress towards(InetAddress address) throws IOException {
    try (DatagramChannel channel = DatagramChannel.open()) {
      // The port is any but 0, as nothing is sent there.
      channel.connect(new InetSocketAddress(address, 9));
      return ((InetSocketAddress) channel.getLocalAddress()).getAddress();
    }
  }

  private static String host(URI place) {
    String host = place.getHost();
    return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
  }

  private static String unfound(JobSettings settings, String why) {
    return "rank "
        + settings.rank()
        + " cannot find out at which address of its host to listen, which is the one by which"
        + " rank 0 is reached (\"auto\"), as the ranks meet at "
        + settings.rendezvous()
        + ": "
        + why
        + "; set COLLECTIVES_LISTEN (or JobSettings.withListen) to an address of this host";
  }
}
