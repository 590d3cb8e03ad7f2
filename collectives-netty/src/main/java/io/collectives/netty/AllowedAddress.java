package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import java.net.InetAddress;

/**
 * The check of an address at which a rank listens: loopback is allowed, and any other address with
 * a job secret.
 */
final class AllowedAddress {
  private AllowedAddress() {}

  /**
   * Fails if unauthenticated peers on other hosts could join as a rank.
   *
   * @throws JoinException saying what to set
   */
  static void check(JobSettings settings, InetAddress address) {
    if (address.isLoopbackAddress()) {
      return;
    }
    if (!settings.security().allowsOtherHosts()) {
      throw new JoinException(
          "rank "
              + settings.rank()
              + " of job \""
              + settings.job()
              + "\" would meet others at "
              + address.getHostAddress()
              + ", which is no loopback address, without a job secret: whoever can reach it"
              + " could join as a rank. Set COLLECTIVES_SECRET_FILE (or Security.withSecret)"
              + " to the same secret on all ranks; only on a network where everybody is trusted,"
              + " COLLECTIVES_INSECURE_ANYONE_MAY_JOIN=true (or Security.insecureAnyoneMayJoin)");
    }
  }
}
