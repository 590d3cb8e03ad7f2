package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.ReduceOp;
import io.collectives.testkit.FreePort;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A job prints nothing on standard error, on a JVM that has been granted nothing: newer ones warn
 * of native libraries and of the older ways to off-heap memory.
 */
@Timeout(150)
@Tag("once")
@Tag("long")
final class SilenceTest {
  private static final String[] TRANSPORTS = {"shm", "unix", "tcp", "auto"};
  private static final int FIRST_TO_WARN = 24;
  private static final Pattern FEATURE = Pattern.compile("\"?(\\d+).*");

  @TempDir private Path directory;
  private final List<Process> processes = new ArrayList<>();

  /** A rank of two, which meet once for each transport; and jobs of one process. */
  static final class Program {
    private Program() {}

    /** Prints a sum for each job. */
    public static void main(String[] args) {
      int rank = Integer.parseInt(args[0]);
      URI[] places = {Path.of(args[1]).toUri(), URI.create("tcp://127.0.0.1:" + args[2])};
      for (String transport : TRANSPORTS) {
        for (URI place : places) {
          sum(JobSettings.of(rank, 2, place).withJob(transport).withTransport(transport));
        }
        sum(JobSettings.of(0, 1, places[1]).withTransport(transport));
      }
      Collectives.inThreads(2, Program::sum);
    }

    private static void sum(JobSettings settings) {
      try (Communicator world = Collectives.join(settings)) {
        sum(world);
      }
    }

    private static void sum(Communicator world) {
      float[] buffer = new float[100_000];
      buffer[99_999] = world.rank() + 1;
      world.allReduce(buffer, ReduceOp.SUM);
      world.barrier();
      if (world.rank() == 0) {
        System.out.println(buffer[99_999]);
      }
    }
  }

  @AfterEach
  void stopAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void jobsAreSilentOnThisJvm() throws Exception {
    assertEquals("", errors(Path.of(System.getProperty("java.home")), "warn"));
  }

  @Test
  void jobsAreSilentOnAJvmThatWarnsAndTheLogSaysWhatToGrant() throws Exception {
    Path home = newerJava();
    String said = errors(home, "info");
    assertTrue(
        Pattern.matches(
            "(\\[main] INFO \\S+SocketEndpoint - Netty's epoll is not used, [^\n]*"
                + "--enable-native-access=ALL-UNNAMED[^\n]*\n)+",
            said),
        said);
  }

  @Test
  void epollIsUsedWhereItIsGranted() throws Exception {
    Path home = newerJava();
    assertEquals("", errors(home, "info", "--enable-native-access=ALL-UNNAMED"));
  }

  /** Returns what rank 1 of a job prints on standard error. */
  private String errors(Path home, String level, String... options) throws Exception {
    String port = "" + FreePort.find();
    Path rendezvous = Files.createDirectory(directory.resolve("rendezvous"));
    for (int rank = 0; rank < 2; rank++) {
      List<String> command = new ArrayList<>();
      command.add(home.resolve("bin").resolve("java").toString());
      command.addAll(List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"));
      command.addAll(List.of(options));
      command.add("-Dorg.slf4j.simpleLogger.defaultLogLevel=" + level);
      command.add("-cp");
      command.add(
          System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
      command.addAll(
          List.of(Program.class.getName(), Integer.toString(rank), rendezvous.toString(), port));
      processes.add(
          new ProcessBuilder(command)
              .redirectOutput(directory.resolve("out-" + rank).toFile())
              .redirectError(directory.resolve("err-" + rank).toFile())
              .start());
    }
    for (Process process : processes) {
      assertTrue(process.waitFor(50, TimeUnit.SECONDS), "a rank does not end");
    }
    String[] errors = {error(0), error(1)};
    assertEquals(
        ("3.0\n".repeat(2) + "1.0\n").repeat(TRANSPORTS.length) + "3.0\n",
        Files.readString(directory.resolve("out-0")),
        () -> errors[0] + errors[1]);
    assertEquals(errors[0], errors[1]);
    return errors[1];
  }

  private String error(int rank) throws IOException {
    return Files.readString(directory.resolve("err-" + rank));
  }

  /** The home of a JVM that warns: this one, or one that is installed beside it. */
  private static Path newerJava() throws IOException {
    Path own = Path.of(System.getProperty("java.home")).toRealPath();
    try (Stream<Path> homes = Files.list(own.getParent())) {
      for (Path home : Stream.concat(Stream.of(own), homes).toList()) {
        if (feature(home) >= FIRST_TO_WARN) {
          return home;
        }
      }
    }
    String why = "no Java " + FIRST_TO_WARN + " or newer is installed beside " + own;
    System.err.println("skipped: " + why);
    Assumptions.abort(why);
    throw new IllegalStateException(why);
  }

  private static int feature(Path home) throws IOException {
    Path release = home.resolve("release");
    if (!Files.isExecutable(home.resolve("bin").resolve("java")) || !Files.exists(release)) {
      return 0;
    }
    Properties properties = new Properties();
    try (var in = Files.newBufferedReader(release)) {
      properties.load(in);
    }
    Matcher version = FEATURE.matcher(properties.getProperty("JAVA_VERSION", ""));
    return version.matches() ? Integer.parseInt(version.group(1)) : 0;
  }
}
