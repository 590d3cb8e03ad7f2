package io.collectives.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.bench.network.Network;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A cluster of Spark on three hosts, which are namespaces: the master and the driver on one, an
 * executor of two tasks on each of the others. The hosts share no memory either.
 */
@Timeout(value = 400, unit = TimeUnit.SECONDS)
@Tag("long")
@Tag("once")
class SparkHostsTest {
  private static final String MASTER = "spark://10.77.0.2:7077";

  private final List<Process> processes = new ArrayList<>();

  @AfterEach
  void end() {
    for (Process process : processes) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  @Test
  void tasksOfSeveralHostsLearnWhatOneProcessLearns() throws Exception {
    Optional<String> whyNot = Network.whyNot();
    whyNot.ifPresent(why -> System.err.println("SKIPPED SparkHostsTest: " + why));
    Assumptions.assumeTrue(whyNot.isEmpty());
    Path home = Path.of(System.getenv("SPARK_HOME"));
    SparkJobs.makeHome(home);
    String directories = SparkJobs.directoriesOfClassPath();
    try (Network network = new Network(3)) {
      BufferedReader master =
          start(
              network,
              0,
              List.of(),
              "org.apache.spark.deploy.master.Master",
              List.of("--host", "10.77.0.2", "--port", "7077", "--webui-port", "0"));
      await(master, "New state: ALIVE");
      drain(master);
      for (int host = 1; host < network.hosts(); host++) {
        String address = "10.77." + host + ".2";
        BufferedReader worker =
            start(
                network,
                host,
                List.of(),
                "org.apache.spark.deploy.worker.Worker",
                List.of("--host", address, "-c", "2", "-m", "1G", "--webui-port", "0", MASTER));
        await(worker, "Successfully registered with master");
        drain(worker);
      }
      BufferedReader driver =
          start(
              network,
              0,
              List.of(
                  "-Dspark.master=" + MASTER,
                  "-Dspark.driver.host=10.77.0.2",
                  "-Dspark.ui.enabled=false",
                  "-Dspark.executor.memory=512m",
                  "-Dspark.scheduler.barrier.maxConcurrentTasksCheck.interval=1s",
                  "-Dspark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures=200",
                  "-Dspark.executor.extraClassPath=" + directories),
              SparkDigits.class.getName(),
              List.of());
      double alone = Double.parseDouble(await(driver, "alone: ").substring("alone: ".length()));
      Set<String> hosts = new HashSet<>();
      for (int task = 0; task < 4; task++) {
        String[] words = await(driver, "task: ").split(" ");
        assertEquals(alone, Double.parseDouble(words[1]), alone * 5e-8);
        hosts.add(words[3]);
      }
      System.out.println("executors on " + hosts + ": " + alone);
      assertEquals(2, hosts.size(), hosts::toString);
    }
  }

  /** Starts a Java program on a host with shared memory of its own; returns what it prints. */
  private BufferedReader start(
      Network network, int host, List<String> options, String main, List<String> arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.addAll(
        List.of(
            "unshare",
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs none /dev/shm && exec \"$@\"",
            "sh",
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx512m"));
    command.addAll(List.of(System.getProperty("spark.opens").split(" ")));
    command.addAll(options);
    command.addAll(List.of("-cp", String.join(File.pathSeparator, SparkJobs.classPath()), main));
    command.addAll(arguments);
    ProcessBuilder builder = new ProcessBuilder(network.on(host, command));
    builder.environment().put("SPARK_LOCAL_IP", "10.77." + host + ".2");
    Process process = builder.redirectErrorStream(true).start();
    processes.add(process);
    // Whoever reads from a process cannot be interrupted.
    CompletableFuture.delayedExecutor(350, TimeUnit.SECONDS).execute(process::destroyForcibly);
    return process.inputReader();
  }

  /** Reads on, so that a process does not wait for room in its pipe. */
  private static void drain(BufferedReader lines) {
    Thread reader =
        new Thread(
            () -> {
              try {
                lines.transferTo(Writer.nullWriter());
              } catch (IOException e) {
                // The process has ended.
              }
            });
    reader.setDaemon(true);
    reader.start();
  }

  private static String await(BufferedReader lines, String words) throws IOException {
    StringBuilder all = new StringBuilder();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.contains(words)) {
        return line;
      }
      all.append(line).append('\n');
    }
    throw new IOException("\"" + words + "\" never came:\n" + all);
  }
}
