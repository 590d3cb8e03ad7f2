package io.collectives.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CollectivesMetricsTest {
  private static final Pattern NAME = Pattern.compile("collectives_[a-z_]+");

  /** Returns the text that Prometheus gets once all of some patterns are found in it. */
  private static String scrape(PrometheusMeterRegistry registry, String... patterns) {
    while (true) {
      String text = registry.scrape();
      if (Stream.of(patterns).allMatch(pattern -> Pattern.compile(pattern).matcher(text).find())) {
        return text;
      }
      Thread.onSpinWait();
    }
  }

  @Test
  void rowsAppearAsCallsAreMadeAndEndWithTheMetrics() {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    try (Communicator world = Collectives.inProcess(1, CallSettings.defaults()).get(0);
        CollectivesMetrics metrics = CollectivesMetrics.of(world)) {
      metrics.bindTo(registry);
      assertThrows(IllegalStateException.class, () -> metrics.bindTo(registry));
      world.allReduce(new float[100], ReduceOp.SUM);
      world.allReduce(new float[100], ReduceOp.SUM);
      world.barrier();
      String tags =
          "algorithm=\"[a-z-]+\",collective=\"all-reduce\",group=\"world\",rank=\"0\",size=\"1024\"";
      scrape(
          registry,
          "collectives_calls_total\\{" + tags + "} 2\\.0",
          "collectives_bytes_total\\{" + tags + "} 800\\.0",
          "collectives_calls_total\\{[^}]*collective=\"barrier\"[^}]*} 1\\.0");
      String numbered = "group=\"[0-9a-f]{9,16}\"";
      try (Communicator group = world.group(0)) {
        group.barrier();
        scrape(registry, numbered);
      }
      scrape(registry, "group=\"closed\"");
      String later = registry.scrape(); // The one before may have removed meters half way.
      assertFalse(Pattern.compile(numbered).matcher(later).find(), later);
    }
    assertEquals(List.of(), registry.getMeters());
  }

  @Test
  void failuresAreCounted() {
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    List<Communicator> worlds = Collectives.inProcess(2, CallSettings.defaults());
    try (CollectivesMetrics metrics = CollectivesMetrics.of(worlds.get(0))) {
      worlds.get(1).abort("enough");
      assertThrows(
          CollectiveException.class,
          () -> worlds.get(0).within(Duration.ofSeconds(20)).allReduce(1L, ReduceOp.SUM));
      metrics.bindTo(registry);
      assertEquals(1, registry.get("collectives.calls.failed").functionCounter().count());
      assertEquals(1, registry.get("collectives.groups.broken").gauge().value());
      assertEquals(1, registry.get("collectives.call.time").functionTimer().count());
      assertTrue(registry.get("collectives.memory.limit").gauge().value() > 0);
      assertTrue(
          registry.get("collectives.call.longest").timeGauge().value(TimeUnit.NANOSECONDS) >= 0);
    }
    worlds.forEach(Communicator::close);
  }

  @Test
  void theDashboardNamesMetricsThatExist() throws Exception {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    String text;
    try (Communicator world = Collectives.inProcess(1, CallSettings.defaults()).get(0);
        CollectivesMetrics metrics = CollectivesMetrics.of(world)) {
      world.allReduce(new float[100], ReduceOp.SUM);
      metrics.bindTo(registry);
      text = registry.scrape();
    }
    String json;
    try (InputStream in =
        Objects.requireNonNull(
            CollectivesMetrics.class.getResourceAsStream("grafana-dashboard.json"))) {
      json = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
    JsonObject dashboard = JsonParser.parseString(json).getAsJsonObject();
    assertTrue(dashboard.getAsJsonArray("panels").size() > 5);
    Set<String> named = new TreeSet<>();
    for (Matcher name = NAME.matcher(json); name.find(); ) {
      named.add(name.group());
      assertTrue(
          text.matches("(?s).*\n" + name.group() + "\\{.*"), name.group() + " is not in\n" + text);
    }
    assertEquals(8, named.size(), named.toString());
  }
}
