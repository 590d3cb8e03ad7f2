package io.collectives.micrometer;

import com.sun.net.httpserver.HttpServer;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.micrometer.core.instrument.Tags;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

/** A rank that makes some sums, and shows its metrics until its process is ended. */
public final class PrometheusEndpoint {
  private PrometheusEndpoint() {}

  /**
   * Runs a rank.
   *
   * @param args the port of rank 0, on which Prometheus finds {@code /metrics}; those of the others
   *     follow. Then the number of sums
   */
  public static void main(String[] args) throws Exception {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    try (Communicator world = Collectives.join();
        CollectivesMetrics metrics = CollectivesMetrics.of(world, Tags.of("application", "sums"))) {
      metrics.bindTo(registry);
      int port = Integer.parseInt(args[0]) + world.rank();
      HttpServer server =
          HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
      server.createContext(
          "/metrics",
          exchange -> {
            byte[] text = registry.scrape().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4");
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
          });
      server.start();
      float[] gradients = new float[1000];
      for (int step = 0; step < Integer.parseInt(args[1]); step++) {
        world.allReduce(gradients, ReduceOp.AVERAGE);
      }
      world.barrier();
      System.out.println("serves " + port);
      new CountDownLatch(1).await(); // Until whoever started this has seen the metrics.
    }
  }
}
