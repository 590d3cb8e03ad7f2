package io.collectives.engine.join;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.Repeatability;
import io.collectives.Security;
import io.collectives.TlsFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

final class JobEnvironmentTest {
  private static final String TORCH =
      "RANK=1 WORLD_SIZE=4 MASTER_ADDR=localhost MASTER_PORT=29500 ";
  private static final String OMPI =
      "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_RANK=2 ";
  private static final String SLURM = "SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_LOCALID=1 ";
  private static final String POD = "JOB_COMPLETION_INDEX=2 HOSTNAME=train-2 ";
  private static final String SECRET = "COLLECTIVES_SECRET=0123456789abcdef ";
  private static final String ANY = "COLLECTIVES_LISTEN=0.0.0.0 ";

  @TempDir private Path directory;

  @Test
  void whatDescribesAPartOfAJobIsNotNothing() {
    assertFalse(JobEnvironment.describesJob(Map.of("PATH", "/bin", "RANK", "")));
    assertFalse(JobEnvironment.describesJob(Map.of("SLURM_NTASKS", "4")));
    assertTrue(JobEnvironment.describesJob(Map.of("WORLD_SIZE", "4")));
    assertTrue(JobEnvironment.describesJob(Map.of("PMI_ID", "0")));
  }

  /** A variable {@code A=b} a word; {@code _} in a value stands for a blank. */
  record Good(String environment, String expected) {
    @Override
    public String toString() {
      return environment + "-> " + expected;
    }
  }

  record Bad(String environment, String... facts) {
    @Override
    public String toString() {
      return environment + "-> " + String.join(" … ", facts);
    }
  }

  static Stream<Good> good() {
    return Stream.of(
        new Good(TORCH, "1/4 tcp://localhost:29500 default auto localhost:0"),
        new Good(TORCH + "LOCAL_RANK=1", "1/4 tcp://localhost:29500 default auto localhost:0"),
        new Good(
            TORCH + "MASTER_ADDR=127.0.0.1", "1/4 tcp://127.0.0.1:29500 default auto localhost:0"),
        new Good(TORCH + "MASTER_ADDR=::1", "1/4 tcp://[::1]:29500 default auto localhost:0"),
        new Good(
            TORCH + "MASTER_ADDR=thishost", "1/4 tcp://thishost:29500 default auto localhost:0"),
        new Good(
            TORCH + ANY + "MASTER_ADDR=10.0.0.7",
            "1/4 tcp://10.0.0.7:29500 default auto 0.0.0.0:0"),
        new Good(
            TORCH + SECRET + "MASTER_ADDR=10.0.0.7",
            "1/4 tcp://10.0.0.7:29500 default auto auto:0"),
        new Good(
            TORCH + "COLLECTIVES_INSECURE_ANYONE_MAY_JOIN=true MASTER_ADDR=10.0.0.7",
            "1/4 tcp://10.0.0.7:29500 default auto auto:0"),
        new Good(TORCH + SECRET, "1/4 tcp://localhost:29500 default auto localhost:0"),
        new Good(
            TORCH + SECRET + "MASTER_ADDR=h COLLECTIVES_LISTEN=auto:29600",
            "1/4 tcp://h:29500 default auto auto:29600"),
        new Good(
            POD + SECRET + "COLLECTIVES_SIZE=3 COLLECTIVES_SERVICE=ranks",
            "2/3 tcp://train-0.ranks:29500 train auto auto:0"),
        new Good(
            SLURM + SECRET + "SLURM_JOB_NODELIST=node[03-07] SLURM_JOB_ID=12",
            "3/8 tcp://node03:" + port("slurm-12") + " slurm-12 auto auto:0"),
        new Good(TORCH + OMPI, "1/4 tcp://localhost:29500 default auto localhost:0"),
        new Good(
            TORCH + SLURM + "PMI_RANK=0 PMI_SIZE=1",
            "1/4 tcp://localhost:29500 default auto localhost:0"),
        new Good(
            "RANK=_1_ WORLD_SIZE=_2 COLLECTIVES_RENDEZVOUS=file:///jobs COLLECTIVES_JOB=night",
            "1/2 file:///jobs night auto localhost:0"),
        new Good(
            OMPI + "PMIX_NAMESPACE=prterun-host-77@1",
            "2/3 tcp://localhost:"
                + port("ompi-prterun-host-77@1")
                + " ompi-prterun-host-77@1 auto localhost:0"),
        new Good(
            OMPI + "OMPI_COMM_WORLD_LOCAL_SIZE=3 OMPI_MCA_ess_base_jobid=991",
            "2/3 tcp://localhost:" + port("ompi-991") + " ompi-991 auto localhost:0"),
        new Good(
            OMPI + "MASTER_PORT=4000 PMIX_NAMESPACE=7",
            "2/3 tcp://localhost:4000 ompi-7 auto localhost:0"),
        new Good(
            OMPI + ANY + "OMPI_COMM_WORLD_LOCAL_SIZE=1 MASTER_ADDR=h1 MASTER_PORT=4000",
            "2/3 tcp://h1:4000 default auto 0.0.0.0:0"),
        new Good(
            OMPI + "RANK= COLLECTIVES_RENDEZVOUS=file:///d",
            "2/3 file:///d default auto localhost:0"),
        new Good(
            "PMI_RANK=0 PMI_SIZE=2 PMI_JOBID=k1",
            "0/2 tcp://localhost:" + port("pmi-k1") + " pmi-k1 auto localhost:0"),
        new Good(
            "PMI_ID=1 PMI_SIZE=2 MPI_LOCALNRANKS=2 PMI_JOBID=k1",
            "1/2 tcp://localhost:" + port("pmi-k1") + " pmi-k1 auto localhost:0"),
        new Good(
            "PMI_RANK=0 PMI_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=5",
            "0/2 tcp://localhost:5 default auto localhost:0"),
        new Good(
            "PMI_RANK=3 PMI_SIZE=8 " + SLURM + ANY + "SLURM_JOB_NODELIST=a[1-2] SLURM_JOB_ID=12",
            "3/8 tcp://a1:" + port("slurm-12") + " slurm-12 auto 0.0.0.0:0"),
        new Good(
            SLURM + ANY + "SLURM_JOB_NODELIST=node[03-07,9],gpu1 SLURM_JOB_ID=12",
            "3/8 tcp://node03:" + port("slurm-12") + " slurm-12 auto 0.0.0.0:0"),
        new Good(
            SLURM + ANY + "SLURM_NODELIST=gpu1,node[3-7] SLURM_JOB_ID=12 SLURM_STEP_ID=4",
            "3/8 tcp://gpu1:" + port("slurm-12.4") + " slurm-12.4 auto 0.0.0.0:0"),
        new Good(
            SLURM + "SLURM_JOB_NODELIST=node7 SLURM_JOB_ID=12",
            "3/8 tcp://localhost:" + port("slurm-12") + " slurm-12 auto localhost:0"),
        new Good(
            "SLURM_PROCID=0 SLURM_NPROCS=1 SLURM_JOB_NODELIST=a[1-9] SLURM_STEP_NODELIST=a[4] "
                + "SLURM_JOBID=9 MASTER_PORT=88",
            "0/1 tcp://localhost:88 slurm-9 auto localhost:0"),
        new Good(
            SLURM + "MASTER_ADDR=localhost MASTER_PORT=88",
            "3/8 tcp://localhost:88 default auto localhost:0"),
        new Good(
            POD + ANY + "WORLD_SIZE=3 COLLECTIVES_SERVICE=ranks",
            "2/3 tcp://train-0.ranks:29500 train auto 0.0.0.0:0"),
        new Good(
            POD + ANY + "COLLECTIVES_SIZE=3 COLLECTIVES_SERVICE=ranks.ml.svc MASTER_PORT=1234",
            "2/3 tcp://train-0.ranks.ml.svc:1234 train auto 0.0.0.0:0"),
        new Good(
            "JOB_COMPLETION_INDEX=0 COLLECTIVES_SIZE=3 MASTER_ADDR=localhost",
            "0/3 tcp://localhost:29500 default auto localhost:0"),
        new Good(
            TORCH + "COLLECTIVES_LISTEN=eth0.local",
            "1/4 tcp://localhost:29500 default auto eth0.local:0"),
        new Good(
            TORCH + "COLLECTIVES_LISTEN=10.1.2.3:99",
            "1/4 tcp://localhost:29500 default auto 10.1.2.3:99"),
        new Good(
            TORCH + "COLLECTIVES_LISTEN=[fe80::1]:99",
            "1/4 tcp://localhost:29500 default auto fe80::1:99"),
        new Good(TORCH + "COLLECTIVES_LISTEN=[::]", "1/4 tcp://localhost:29500 default auto :::0"),
        new Good(TORCH + "COLLECTIVES_LISTEN=::1", "1/4 tcp://localhost:29500 default auto ::1:0"),
        new Good(
            TORCH + "COLLECTIVES_TRANSPORT=shm",
            "1/4 tcp://localhost:29500 default shm localhost:0"),
        new Good(
            TORCH + "COLLECTIVES_RENDEZVOUS=tcp://[::1]:7",
            "1/4 tcp://[::1]:7 default auto localhost:0"));
  }

  @ParameterizedTest
  @MethodSource
  void good(Good good) {
    JobSettings s = settings(good.environment);
    assertEquals(
        good.expected,
        s.rank()
            + "/"
            + s.size()
            + " "
            + s.rendezvous()
            + " "
            + s.job()
            + " "
            + s.transport()
            + " "
            + s.listen()
            + ":"
            + s.port());
  }

  static Stream<Bad> bad() {
    return Stream.of(
        new Bad(
            "",
            "RANK",
            "OMPI_COMM_WORLD_RANK",
            "SLURM_PROCID",
            "bin/collectives launch -n 4 -- java",
            "JobSettings"),
        new Bad("PATH=/bin", "describes no job"),
        new Bad(
            "RANK=0", "RANK=0", "WORLD_SIZE, MASTER_ADDR, MASTER_PORT", "COLLECTIVES_RENDEZVOUS"),
        new Bad("RANK=0 WORLD_SIZE=2 MASTER_ADDR=h", "missing is MASTER_PORT"),
        new Bad("RANK=0 " + OMPI, "RANK=0", "WORLD_SIZE"),
        new Bad("WORLD_SIZE=2", "WORLD_SIZE=2", "missing is RANK"),
        new Bad("OMPI_COMM_WORLD_SIZE=2", "missing is OMPI_COMM_WORLD_RANK"),
        new Bad("SLURM_NTASKS=2", "SLURM_NTASKS=2", "SLURM_PROCID", "srun"),
        new Bad(TORCH + "RANK=four", "RANK=four", "whole number from 0"),
        new Bad(TORCH + "RANK=-1", "RANK=-1", "from 0"),
        new Bad(TORCH + "RANK=4", "RANK=4", "from 0 to 3", "WORLD_SIZE=4"),
        new Bad(TORCH + "WORLD_SIZE=0", "WORLD_SIZE=0", "from 1"),
        new Bad(TORCH + "WORLD_SIZE=99999999999", "WORLD_SIZE=99999999999", "from 1"),
        new Bad(TORCH + "LOCAL_RANK=x", "LOCAL_RANK=x", "from 0 to 3"),
        new Bad(TORCH + "MASTER_PORT=0", "MASTER_PORT=0", "from 1 to 65535"),
        new Bad(TORCH + "MASTER_PORT=65536", "MASTER_PORT=65536", "from 1 to 65535"),
        new Bad(TORCH + "MASTER_ADDR=my_host", "MASTER_ADDR=my_host", "not a name"),
        new Bad(
            TORCH + "MASTER_ADDR=10.0.0.7",
            "tcp://10.0.0.7:29500",
            "COLLECTIVES_SECRET_FILE",
            "COLLECTIVES_LISTEN",
            "MASTER_ADDR=localhost"),
        new Bad(TORCH + "COLLECTIVES_RENDEZVOUS=tcp://far:1", "tcp://far:1", "COLLECTIVES_LISTEN"),
        new Bad("OMPI_COMM_WORLD_RANK=1", "missing is OMPI_COMM_WORLD_SIZE"),
        new Bad(
            OMPI,
            "Open MPI does not say which job",
            "MASTER_ADDR",
            "MASTER_PORT",
            "COLLECTIVES_RENDEZVOUS"),
        new Bad(
            OMPI + "OMPI_COMM_WORLD_LOCAL_SIZE=1 PMIX_NAMESPACE=7", "several hosts", "MASTER_ADDR"),
        new Bad(
            OMPI + "OMPI_COMM_WORLD_LOCAL_RANK=0 PMIX_NAMESPACE=7", "several hosts", "MASTER_ADDR"),
        new Bad("PMI_ID=1", "PMI_ID=1", "missing is PMI_SIZE"),
        new Bad("PMI_RANK=0 PMI_SIZE=2", "PMI does not say which job", "COLLECTIVES_RENDEZVOUS"),
        new Bad("SLURM_PROCID=0", "missing is SLURM_NTASKS"),
        new Bad(SLURM + "SLURM_JOB_ID=1", "SLURM_JOB_NODELIST", "MASTER_ADDR"),
        new Bad(SLURM + "SLURM_JOB_NODELIST=a", "SLURM_JOB_ID", "MASTER_PORT"),
        new Bad(
            SLURM + "SLURM_JOB_ID=1 SLURM_JOB_NODELIST=a[1-",
            "SLURM_JOB_NODELIST=a[1-",
            "node[03-07,09],gpu1"),
        new Bad(
            SLURM + "SLURM_JOB_ID=1 SLURM_JOB_NODELIST=a[1-3]", "tcp://a1:", "COLLECTIVES_LISTEN"),
        new Bad(POD, "JOB_COMPLETION_INDEX=2", "WORLD_SIZE or COLLECTIVES_SIZE", "completions"),
        new Bad(POD + "WORLD_SIZE=2", "JOB_COMPLETION_INDEX=2", "from 0 to 1", "WORLD_SIZE=2"),
        new Bad(POD + "WORLD_SIZE=3", "COLLECTIVES_SERVICE", "HOSTNAME=train-2"),
        new Bad(
            POD + "WORLD_SIZE=3 HOSTNAME=other COLLECTIVES_SERVICE=s",
            "<job>-2",
            "other",
            "MASTER_ADDR"),
        new Bad(
            POD + "WORLD_SIZE=3 COLLECTIVES_SERVICE=s",
            "tcp://train-0.s:29500",
            "COLLECTIVES_LISTEN"),
        new Bad(
            TORCH + "COLLECTIVES_RENDEZVOUS=somewhere",
            "COLLECTIVES_RENDEZVOUS=somewhere",
            "tcp://host:port"),
        new Bad(
            TORCH + "COLLECTIVES_RENDEZVOUS=tcp://host", "tcp://host:port or file:///directory"),
        new Bad(TORCH + "COLLECTIVES_RENDEZVOUS=file:d", "tcp://host:port or file:///directory"),
        new Bad(
            TORCH + "COLLECTIVES_RENDEZVOUS=tcp://ab^c:1", "tcp://host:port or file:///directory"),
        new Bad(TORCH + "COLLECTIVES_JOB=a_b", "COLLECTIVES_JOB=a b", "printable ASCII"),
        new Bad(
            TORCH + "COLLECTIVES_LISTEN=h:70000", "COLLECTIVES_LISTEN=h:70000", "from 0 to 65535"),
        new Bad(TORCH + "COLLECTIVES_LISTEN=h:x", "COLLECTIVES_LISTEN=h:x", "[v6-address]:port"),
        new Bad(
            TORCH + "COLLECTIVES_JOIN_TIMEOUT=soon", "COLLECTIVES_JOIN_TIMEOUT=soon", "PT1M30S"),
        new Bad(
            TORCH + "COLLECTIVES_JOIN_TIMEOUT=0", "COLLECTIVES_JOIN_TIMEOUT=0", "more than zero"),
        new Bad(
            TORCH + "COLLECTIVES_CALL_TIMEOUT=PT-1S",
            "COLLECTIVES_CALL_TIMEOUT=PT-1S",
            "more than zero"),
        new Bad(
            TORCH + "COLLECTIVES_CALL_TIMEOUT=P366D", "COLLECTIVES_CALL_TIMEOUT=P366D", "365 days"),
        new Bad(
            TORCH + "COLLECTIVES_REPEATABILITY=always",
            "COLLECTIVES_REPEATABILITY=always",
            "rank-order"),
        new Bad(TORCH + "COLLECTIVES_CHECKSUMS=yes", "COLLECTIVES_CHECKSUMS=yes", "true or false"),
        new Bad(
            TORCH + "COLLECTIVES_INSECURE_ANYONE_MAY_JOIN=1",
            "COLLECTIVES_INSECURE_ANYONE_MAY_JOIN=1",
            "true or false"),
        new Bad(TORCH + "COLLECTIVES_SECRET=sesame", "COLLECTIVES_SECRET", "6 bytes", "16"),
        new Bad(
            TORCH + "COLLECTIVES_SECRET=sesame COLLECTIVES_SECRET_FILE=/f",
            "both COLLECTIVES_SECRET_FILE and COLLECTIVES_SECRET"),
        new Bad(TORCH + "COLLECTIVES_SECRET_FILE=/no/such/file", "/no/such/file", "cannot be read"),
        new Bad(
            TORCH + "COLLECTIVES_TLS_KEY=/k COLLECTIVES_TLS_TRUST=/t",
            "COLLECTIVES_TLS_KEY is set",
            "missing is COLLECTIVES_TLS_CERTIFICATE"));
  }

  @ParameterizedTest
  @MethodSource
  void bad(Bad bad) {
    String message =
        assertThrows(JoinException.class, () -> settings(bad.environment)).getMessage();
    for (String fact : bad.facts) {
      assertTrue(message.contains(fact), () -> "\"" + fact + "\" is not in: " + message);
    }
    assertFalse(message.contains("sesame"), "a secret is never told");
  }

  @ParameterizedTest
  @CsvSource({
    "90, PT1M30S",
    "2.5, PT2.5S",
    "PT3M, PT3M",
    "P1D, PT24H",
    "0.000000001, PT0.000000001S"
  })
  void timesAreSecondsOrIso(String text, Duration expected) {
    JobSettings s =
        settings(TORCH + "COLLECTIVES_JOIN_TIMEOUT=" + text + " COLLECTIVES_CALL_TIMEOUT=" + text);
    assertEquals(expected, s.joinTimeout());
    assertEquals(expected, s.calls().timeout());
  }

  @Test
  void nothingIsSecuredUnasked() {
    assertEquals(Security.none(), settings(TORCH).security());
    assertFalse(Security.none().allowsOtherHosts());
  }

  @Test
  void whatKeepsOthersOutIsSettable() throws Exception {
    Security s =
        settings(
                TORCH
                    + "COLLECTIVES_SECRET=0123456789abcdef COLLECTIVES_CHECKSUMS=true "
                    + "COLLECTIVES_TLS_CERTIFICATE=/c COLLECTIVES_TLS_KEY=/k"
                    + " COLLECTIVES_TLS_TRUST=/t")
            .security();
    assertEquals(JobSecret.of("0123456789abcdef"), s.secret());
    assertEquals(new TlsFiles(Path.of("/c"), Path.of("/k"), Path.of("/t")), s.tls());
    assertTrue(s.checksums() && s.allowsOtherHosts() && !s.anyoneMayJoin());
    s = settings(TORCH + "COLLECTIVES_INSECURE_ANYONE_MAY_JOIN=true").security();
    assertTrue(s.anyoneMayJoin() && s.allowsOtherHosts());
    assertNull(s.secret());
    Path file = Files.writeString(directory.resolve("secret"), "fedcba9876543210\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    assertEquals(
        JobSecret.of("fedcba9876543210"),
        JobEnvironment.settings(
                Map.of(
                    "RANK",
                    "0",
                    "WORLD_SIZE",
                    "1",
                    "COLLECTIVES_RENDEZVOUS",
                    "file:///d",
                    "COLLECTIVES_SECRET_FILE",
                    file.toString()))
            .security()
            .secret());
  }

  @Test
  void theLimitOfSilenceIsSettable() {
    assertEquals(
        Duration.ofMillis(1500),
        settings(TORCH + "COLLECTIVES_SILENCE_LIMIT=1.5").calls().silenceLimit());
    assertEquals(Duration.ofSeconds(5), settings(TORCH).calls().silenceLimit());
  }

  @Test
  void repeatabilityIsSettable() {
    assertEquals(
        Repeatability.RANK_ORDER,
        settings(TORCH + "COLLECTIVES_REPEATABILITY=rank-order").calls().repeatability());
    assertEquals(Repeatability.FASTEST, settings(TORCH).calls().repeatability());
  }

  @Test
  void rowsOfAutoAreSettableByAStringOrAFile() throws Exception {
    String rows = "all-reduce_3-8:0-4K:exchange,4K-inf:direct;broadcast:0-inf:ring";
    assertEquals(
        new Algorithm.Auto(rows.replace('_', ' '), "COLLECTIVES_AUTO"),
        settings(TORCH + "COLLECTIVES_AUTO=" + rows).calls().algorithm());
    assertEquals(
        new Algorithm.Auto("shipped", "COLLECTIVES_AUTO"),
        settings(TORCH + "COLLECTIVES_AUTO=shipped").calls().algorithm());
    Path file = directory.resolve("my.table");
    Map<String, String> variables =
        Map.of(
            "RANK",
            "0",
            "WORLD_SIZE",
            "1",
            "MASTER_ADDR",
            "localhost",
            "MASTER_PORT",
            "1",
            "COLLECTIVES_AUTO",
            "@" + file);
    Files.writeString(file, "# mine\nthreads reduce: 0-inf: ring\n");
    assertEquals(
        new Algorithm.Auto(Files.readString(file), file.toString()),
        JobEnvironment.settings(variables).calls().algorithm());
    Files.writeString(file, "# mine\nthreads reduce: 0-inf: rung\n");
    String message =
        assertThrows(JoinException.class, () -> JobEnvironment.settings(variables)).getMessage();
    assertTrue(message.startsWith(file + ", line 2, column 24: \"rung\": "), message);
    Files.delete(file);
    message =
        assertThrows(JoinException.class, () -> JobEnvironment.settings(variables)).getMessage();
    assertTrue(message.contains("COLLECTIVES_AUTO=@" + file + ": the file cannot"), message);
  }

  @Test
  void theDirectoryOfFlightRecordsIsSettable() {
    assertEquals(
        Path.of("/tmp/flights"),
        settings(TORCH + "COLLECTIVES_FLIGHT_DIRECTORY=/tmp/flights").calls().flightDirectory());
    assertEquals(null, settings(TORCH).calls().flightDirectory());
  }

  @Test
  void tracesAndPlacesOfCallsAreSettable() {
    CallSettings calls =
        settings(TORCH + "COLLECTIVES_TRACE=/tmp/traces COLLECTIVES_FLIGHT_SITES=true").calls();
    assertEquals(Path.of("/tmp/traces"), calls.traceDirectory());
    assertEquals(true, calls.callSites());
    assertEquals(null, settings(TORCH).calls().traceDirectory());
    assertEquals(false, settings(TORCH).calls().callSites());
    JoinException wrong =
        assertThrows(JoinException.class, () -> settings(TORCH + "COLLECTIVES_FLIGHT_SITES=yes"));
    assertTrue(wrong.getMessage().contains("needed is true or false"), wrong.getMessage());
  }

  @Test
  void theDirectoryOfReportsIsSettable() {
    assertEquals(
        Path.of("/tmp/reports"),
        settings(TORCH + "COLLECTIVES_REPORT=/tmp/reports").calls().reportDirectory());
    assertEquals(null, settings(TORCH).calls().reportDirectory());
  }

  @Test
  void transportAndDirectoryOfSharedMemoryAreSettable() {
    JobSettings s =
        settings(TORCH + "COLLECTIVES_TRANSPORT=shm COLLECTIVES_MEMORY_DIRECTORY=/mnt/huge");
    assertEquals("shm", s.transport());
    assertEquals(Path.of("/mnt/huge"), s.memoryDirectory());
    assertEquals(null, settings(TORCH).memoryDirectory());
  }

  @Test
  void theTransportIsChosenUnlessTheHostIsToldOrNot() {
    assertEquals("auto", settings(TORCH).transport());
    assertEquals(null, settings(TORCH).host());
    assertEquals("rack-1.a", settings(TORCH + "COLLECTIVES_HOST=rack-1.a").host());
    JoinException e =
        assertThrows(JoinException.class, () -> settings(TORCH + "COLLECTIVES_HOST=a:b"));
    assertTrue(e.getMessage().contains("COLLECTIVES_HOST=a:b"), e.getMessage());
  }

  @Test
  void otherProcessesMayAskUnlessTheyAreNotTo() {
    assertEquals(true, settings(TORCH).status());
    assertEquals(true, settings(TORCH + "COLLECTIVES_STATUS=on").status());
    assertEquals(false, settings(TORCH + "COLLECTIVES_STATUS=off").withJob("other").status());
    JoinException e =
        assertThrows(JoinException.class, () -> settings(TORCH + "COLLECTIVES_STATUS=no"));
    assertTrue(e.getMessage().contains("COLLECTIVES_STATUS=no: needed is on or off"));
  }

  @Test
  void timesThatAreNotSetAreTheDefaults() {
    JobSettings s = settings(TORCH);
    assertEquals(Duration.ofSeconds(60), s.joinTimeout());
    assertEquals(Duration.ofSeconds(30), s.calls().timeout());
  }

  @Test
  void aPortThatTorchrunItselfListensOnIsNotUsed() {
    String agent = TORCH + "TORCHELASTIC_USE_AGENT_STORE=True TORCHELASTIC_RUN_ID=r1 ";
    int port = settings(agent).rendezvous().getPort();
    assertNotEquals(29500, port);
    assertEquals(port, settings(agent + "RANK=3").rendezvous().getPort());
    assertEquals(
        29500, settings(TORCH + "TORCHELASTIC_USE_AGENT_STORE=False").rendezvous().getPort());
  }

  @Test
  void derivedPortsAreTheSameForAllRanksAndDifferentForTheNextJob() {
    String job = SLURM + "SLURM_JOB_NODELIST=n SLURM_JOB_ID=";
    int port = settings(job + "1000").rendezvous().getPort();
    assertEquals(port, settings(job + "1000 SLURM_PROCID=5").rendezvous().getPort());
    assertNotEquals(port, settings(job + "1001").rendezvous().getPort());
    assertTrue(port >= 15_000 && port < 30_000, () -> "port " + port);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "node1 | node1 true",
        "node[1] | node1 true",
        "node[3-7,9],gpu1 | node3 false",
        "node[007-010] | node007 false",
        "node[12,14] | node12 false",
        "a,b | a false",
        "rack[2-3]-node[01-04] | rack2-node01 false",
        "n[1-2]-ib,n3 | n1-ib false",
        "c.example.org | c.example.org true"
      })
  void slurmLists(String list, String expected) {
    NodeList nodes = NodeList.parse(list);
    assertEquals(expected, nodes.first() + " " + nodes.single());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"''", "','", "n[", "n[]", "n[1-", "n]1[", "n[a-b]", "n[1--2]", "n 1"})
  void brokenSlurmLists(String list) {
    assertThrows(IllegalArgumentException.class, () -> NodeList.parse(list));
  }

  private static int port(String job) {
    return 15_000 + Math.floorMod(job.hashCode(), 15_000);
  }

  private static JobSettings settings(String environment) {
    Map<String, String> variables = new HashMap<>();
    for (String word : environment.split(" ")) {
      String[] parts = word.split("=", 2);
      if (parts.length == 2) {
        variables.put(
            parts[0], parts[0].equals("MASTER_ADDR") ? parts[1] : parts[1].replace('_', ' '));
      }
    }
    return JobEnvironment.settings(variables, "thishost"::equals);
  }
}
