package io.collectives;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.InvalidKeyException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A secret that all ranks of a job know and no other process knows. Ranks prove to each other that
 * they know it, without sending it, before they send anything else.
 *
 * <p>An attacker who records such a proof can try secrets until one fits, so a secret must not be a
 * word that people can remember: {@code openssl rand -hex 32} makes a good one. The bytes never
 * leave this object, and its texts do not show them. Instances are immutable.
 */
public final class JobSecret {

  /** The smallest number of bytes of a secret. */
  public static final int SHORTEST = 16;

  private static final String ALGORITHM = "HmacSHA256";

  private final byte[] bytes;

  private JobSecret(byte[] bytes) {
    if (bytes.length < SHORTEST) {
      throw new IllegalArgumentException(
          "a job secret of "
              + bytes.length
              + " bytes can be guessed: at least "
              + SHORTEST
              + " are needed, as from openssl rand -hex 32");
    }
    this.bytes = bytes;
  }

  /**
   * Makes a secret of the given bytes, which are copied.
   *
   * @throws IllegalArgumentException if there are fewer than {@link #SHORTEST}
   */
  public static JobSecret of(byte[] secret) {
    return new JobSecret(secret.clone());
  }

  /**
   * Makes a secret of a text in UTF-8.
   *
   * @throws IllegalArgumentException if there are fewer than {@link #SHORTEST} bytes
   */
  public static JobSecret of(String text) {
    return new JobSecret(text.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Reads the secret in a file: all its bytes except line ends at the end.
   *
   * @throws JoinException if the file cannot be read, if anybody but its owner may read or change
   *     it, or if it is too short or too long
   */
  public static JobSecret read(Path file) {
    byte[] content = PrivateFile.read(file, "the file of the job secret");
    int length = content.length;
    while (length > 0 && (content[length - 1] == '\n' || content[length - 1] == '\r')) {
      length--;
    }
    try {
      return new JobSecret(Arrays.copyOf(content, length));
    } catch (IllegalArgumentException e) {
      throw new JoinException(file + " holds " + e.getMessage(), e);
    }
  }

  /**
   * Returns the HMAC-SHA256 of the concatenated parts, with this secret as its key. Compare it with
   * {@link MessageDigest#isEqual}.
   *
   * @return 32 bytes
   */
  public byte[] authenticate(byte[]... parts) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(bytes, ALGORITHM));
      for (byte[] part : parts) {
        mac.update(part);
      }
      return mac.doFinal();
    } catch (NoSuchAlgorithmException | InvalidKeyException e) {
      throw new IllegalStateException("every Java platform has " + ALGORITHM, e);
    }
  }

  /**
   * Returns whether the other object is the same secret, in a time that does not depend on where
   * they differ.
   */
  @Override
  public boolean equals(Object other) {
    return other instanceof JobSecret secret && MessageDigest.isEqual(bytes, secret.bytes);
  }

  /** Returns a hash code that depends on the length only. */
  @Override
  public int hashCode() {
    return bytes.length;
  }

  /** Returns a text that does not show the secret. */
  @Override
  public String toString() {
    return "JobSecret(not shown)";
  }
}
