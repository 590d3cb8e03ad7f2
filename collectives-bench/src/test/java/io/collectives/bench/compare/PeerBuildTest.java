package io.collectives.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@DisabledOnOs(OS.WINDOWS)
class PeerBuildTest {
  @TempDir private Path directory;

  private PeerBuild build(boolean install) {
    return new PeerBuild(
        directory.resolve("built"), directory.resolve("bin").toString(), install, text -> {});
  }

  private void program(String name, String script) throws IOException {
    Path file = Files.createDirectories(directory.resolve("bin")).resolve(name);
    Files.writeString(file, "#!/bin/sh\n" + script + "\n");
    assertTrue(file.toFile().setExecutable(true));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "OPENMPI | no mpicc on the PATH; as root, apt-get install gcc libopenmpi-dev openmpi-bin"
            + " (or add --install)",
        "GLOO | no c++ on the PATH; as root, apt-get install g++ libgloo-dev (or add --install)",
        "PYTORCH_GLOO | no mvn on the PATH; as root, apt-get install maven (or add --install)",
        "RABIT | no mvn on the PATH; as root, apt-get install maven (or add --install)",
        "SPARK | no mvn on the PATH; as root, apt-get install maven (or add --install)"
      })
  void whatIsMissingIsNamed(Peer peer, String message) {
    MissingPeerException missing =
        assertThrows(MissingPeerException.class, () -> peer.prepare(build(false)));
    assertEquals(message, missing.getMessage());
  }

  @Test
  void nothingIsInstalledUnlessItIsAskedFor() throws IOException {
    program("apt-get", "echo \"$@\" >> '" + directory + "/calls'");
    assertThrows(MissingPeerException.class, () -> Peer.OPENMPI.prepare(build(false)));
    assertTrue(Files.notExists(directory.resolve("calls")));
    assertThrows(MissingPeerException.class, () -> Peer.OPENMPI.prepare(build(true)));
    assertEquals(
        List.of(
            "-q update", "-q -y --no-install-recommends install gcc libopenmpi-dev openmpi-bin"),
        Files.readAllLines(directory.resolve("calls")));
  }

  /** A host may have Open MPI's programs, but not its headers. */
  @Test
  void aCompilerWithoutHeadersIsNotEnough() throws Exception {
    program("mpicc", "[ -e '" + directory + "/mpi.h' ] || { echo 'no such file: mpi.h'; exit 1; }");
    program("mpirun", "exit 1");
    MissingPeerException missing =
        assertThrows(MissingPeerException.class, () -> Peer.OPENMPI.prepare(build(false)));
    assertTrue(missing.getMessage().startsWith("mpicc failed: no such file: mpi.h ("));
    assertTrue(missing.getMessage().endsWith("openmpi-bin (or add --install)"));
    program("apt-get", "[ \"$2\" = update ] || : > '" + directory + "/mpi.h'");
    Peer.OPENMPI.prepare(build(true));
    assertTrue(Files.exists(directory.resolve("mpi.h")));
  }

  @Test
  void anInstallationThatFailsIsReported() throws IOException {
    program("apt-get", "echo 'E: are you root?'; exit 100");
    MissingPeerException missing =
        assertThrows(MissingPeerException.class, () -> Peer.OPENMPI.prepare(build(true)));
    assertTrue(
        missing.getMessage().startsWith("--install: apt-get failed: E: are you root? ("),
        missing.getMessage());
  }

  @Test
  void aPeerIsBuiltOnce() throws Exception {
    program("mpicc", "echo \"$@\" >> '" + directory + "/calls'");
    program("mpirun", "exit 1");
    Peer.OPENMPI.prepare(build(false));
    Peer.OPENMPI.prepare(build(false));
    List<String> calls = Files.readAllLines(directory.resolve("calls"));
    assertEquals(1, calls.size(), calls.toString());
    assertTrue(calls.get(0).endsWith("built/openmpi/mpi_peer.c"), calls.get(0));
    assertTrue(
        Files.readString(directory.resolve("built/openmpi/mpi_peer.c")).contains("MPI_Allreduce"));
  }

  @Test
  void aPeerThatDoesNotCompileIsMissingAndTriedAgain() throws IOException {
    program(
        "g++",
        "echo x >> '" + directory + "/calls'; echo 'fatal error: gloo/math.h: not there'; exit 1");
    List<String> messages = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      messages.add(
          assertThrows(MissingPeerException.class, () -> Peer.GLOO.prepare(build(false)))
              .getMessage());
    }
    assertTrue(
        messages.get(0).startsWith("g++ failed: fatal error: gloo/math.h: not there ("),
        messages.get(0));
    assertTrue(messages.get(0).contains("apt-get install g++ libgloo-dev"), messages.get(0));
    assertEquals(2, Files.readAllLines(directory.resolve("calls")).size());
  }

  @Test
  void mavenIsToldWhatToResolve() throws Exception {
    program("mvn", "echo \"$@\" > '" + directory + "/calls'");
    Peer.RABIT.prepare(build(false));
    String call = Files.readString(directory.resolve("calls"));
    assertTrue(call.contains("built/rabit/pom.xml dependency:copy-dependencies"), call);
    String pom = Files.readString(directory.resolve("built/rabit/pom.xml"));
    assertTrue(
        pom.contains("<artifactId>xgboost4j_2.12</artifactId><version>3.0.4</version>"), pom);
    assertTrue(Files.exists(directory.resolve("built/rabit/src/main/java/AllReducePeer.java")));
    assertTrue(Files.exists(directory.resolve("built/rabit/src/main/java/RabitPeer.java")));
  }

  @Test
  void peersOverMemoryAreThoseThatShareIt() {
    assertEquals(
        List.of(Peer.OPENMPI, Peer.SPARK, Peer.C_SHM),
        having(Collective.ALL_REDUCE, Medium.MEMORY));
    assertEquals(List.of(Peer.OPENMPI), having(Collective.BROADCAST, Medium.MEMORY));
  }

  @Test
  void allLibrariesHaveAnAllReduceAndSomeTheOthers() {
    assertEquals(
        List.of(Peer.OPENMPI, Peer.GLOO, Peer.PYTORCH_GLOO, Peer.RABIT, Peer.SPARK),
        having(Collective.ALL_REDUCE, Medium.TCP));
    assertEquals(List.of(Peer.OPENMPI), having(Collective.REDUCE_SCATTER, Medium.TCP));
    assertEquals(List.of(Peer.OPENMPI, Peer.GLOO), having(Collective.ALL_GATHER, Medium.TCP));
    assertEquals(List.of(Peer.OPENMPI, Peer.GLOO), having(Collective.BROADCAST, Medium.TCP));
  }

  private static List<Peer> having(Collective collective, Medium medium) {
    return Arrays.stream(Peer.values())
        .filter(peer -> !peer.variants(collective, medium).isEmpty())
        .toList();
  }

  /** Returns what {@code mpirun} is told. */
  private String openMpi(Collective collective, String variant, Medium medium) throws Exception {
    program("mpicc", "exit 0");
    program("mpirun", "exit 0");
    PeerBuild build = build(false);
    Peer.OPENMPI.prepare(build);
    PeerJob job = new PeerJob(collective, variant, medium, 500);
    return String.join(" ", Peer.OPENMPI.kit().starts(build, job, directory).get(0).command());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "TCP | --mca btl self,tcp --mca btl_tcp_if_include lo",
        "MEMORY | --mca btl self,vader",
      })
  void openMpiIsToldTheMedium(Medium medium, String options) throws Exception {
    String command = openMpi(Collective.ALL_REDUCE, "ring-1M", medium);
    assertTrue(command.contains(options), command);
    assertTrue(command.contains("-np 500"), command);
    assertTrue(command.contains("mpi_yield_when_idle 1"), command);
  }

  @ParameterizedTest
  @CsvSource({
    "ALL_REDUCE, ring-1M, coll_tuned_allreduce_algorithm 5",
    "REDUCE_SCATTER, butterfly, coll_tuned_reduce_scatter_block_algorithm 4",
    "ALL_GATHER, ring, coll_tuned_allgather_algorithm 4",
    "BROADCAST, pipeline-128K, coll_tuned_bcast_algorithm 3 --mca"
        + " coll_tuned_bcast_algorithm_segmentsize 131072"
  })
  void openMpiIsToldTheCollectiveAndItsAlgorithm(
      Collective collective, String variant, String options) throws Exception {
    String command = openMpi(collective, variant, Medium.TCP);
    assertTrue(command.contains(" " + options + " "), command);
    assertTrue(command.endsWith("mpi_peer " + collective), command);
  }
}
