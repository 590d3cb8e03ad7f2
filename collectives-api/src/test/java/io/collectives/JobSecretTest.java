package io.collectives;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HexFormat;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class JobSecretTest {
  private static final String TEXT = "0123456789abcdef-the-rest";

  @TempDir private Path directory;

  @Test
  void authenticatesAsRfc4231Says() {
    // Test case 3: a key of 20 bytes 0xaa, 50 bytes 0xdd.
    byte[] key = HexFormat.of().parseHex("aa".repeat(20));
    byte[] data = HexFormat.of().parseHex("dd".repeat(50));
    assertArrayEquals(
        HexFormat.of().parseHex("773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        JobSecret.of(key).authenticate(data));
    byte[] first = HexFormat.of().parseHex("dd".repeat(7));
    byte[] second = HexFormat.of().parseHex("dd".repeat(43));
    assertArrayEquals(
        JobSecret.of(key).authenticate(data), JobSecret.of(key).authenticate(first, second));
  }

  @Test
  void isNotShown() {
    JobSecret secret = JobSecret.of(TEXT);
    JobSettings settings =
        JobSettings.of(0, 2, URI.create("tcp://localhost:1"))
            .withSecurity(Security.none().withSecret(secret));
    String hex = HexFormat.of().formatHex(TEXT.getBytes(StandardCharsets.UTF_8));
    for (String text : new String[] {secret.toString(), settings.toString()}) {
      assertFalse(text.contains("0123456789") || text.contains(hex), text);
      assertTrue(text.contains("not shown"), text);
    }
  }

  @Test
  void isItsBytes() {
    assertEquals(JobSecret.of(TEXT), JobSecret.of(TEXT.getBytes(StandardCharsets.UTF_8)));
    assertEquals(JobSecret.of(TEXT).hashCode(), JobSecret.of(TEXT).hashCode());
    assertNotEquals(JobSecret.of(TEXT), JobSecret.of(TEXT + "!"));
    byte[] bytes = TEXT.getBytes(StandardCharsets.UTF_8);
    JobSecret secret = JobSecret.of(bytes);
    bytes[0]++;
    assertEquals(JobSecret.of(TEXT), secret, "a copy");
  }

  @Test
  void mustNotBeShort() {
    String message =
        assertThrows(
                IllegalArgumentException.class, () -> JobSecret.of("fifteen bytes...".substring(1)))
            .getMessage();
    assertTrue(message.contains("15 bytes") && message.contains("16"), message);
    assertFalse(message.contains("fifteen".substring(1)), message);
    assertDoesNotThrow(() -> JobSecret.of("exactly 16 bytes"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\n", "\r\n", "\n\n"})
  void isReadFromAFileWithoutEndsOfLine(String end) throws Exception {
    assertEquals(JobSecret.of(TEXT), JobSecret.read(file(TEXT + end, "rw-------")));
    assertEquals(JobSecret.of(TEXT), JobSecret.read(file(TEXT + end, "r--------")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"rw-r-----", "rw----r--", "rw--w----", "rw-----w-", "rw-rw-rw-"})
  void isNotReadFromAFileThatOthersMayUse(String permissions) throws Exception {
    Path file = file(TEXT, permissions);
    String message = assertThrows(JoinException.class, () -> JobSecret.read(file)).getMessage();
    assertTrue(message.contains(permissions) && message.contains("chmod 600 " + file), message);
    assertFalse(message.contains(TEXT), message);
  }

  /** Which may have nobody who writes to it. */
  @Test
  void isNotReadFromAPipe() throws Exception {
    Path pipe = directory.resolve("pipe");
    Process made = new ProcessBuilder("mkfifo", "-m", "600", pipe.toString()).start();
    Assumptions.assumeTrue(made.waitFor() == 0, "needs mkfifo");
    Path file = Files.createFile(directory.resolve("file"));
    for (Executable reading :
        new Executable[] {
          () -> JobSecret.read(pipe),
          () -> new TlsFiles(pipe, file, file).check(),
          () -> new TlsFiles(file, pipe, file).check(),
          () -> new TlsFiles(file, file, pipe).check()
        }) {
      String message = assertThrows(JoinException.class, reading).getMessage();
      assertTrue(message.contains(pipe + " is not a regular file"), message);
    }
  }

  @Test
  void isNotReadFromFilesThatHoldNone() throws Exception {
    Path missing = directory.resolve("missing");
    assertTrue(
        assertThrows(JoinException.class, () -> JobSecret.read(missing))
            .getMessage()
            .contains(missing.toString()));
    Path small = file("too short", "rw-------");
    assertTrue(
        assertThrows(JoinException.class, () -> JobSecret.read(small))
            .getMessage()
            .contains("9 bytes"));
    Path large = file("x".repeat(70_000), "rw-------");
    assertTrue(
        assertThrows(JoinException.class, () -> JobSecret.read(large))
            .getMessage()
            .contains("longer"));
  }

  @Test
  void theKeyOfACertificateIsNotForEverybody() throws Exception {
    Path open = file("certificate", "rw-r--r--");
    Path key = file("key", "rw----r--");
    String message =
        assertThrows(JoinException.class, () -> new TlsFiles(open, key, open).check()).getMessage();
    assertTrue(message.contains("rw----r--") && message.contains("chmod 640 " + key), message);
    Path missing = directory.resolve("missing");
    message =
        assertThrows(
                JoinException.class,
                () -> new TlsFiles(open, file("key", "rw-------"), missing).check())
            .getMessage();
    assertTrue(message.contains(missing.toString()), message);
    assertDoesNotThrow(() -> new TlsFiles(open, file("key", "rw-------"), open).check());
    assertDoesNotThrow(() -> new TlsFiles(open, file("key", "r--r-----"), open).check());
  }

  @Test
  void namesOfRanksAreUris() {
    assertEquals("collectives://job/night-1.2/rank/17", TlsFiles.identity("night-1.2", 17));
    assertEquals("collectives://job/a%2Fb%3C%25%3E/rank/0", TlsFiles.identity("a/b<%>", 0));
  }

  private Path file(String content, String permissions) throws Exception {
    Assumptions.assumeTrue(
        FileSystems.getDefault().supportedFileAttributeViews().contains("posix"),
        "permissions are POSIX");
    Path file = Files.createTempFile(directory, "file", "");
    Files.writeString(file, content);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    return file;
  }
}
