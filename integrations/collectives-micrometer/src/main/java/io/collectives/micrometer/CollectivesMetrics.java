package io.collectives.micrometer;

import io.collectives.Communicator;
import io.collectives.Statistics;
import io.collectives.Statistics.Kind;
import io.collectives.Statistics.Totals;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The counters of the calls of a rank as meters of Micrometer.
 *
 * <pre>{@code
 * try (Communicator world = Collectives.join();
 *     CollectivesMetrics metrics = CollectivesMetrics.of(world)) {
 *   metrics.bindTo(registry);
 *   ...
 * }
 * }</pre>
 *
 * <p>Each row of {@link Communicator#statistics()} has the tags {@code rank}, {@code group}, {@code
 * collective}, {@code algorithm} and {@code size}, the most bytes of a payload that it counts, and
 * these meters:
 *
 * <ul>
 *   <li>{@code collectives.calls} and {@code collectives.calls.failed}, counters
 *   <li>{@code collectives.bytes}, a counter of the bytes of payloads
 *   <li>{@code collectives.call.time}, a timer of count and total time
 *   <li>{@code collectives.call.longest}, the time of the longest call
 * </ul>
 *
 * <p>{@code collectives.groups.broken} and {@code collectives.memory.limit} have the tag {@code
 * rank} only. Rows that are new get their meters when a meter is read, so they are complete from
 * the second scrape after the first call on; the meters of a group that was closed are removed, and
 * its calls are counted in the group {@code closed}. No thread is started. The counters are read
 * once for each scrape.
 *
 * <p>{@link #close} removes the meters, and lets go of the communicator and the registry. Any
 * thread may call any method.
 *
 * @since 0.2.0
 */
public final class CollectivesMetrics implements MeterBinder, AutoCloseable {
  private static final long FRESH_NANOS = 100_000_000;

  private final Tags common;
  private final Map<Kind, List<Meter>> meters = new HashMap<>();
  private final List<Meter> gauges = new ArrayList<>();
  private @Nullable Communicator world;
  private @Nullable MeterRegistry registry;
  private Statistics statistics;
  private Map<Kind, Totals> rows = Map.of();
  private long readNanos;

  private CollectivesMetrics(Communicator world, Iterable<Tag> tags) {
    this.world = world;
    this.common = Tags.of("rank", Integer.toString(world.worldRank(world.rank()))).and(tags);
    this.statistics = world.statistics();
  }

  /**
   * Makes the metrics of a rank.
   *
   * @param world any communicator of the job; the counters are those of all its groups
   */
  public static CollectivesMetrics of(Communicator world) {
    return of(world, Tags.empty());
  }

  /**
   * Makes the metrics of a rank, with more tags for each meter, such as the name of the job.
   *
   * @param world any communicator of the job; the counters are those of all its groups
   */
  public static CollectivesMetrics of(Communicator world, Iterable<Tag> tags) {
    return new CollectivesMetrics(Objects.requireNonNull(world, "world"), tags);
  }

  /**
   * Registers the meters; those of later calls follow by themselves.
   *
   * @throws IllegalStateException if they are registered already, or closed
   */
  @Override
  public synchronized void bindTo(MeterRegistry to) {
    if (registry != null || world == null) {
      throw new IllegalStateException(
          "bindTo() of metrics that are "
              + (world == null ? "closed" : "bound already")
              + ": make others by CollectivesMetrics.of(world)");
    }
    registry = to;
    gauges.add(
        Gauge.builder("collectives.groups.broken", this, CollectivesMetrics::brokenGroups)
            .description("The groups that have broken by a failure")
            .tags(common)
            .register(to));
    gauges.add(
        Gauge.builder("collectives.memory.limit", this, CollectivesMetrics::libraryBytes)
            .description("The most memory that the library takes for frames and links")
            .baseUnit(BaseUnits.BYTES)
            .tags(common)
            .register(to));
    readNanos = System.nanoTime() - FRESH_NANOS;
    refresh();
  }

  private synchronized double brokenGroups() {
    refresh();
    return statistics.brokenGroups();
  }

  private synchronized double libraryBytes() {
    refresh();
    return statistics.libraryBytes();
  }

  private synchronized double figure(Kind kind, ToDoubleFunction<Totals> figure) {
    refresh();
    return figure.applyAsDouble(rows.getOrDefault(kind, Totals.NONE));
  }

  /** Reads the counters if they are old, registers rows that are new, and removes those gone. */
  private void refresh() {
    Communicator from = world;
    MeterRegistry to = registry;
    long now = System.nanoTime();
    if (from == null || to == null || now - readNanos < FRESH_NANOS) {
      return;
    }
    readNanos = now;
    statistics = from.statistics();
    Map<Kind, Totals> latest = new HashMap<>();
    statistics.rows().forEach(row -> latest.put(row.kind(), row.totals()));
    rows = latest;
    for (Kind kind : List.copyOf(meters.keySet())) {
      if (!latest.containsKey(kind)) {
        Objects.requireNonNull(meters.remove(kind)).forEach(to::remove);
      }
    }
    for (Kind kind : latest.keySet()) {
      if (!meters.containsKey(kind)) {
        meters.put(kind, List.of()); // Registering may read a meter.
        meters.put(kind, register(to, kind));
      }
    }
  }

  private List<Meter> register(MeterRegistry to, Kind kind) {
    Tags tags =
        common.and(
            "group", kind.group(),
            "collective", kind.collective(),
            "algorithm", kind.algorithm(),
            "size", Long.toString(kind.mostBytes()));
    return List.of(
        FunctionCounter.builder("collectives.calls", this, m -> m.figure(kind, Totals::calls))
            .description("Calls that have ended")
            .tags(tags)
            .register(to),
        FunctionCounter.builder(
                "collectives.calls.failed", this, m -> m.figure(kind, Totals::failedCalls))
            .description("Calls that have ended with an error")
            .tags(tags)
            .register(to),
        FunctionCounter.builder("collectives.bytes", this, m -> m.figure(kind, Totals::bytes))
            .description("Bytes of the payloads of calls")
            .baseUnit(BaseUnits.BYTES)
            .tags(tags)
            .register(to),
        FunctionTimer.builder(
                "collectives.call.time",
                this,
                m -> (long) m.figure(kind, Totals::calls),
                m -> m.figure(kind, Totals::nanos),
                TimeUnit.NANOSECONDS)
            .description("The time of calls, waits for other ranks included")
            .tags(tags)
            .register(to),
        TimeGauge.builder(
                "collectives.call.longest",
                this,
                TimeUnit.NANOSECONDS,
                m -> m.figure(kind, Totals::longestNanos))
            .description("The time of the longest call")
            .tags(tags)
            .register(to));
  }

  /** Removes the meters and lets go of the communicator. Closing again does nothing. */
  @Override
  public synchronized void close() {
    MeterRegistry from = registry;
    if (from != null) {
      gauges.forEach(from::remove);
      meters.values().forEach(row -> row.forEach(from::remove));
    }
    gauges.clear();
    meters.clear();
    registry = null;
    world = null;
  }
}
