package io.collectives.bench;

import io.collectives.ElementType;
import io.collectives.WireType;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.CoreDistance;
import io.collectives.bench.perf.HostTraffic;
import io.collectives.bench.perf.ModelTensors;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.report.Fields;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * The figures that {@code perf} measured of a case in a round.
 *
 * @param setting the algorithm, transport, placement and wire type of the case
 * @param coreToCoreNanos the mean of before and after; NaN if it could not be measured
 * @param cores how far apart they were before and after
 * @param round from 1
 * @param baseline what it is compared with; itself if there is nothing else
 */
record PerfRow(
    Setting setting,
    PerfCase work,
    CaseResult result,
    double coreToCoreNanos,
    CoreDistance cores,
    int round,
    Optional<PerfRow> baseline) {

  /**
   * The setting of a job, as far as its cases do not say it.
   *
   * @param algorithm as it is written on the command line
   * @param wireType the type to which elements of float32 are narrowed on the links
   */
  record Setting(String algorithm, String transport, Placement placement, WireType wireType) {}

  /** Returns the algorithm as it is written on the command line. */
  String algorithm() {
    return setting.algorithm();
  }

  /** Returns this row with another one as its baseline. */
  PerfRow withBaseline(PerfRow other) {
    return new PerfRow(setting, work, result, coreToCoreNanos, cores, round, Optional.of(other));
  }

  /** Returns whether ranks negotiate which tensors they sum before they sum them. */
  static boolean isNegotiated(PerfCase work) {
    return work.operand()
        .tensors()
        .filter(some -> some.way() == ModelTensors.Way.NEGOTIATED)
        .isPresent();
  }

  /** The baseline's time divided by this one's. */
  double speedup() {
    return (double) baseline.orElse(this).result.times().medianNanos()
        / Math.max(1, result.times().medianNanos());
  }

  /** The bytes of the baseline's busiest link divided by this one's, if they were counted. */
  Optional<Double> speedupByBytes() {
    return result
        .traffic()
        .flatMap(
            own ->
                baseline
                    .orElse(this)
                    .result
                    .traffic()
                    .map(other -> (double) other.most() / Math.max(1, own.most())));
  }

  /** In units of 10^9 bytes a second. */
  double algbw() {
    return (double) work.bytes() / Math.max(1, result.times().medianNanos());
  }

  /**
   * Returns the bus bandwidth as nccl-tests defines it; with dedicated servers it is the algorithm
   * bandwidth, because the whole payload goes to them and back once.
   */
  double busbw() {
    int n = work.contributors();
    double others = (n - 1.0) / n;
    if (n < work.ranks()) {
      return algbw();
    }
    return algbw()
        * switch (work.collective()) {
          case ALL_REDUCE -> 2 * others;
          case REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER, ALL_TO_ALL -> others;
          case BROADCAST, REDUCE -> 1;
          case BARRIER -> 0;
        };
  }

  /** Returns the op, if elements are reduced. */
  String op() {
    return work.reduces() ? work.operand().op().toString() : Fields.NONE;
  }

  /** Returns the wire type: only float32 that is reduced is narrowed. */
  WireType wire() {
    return work.reduces() && work.operand().type() == ElementType.FLOAT32
        ? setting.wireType()
        : WireType.AS_IN_MEMORY;
  }

  /** The figures by the names of the TSV's columns. */
  Map<String, Object> fields() {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("collective", work.title());
    fields.put("algorithm", algorithm());
    fields.put("transport", setting.transport());
    fields.put("placement", setting.placement());
    fields.put("ranks", work.ranks());
    fields.put("type", work.operand().type());
    fields.put("wire", wire());
    fields.put("op", op());
    fields.put("bytes", work.bytes());
    fields.put("count", work.operand().count());
    fields.put("iterations", result.times().iterations());
    fields.put("median_us", decimal(result.times().medianNanos() / 1e3, 3));
    fields.put("min_us", decimal(result.times().minNanos() / 1e3, 3));
    fields.put("p99_us", decimal(result.times().p99Nanos() / 1e3, 3));
    fields.put("algbw_GBps", decimal(algbw(), 6));
    fields.put("busbw_GBps", decimal(busbw(), 6));
    fields.put("wrong", result.wrong() < 0 ? Fields.NONE : result.wrong());
    fields.put(
        "core_to_core_ns",
        Double.isNaN(coreToCoreNanos) ? Fields.NONE : Math.round(coreToCoreNanos));
    fields.put("chosen", result.chosen());
    fields.put("speedup", decimal(speedup(), 4));
    fields.put(
        "speedup_by_bytes",
        speedupByBytes().<Object>map(ratio -> decimal(ratio, 4)).orElse(Fields.NONE));
    put(fields, "most_sent", HostTraffic::mostSent);
    put(fields, "least_sent", HostTraffic::leastSent);
    put(fields, "most_received", HostTraffic::mostReceived);
    put(fields, "least_received", HostTraffic::leastReceived);
    fields.put("negotiation_messages", isNegotiated(work) ? result.messages() : Fields.NONE);
    fields.put("round", round);
    fields.put("cores", cores);
    return fields;
  }

  private void put(Map<String, Object> fields, String name, Function<HostTraffic, Long> bytes) {
    fields.put(name, result.traffic().<Object>map(bytes).orElse(Fields.NONE));
  }

  private static Object decimal(double value, int decimals) {
    return Fields.decimal(value, decimals);
  }
}
