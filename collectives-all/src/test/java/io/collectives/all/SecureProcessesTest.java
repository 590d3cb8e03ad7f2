package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.TlsFiles;
import io.collectives.testkit.Certificates;
import io.collectives.testkit.FreePort;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs of two JVMs that are secured by their environment. */
@Timeout(150)
final class SecureProcessesTest {
  private static final String SECRET = "5d0c7a1e-a-secret-that-nobody-prints";

  @TempDir private Path directory;
  private final List<Process> processes = new ArrayList<>();

  @AfterEach
  void stopAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void processesWithSecretTlsAndChecksumsSum() throws Exception {
    Certificates authority = new Certificates(directory);
    Path secret = secret("rw-------");
    String port = "" + FreePort.find();
    for (int rank = 0; rank < 2; rank++) {
      TlsFiles files = authority.certify(TlsFiles.identity("default", rank));
      start(
          rank,
          port,
          Map.of(
              "COLLECTIVES_SECRET_FILE", secret.toString(),
              "COLLECTIVES_CHECKSUMS", "true",
              "COLLECTIVES_TLS_CERTIFICATE", files.certificate().toString(),
              "COLLECTIVES_TLS_KEY", files.key().toString(),
              "COLLECTIVES_TLS_TRUST", files.trust().toString()));
    }
    for (int rank = 0; rank < 2; rank++) {
      assertTrue(output(rank).contains("rank " + rank + " of 2: 3.0 3.0"), output(rank));
    }
  }

  @Test
  @Tag("once")
  void aProcessWithoutTheSecretIsRefusedAndNobodyPrintsIt() throws Exception {
    String port = "" + FreePort.find();
    Map<String, String> right = Map.of("COLLECTIVES_SECRET", SECRET, "WORLD_SIZE", "3");
    start(0, port, right);
    start(
        1, port, Map.of("COLLECTIVES_SECRET", SECRET.toUpperCase(Locale.ROOT), "WORLD_SIZE", "3"));
    output(1);
    // Rank 0 gives up when rank 2 does, which does not wait for long.
    Map<String, String> impatient = new HashMap<>(right);
    impatient.put("COLLECTIVES_JOIN_TIMEOUT", "3");
    start(2, port, impatient);
    for (int rank = 0; rank < 3; rank++) {
      String output = output(rank);
      assertTrue(
          output.contains("refused: ") && output.contains("rank 1") && output.contains("secret"),
          output);
      assertFalse(output.contains(SECRET.substring(9)), output);
    }
  }

  @Test
  void aSecretThatOthersCanReadIsNotUsed() throws Exception {
    Path secret = secret("rw-r-----");
    start(0, "1", Map.of("COLLECTIVES_SECRET_FILE", secret.toString()));
    String output = output(0);
    assertTrue(output.contains("rw-r-----") && output.contains("chmod 600 " + secret), output);
    assertFalse(output.contains(SECRET), output);
  }

  private Path secret(String permissions) throws IOException {
    Path file = Files.writeString(directory.resolve("secret"), SECRET + "\n");
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
  }

  private void start(int rank, String port, Map<String, String> environment) throws IOException {
    ProcessBuilder builder = JavaProcess.of(file(rank), ProcessesTest.Program.class);
    builder
        .environment()
        .putAll(
            Map.of(
                "RANK",
                "" + rank,
                "WORLD_SIZE",
                "2",
                "MASTER_ADDR",
                "localhost",
                "MASTER_PORT",
                port));
    builder.environment().putAll(environment);
    processes.add(builder.start());
  }

  private Path file(int rank) {
    return directory.resolve("rank-" + rank + ".txt");
  }

  /** All that a rank has printed and logged. */
  private String output(int rank) throws Exception {
    assertTrue(processes.get(rank).waitFor(90, TimeUnit.SECONDS), "rank " + rank + " does not end");
    assertEquals(0, processes.get(rank).exitValue(), () -> "rank " + rank);
    return Files.readString(file(rank));
  }
}
