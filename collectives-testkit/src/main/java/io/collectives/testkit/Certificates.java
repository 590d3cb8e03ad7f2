package io.collectives.testkit;

import io.collectives.TlsFiles;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A certificate authority for tests. It uses the JDK's {@code keytool}, which takes about a second
 * for each key.
 */
public final class Certificates {
  private static final char[] PASSWORD = "changeit".toCharArray();

  private final Path directory;
  private final Path store;
  private final Path trust;
  private int count;

  /** Makes a new authority, which keeps its files in {@code directory}. */
  public Certificates(Path directory) {
    this.directory = directory;
    this.store = directory.resolve("authority.p12");
    keytool("authority", List.of("-ext", "bc:c", "-validity", "2"));
    trust = write("authority.pem", "CERTIFICATE", encoded("authority"));
  }

  /** Makes the files of a rank, with a valid certificate that has the given names, or no names. */
  public TlsFiles certify(String... names) {
    return certify("-1d", names);
  }

  /** Makes a certificate that was valid only until yesterday. */
  public TlsFiles certifyExpired(String... names) {
    return certify("-3d", names);
  }

  /** Returns the given files with this authority as the trusted one. */
  public TlsFiles trusting(TlsFiles files) {
    return new TlsFiles(files.certificate(), files.key(), trust);
  }

  private TlsFiles certify(String start, String... names) {
    String alias = "rank" + count++;
    List<String> options =
        new ArrayList<>(List.of("-signer", "authority", "-startdate", start, "-validity", "2"));
    if (names.length > 0) {
      options.add("-ext");
      options.add("san=uri:" + String.join(",uri:", names));
    }
    keytool(alias, options);
    Path key;
    try {
      byte[] secret = load().getKey(alias, PASSWORD).getEncoded();
      key = write(alias + ".key", "PRIVATE KEY", secret);
      if (Files.getFileStore(key).supportsFileAttributeView("posix")) {
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
      }
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalStateException(e);
    }
    return new TlsFiles(write(alias + ".pem", "CERTIFICATE", encoded(alias)), key, trust);
  }

  private KeyStore load() throws GeneralSecurityException, IOException {
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD);
    }
    return keys;
  }

  private byte[] encoded(String alias) {
    try {
      Certificate certificate = load().getCertificate(alias);
      return certificate.getEncoded();
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private Path write(String name, String kind, byte[] part) {
    String pem =
        "-----BEGIN "
            + kind
            + "-----\n"
            + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(part)
            + "\n-----END "
            + kind
            + "-----\n";
    try {
      return Files.writeString(directory.resolve(name), pem);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private void keytool(String alias, List<String> options) {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-J-XX:TieredStopAtLevel=1",
                "-J-Xshare:auto",
                "-genkeypair",
                "-keystore",
                store.toString(),
                "-storetype",
                "PKCS12",
                "-storepass",
                new String(PASSWORD),
                "-alias",
                alias,
                "-dname",
                "CN=" + alias,
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1"));
    command.addAll(options);
    File output = directory.resolve("keytool.txt").toFile();
    try {
      Process process =
          new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output).start();
      if (!process.waitFor(30, TimeUnit.SECONDS) || process.exitValue() != 0) {
        process.destroyForcibly();
        throw new IllegalStateException(
            "keytool failed: " + Files.readString(output.toPath(), StandardCharsets.UTF_8));
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
