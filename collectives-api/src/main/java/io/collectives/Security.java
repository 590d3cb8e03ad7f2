package io.collectives;

import org.jspecify.annotations.Nullable;

/**
 * What keeps others out of a job, and damage out of its numbers. All ranks of a job must use the
 * same; where they do not, they refuse each other and say so.
 *
 * <p>Without a secret a rank listens on loopback addresses only, where every process of the host
 * can reach it. What is and is not protected is told in {@code docs/SECURITY.md}.
 *
 * @param secret what the ranks prove to each other that they know; nothing if whoever can connect
 *     is trusted
 * @param tls the files for TLS 1.3 between ranks, with certificates on both sides; nothing if what
 *     they say may be read and changed on its way
 * @param anyoneMayJoin whether this rank listens on addresses other than loopback although it has
 *     no secret
 * @param checksums whether every frame carries a CRC32C of its payload, which finds damage, not
 *     intent
 */
public record Security(
    @Nullable JobSecret secret, @Nullable TlsFiles tls, boolean anyoneMayJoin, boolean checksums) {
  private static final Security NONE = new Security(null, null, false, false);

  /** No secret, no TLS, no checksums; loopback only. */
  public static Security none() {
    return NONE;
  }

  /** The same with a secret. */
  public Security withSecret(JobSecret other) {
    return new Security(other, tls, anyoneMayJoin, checksums);
  }

  /** The same with TLS. */
  public Security withTls(TlsFiles other) {
    return new Security(secret, other, anyoneMayJoin, checksums);
  }

  /**
   * The same, but this rank listens on any address it is told even though it has no secret: whoever
   * can reach that address can take a rank's seat, read the numbers, and change them.
   */
  public Security insecureAnyoneMayJoin() {
    return new Security(secret, tls, true, checksums);
  }

  /** The same with or without checksums of payloads. */
  public Security withChecksums(boolean other) {
    return new Security(secret, tls, anyoneMayJoin, other);
  }

  /** Whether a rank may listen where other hosts can reach it. */
  public boolean allowsOtherHosts() {
    return secret != null || anyoneMayJoin;
  }
}
