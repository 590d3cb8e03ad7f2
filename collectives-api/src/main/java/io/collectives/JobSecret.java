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
 * What all ranks of a job know and nobody else does. Ranks prove to each other that they know it,
 * without telling it, before anything else is said.
 *
 * <p>Whoever can listen to such a proof can try secrets until one fits, so it must not be a word
 * that people can remember: {@code openssl rand -hex 32} makes a good one. The bytes never leave
 * this object, nor does any text of it show them. Immutable.
 */
public final class JobSecret {

  /** The fewest bytes of a secret. */
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
   * A secret of these bytes, which are copied.
   *
   * @throws IllegalArgumentException if there are fewer than {@link #SHORTEST}
   */
  public static JobSecret of(byte[] secret) {
    return new JobSecret(secret.clone());
  }

  /**
   * A secret of the UTF-8 of a text.
   *
   * @throws IllegalArgumentException if there are fewer than {@link #SHORTEST} bytes
   */
  public static JobSecret of(String text) {
    return new JobSecret(text.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * The secret in a file: all its bytes but the ends of line behind the last one.
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
   * The HMAC-SHA256 of the parts, one behind the other, with this secret as its key. Whoever
   * compares it must use {@link MessageDigest#isEqual}.
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
   * Whether it is the same secret, found out in a time that does not depend on where they differ.
   */
  @Override
  public boolean equals(Object other) {
    return other instanceof JobSecret secret && MessageDigest.isEqual(bytes, secret.bytes);
  }

  /** Tells nothing but the length. */
  @Override
  public int hashCode() {
    return bytes.length;
  }

  /** Tells nothing. */
  @Override
  public String toString() {
    return "JobSecret(not shown)";
  }
}
