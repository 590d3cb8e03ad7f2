package io.collectives.testkit;

import io.collectives.TlsFiles;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;

/**
 * A certificate authority for tests. It writes X.509 certificates of version 3 (RFC 5280, section
 * 4.1) in the distinguished encoding of ASN.1 itself, since the JDK has no API for it but the
 * process {@code keytool}, which takes a second for each key.
 */
public final class Certificates {
  private static final Duration DAY = Duration.ofDays(1);
  private static final DateTimeFormatter UTC_TIME =
      DateTimeFormatter.ofPattern("yyMMddHHmmss'Z'").withZone(ZoneOffset.UTC);

  private static final int BOOLEAN = 0x01;
  private static final int INTEGER = 0x02;
  private static final int BIT_STRING = 0x03;
  private static final int OCTET_STRING = 0x04;
  private static final int OBJECT = 0x06;
  private static final int UTF8_STRING = 0x0c;
  private static final int UTC = 0x17;
  private static final int SEQUENCE = 0x30;
  private static final int SET = 0x31;
  private static final int URI_NAME = 0x86;
  private static final int VERSION = 0xa0;
  private static final int EXTENSIONS = 0xa3;

  private static final byte[] COMMON_NAME = {0x55, 4, 3}; // 2.5.4.3
  private static final byte[] ALTERNATIVE_NAMES = {0x55, 0x1d, 17}; // 2.5.29.17
  private static final byte[] BASIC_CONSTRAINTS = {0x55, 0x1d, 19}; // 2.5.29.19

  /** 1.2.840.10045.4.3.2. */
  private static final byte[] ECDSA_WITH_SHA256 = {
    0x2a, (byte) 0x86, 0x48, (byte) 0xce, 0x3d, 4, 3, 2
  };

  private final Path directory;
  private final PrivateKey authority;
  private final Path trust;
  private int count;

  /** Makes a new authority, which keeps its files in {@code directory}. */
  public Certificates(Path directory) {
    this.directory = directory;
    KeyPair keys = newKeys();
    authority = keys.getPrivate();
    byte[] constraints = extension(BASIC_CONSTRAINTS, der(SEQUENCE, der(BOOLEAN, new byte[] {-1})));
    byte[] own = certificate("authority", keys, Instant.now(), constraints);
    trust = write("authority.pem", "CERTIFICATE", own);
  }

  /** Makes the files of a rank, with a valid certificate that has the given names, or no names. */
  public TlsFiles certify(String... names) {
    return certify(Instant.now().minus(DAY), names);
  }

  /** Makes a certificate that was valid only until yesterday. */
  public TlsFiles certifyExpired(String... names) {
    return certify(Instant.now().minus(DAY.multipliedBy(3)), names);
  }

  /** Returns the given files with this authority as the trusted one. */
  public TlsFiles trusting(TlsFiles files) {
    return new TlsFiles(files.certificate(), files.key(), trust);
  }

  private TlsFiles certify(Instant start, String... names) {
    String alias = "rank" + count++;
    KeyPair keys = newKeys();
    byte[][] uris = new byte[names.length][];
    for (int i = 0; i < names.length; i++) {
      uris[i] = der(URI_NAME, names[i].getBytes(StandardCharsets.US_ASCII));
    }
    // A list of no names would be no certificate.
    byte[] alternatives =
        names.length == 0 ? new byte[0] : extension(ALTERNATIVE_NAMES, der(SEQUENCE, uris));
    byte[] named = certificate(alias, keys, start, alternatives);
    Path key = write(alias + ".key", "PRIVATE KEY", keys.getPrivate().getEncoded());
    try {
      if (Files.getFileStore(key).supportsFileAttributeView("posix")) {
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return new TlsFiles(write(alias + ".pem", "CERTIFICATE", named), key, trust);
  }

  private static KeyPair newKeys() {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"));
      return generator.generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  private static byte[] extension(byte[] kind, byte[] value) {
    return der(
        EXTENSIONS, der(SEQUENCE, der(SEQUENCE, der(OBJECT, kind), der(OCTET_STRING, value))));
  }

  /** Returns a certificate by the authority that is good for two days. */
  private byte[] certificate(String subject, KeyPair keys, Instant start, byte[] extensions) {
    byte[] algorithm = der(SEQUENCE, der(OBJECT, ECDSA_WITH_SHA256));
    byte[] signed =
        der(
            SEQUENCE,
            der(VERSION, der(INTEGER, new byte[] {2})),
            der(INTEGER, BigInteger.valueOf(count + 1).toByteArray()),
            algorithm,
            name("authority"),
            der(SEQUENCE, time(start), time(start.plus(DAY.multipliedBy(2)))),
            name(subject),
            keys.getPublic().getEncoded(),
            extensions);
    try {
      Signature signature = Signature.getInstance("SHA256withECDSA");
      signature.initSign(authority);
      signature.update(signed);
      byte[] unusedBits = {0};
      return der(SEQUENCE, signed, algorithm, der(BIT_STRING, unusedBits, signature.sign()));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  private static byte[] name(String common) {
    byte[] text = common.getBytes(StandardCharsets.UTF_8);
    return der(SEQUENCE, der(SET, der(SEQUENCE, der(OBJECT, COMMON_NAME), der(UTF8_STRING, text))));
  }

  private static byte[] time(Instant instant) {
    return der(UTC, UTC_TIME.format(instant).getBytes(StandardCharsets.US_ASCII));
  }

  /** Returns a tag, the length of the parts, and the parts. */
  private static byte[] der(int tag, byte[]... parts) {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      content.writeBytes(part);
    }
    int length = content.size();
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.write(tag);
    if (length >= 0x80) { // It is preceded by the number of its bytes.
      all.write(length > 0xff ? 0x82 : 0x81);
    }
    if (length > 0xff) {
      all.write(length >> 8);
    }
    all.write(length);
    all.writeBytes(content.toByteArray());
    return all.toByteArray();
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
}
