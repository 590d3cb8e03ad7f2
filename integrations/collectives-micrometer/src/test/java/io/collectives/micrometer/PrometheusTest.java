package io.collectives.micrometer;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.collectives.bench.process.JavaCommand;
import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real Prometheus scrapes the ranks of a real job; skipped, loudly, where there is none. */
@Tag("long")
class PrometheusTest {
  private static final int SUMS = 500;
  private static final long LIMIT_NANOS = 120_000_000_000L;

  @TempDir private Path directory;

  private static Optional<Path> program() {
    return Stream.of(System.getenv("PATH").split(File.pathSeparator))
        .map(folder -> Path.of(folder, "prometheus"))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** Returns the first of two free ports in a row. */
  private static int freePorts() throws IOException {
    while (true) {
      try (ServerSocket first = new ServerSocket(0);
          ServerSocket second = new ServerSocket(first.getLocalPort() + 1)) {
        return first.getLocalPort();
      } catch (IOException | IllegalArgumentException e) {
        continue; // The next one is taken.
      }
    }
  }

  @Test
  void prometheusHasTheCallsOfAllRanks() throws Exception {
    Optional<Path> program = program();
    if (program.isEmpty()) {
      System.err.println(
          "PrometheusTest: SKIPPED: no program prometheus; apt-get install prometheus brings it");
    }
    assumeTrue(program.isPresent(), "no program prometheus");
    int port = freePorts();
    int own = freePorts();
    Path settings =
        Files.writeString(
            directory.resolve("prometheus.yml"),
            "scrape_configs:\n  - job_name: sums\n    scrape_interval: 1s\n    static_configs:\n"
                + "      - targets: ['127.0.0.1:"
                + port
                + "', '127.0.0.1:"
                + (port + 1)
                + "']\n");
    List<String> launch = new ArrayList<>(List.of("launch", "-n", "2", "--"));
    launch.addAll(
        JavaCommand.of(
            PrometheusEndpoint.class, List.of("-Xmx128m"), List.of("" + port, "" + SUMS)));
    List<Process> processes = new ArrayList<>();
    try {
      processes.add(start("job", JavaCommand.of(List.of(), launch)));
      processes.add(
          start(
              "prometheus",
              List.of(
                  program.get().toString(),
                  "--config.file=" + settings,
                  "--storage.tsdb.path=" + directory.resolve("data"),
                  "--web.listen-address=127.0.0.1:" + own)));
      String query = "sum by (rank) (collectives_calls_total{collective=\"all-reduce\"})";
      long deadline = System.nanoTime() + LIMIT_NANOS;
      String answer = "";
      while (!isComplete(answer)) {
        assertTrue(System.nanoTime() < deadline, answer + said("job") + said("prometheus"));
        LockSupport.parkNanos(200_000_000);
        answer = ask(own, query);
      }
    } finally {
      for (Process process : processes) {
        process.destroy();
        process.waitFor(20, TimeUnit.SECONDS);
      }
    }
  }

  private Process start(String name, List<String> command) throws IOException {
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(directory.resolve(name + ".log").toFile())
        .start();
  }

  private String said(String name) throws IOException {
    return "\n" + Files.readString(directory.resolve(name + ".log"));
  }

  private static String ask(int port, String query) throws InterruptedException {
    URI uri =
        URI.create(
            "http://127.0.0.1:"
                + port
                + "/api/v1/query?query="
                + URLEncoder.encode(query, StandardCharsets.UTF_8));
    try {
      return HttpClient.newHttpClient()
          .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString())
          .body();
    } catch (IOException e) {
      return ""; // It does not listen yet.
    }
  }

  /** Returns whether the sums of both ranks are there. */
  private static boolean isComplete(String answer) {
    if (!answer.startsWith("{\"status\":\"success\"")) {
      return false;
    }
    JsonObject data = JsonParser.parseString(answer).getAsJsonObject().getAsJsonObject("data");
    JsonArray ranks = data.getAsJsonArray("result");
    for (int i = 0; i < ranks.size(); i++) {
      JsonArray value = ranks.get(i).getAsJsonObject().getAsJsonArray("value");
      if (Double.parseDouble(value.get(1).getAsString()) != SUMS) {
        return false;
      }
    }
    return ranks.size() == 2;
  }
}
