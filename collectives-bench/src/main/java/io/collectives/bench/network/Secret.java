package io.collectives.bench.network;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;

/** The secret of the ranks of a job that talk by other addresses than loopback. */
final class Secret {
  private static final int LENGTH = 32;

  private final String text;

  /** Makes one that nobody can guess. */
  Secret() {
    byte[] bytes = new byte[LENGTH];
    new SecureRandom().nextBytes(bytes);
    text = HexFormat.of().formatHex(bytes);
  }

  /**
   * Returns what the process of a rank must know.
   *
   * @param first the address of rank 0
   * @param own the address of the rank
   */
  Map<String, String> variables(String first, String own) {
    return Map.of(
        "MASTER_ADDR",
        first,
        // Below those that the host gives to whoever asks for any.
        "MASTER_PORT",
        "29500",
        "COLLECTIVES_LISTEN",
        own,
        // Other addresses than loopback are not listened on without one.
        "COLLECTIVES_SECRET",
        text);
  }
}
