package io.collectives;

import org.jspecify.annotations.Nullable;

/**
 * The settings that protect a job against other processes and its numbers against damage. All ranks
 * of a job must use the same; ranks with different settings refuse each other with a message.
 *
 * <p>Without a secret a rank listens on loopback addresses only, where every process of the host
 * can reach it. {@code docs/SECURITY.md} says what is protected and what is not.
 *
 * @param secret the secret that ranks must prove to know; null if every process that can connect is
 *     trusted
 * @param tls the files for TLS 1.3 between ranks, with certificates on both sides; null if messages
 *     may be read and changed on their way
 * @param anyoneMayJoin whether this rank listens on addresses other than loopback although it has
 *     no secret
 * @param checksums whether every frame carries a CRC32C of its payload, which finds damage, not
 *     intent
 */
public record Security(
    @Nullable JobSecret secret, @Nullable TlsFiles tls, boolean anyoneMayJoin, boolean checksums) {
  private static final Security NONE = new Security(null, null, false, false);

  /** Returns settings without a secret, TLS and checksums, which listen on loopback only. */
  public static Security none() {
    return NONE;
  }

  /** Returns these settings with a secret. */
  public Security withSecret(JobSecret other) {
    return new Security(other, tls, anyoneMayJoin, checksums);
  }

  /** Returns these settings with TLS. */
  public Security withTls(TlsFiles other) {
    return new Security(secret, other, anyoneMayJoin, checksums);
  }

  /**
   * Returns these settings with the permission to listen on any address without a secret: every
   * process that can reach that address can join in place of a rank, read the numbers, and change
   * them.
   */
  public Security insecureAnyoneMayJoin() {
    return new Security(secret, tls, true, checksums);
  }

  /** Returns these settings with or without checksums of payloads. */
  public Security withChecksums(boolean other) {
    return new Security(secret, tls, anyoneMayJoin, other);
  }

  /** Returns whether a rank may listen where other hosts can reach it. */
  public boolean allowsOtherHosts() {
    return secret != null || anyoneMayJoin;
  }
}
