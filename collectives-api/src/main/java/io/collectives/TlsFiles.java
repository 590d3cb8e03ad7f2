package io.collectives;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/**
 * The files, all in PEM format, with which a rank takes part in TLS.
 *
 * <p>The certificate says for which ranks it is valid: it must have {@link #identity} as a subject
 * alternative name of type URI. It may have several such names, for example for all ranks of one
 * host. If it restricts its extended key usage, both client and server authentication must be
 * allowed.
 *
 * @param certificate the rank's certificate, followed by those that lead to a trusted one
 * @param key the private key of the certificate, PKCS #8, not encrypted; only the file's owner and
 *     group may read it
 * @param trust the certificates whose holders may certify ranks: as few as possible, usually one
 *     that was made for this purpose
 */
public record TlsFiles(Path certificate, Path key, Path trust) {

  /** Returns the name that the certificate of a rank must have. */
  public static String identity(String job, int rank) {
    StringBuilder name = new StringBuilder("collectives://job/");
    for (byte b : job.getBytes(StandardCharsets.UTF_8)) {
      if (b >= '0' && b <= '9'
          || b >= 'A' && b <= 'Z'
          || b >= 'a' && b <= 'z'
          || b == '-'
          || b == '.'
          || b == '_'
          || b == '~') {
        name.append((char) b);
      } else {
        name.append(String.format("%%%02X", b));
      }
    }
    return name.append("/rank/").append(rank).toString();
  }

  /**
   * Checks that the files can be used, without reading them.
   *
   * @throws JoinException if one of them does not exist or is no regular file, or if all users may
   *     read the key
   */
  public void check() {
    for (Path file : List.of(certificate, key, trust)) {
      PrivateFile.checkRegular(file, "the TLS file");
      if (!Files.isReadable(file)) {
        throw PrivateFile.unreadable(
            file, "the TLS file", new NoSuchFileException(file.toString()));
      }
    }
    PrivateFile.check(key, "the file of the TLS key", PrivateFile.Readers.OWNER_AND_GROUP);
  }
}
