package io.collectives.bench.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.Mesh;
import io.collectives.ReduceOp;
import io.collectives.bench.model.Model;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PerfPartsTest {

  @ParameterizedTest
  @CsvSource({
    "ring, 4, ring",
    "bidirectional-ring, 4, bidirectional-ring",
    "shortest-way-ring, 4, shortest-way-ring",
    "auto, 4, auto",
    "exchange, 4, exchange",
    "binomial-tree, 4, binomial-tree",
    "recursive-doubling, 4, recursive-doubling",
    "halving-doubling, 4, halving-doubling",
    "double-binary-tree, 4, double-binary-tree",
    "direct, 1, direct",
    "torus:4x2, 8, torus:4x2",
    "torus, 6, torus:3x2",
    "torus, 7, torus:7x1",
    "parameter-server:3, 4, parameter-server:3",
    "parameter-server:0+1, 4, parameter-server:0+1",
    "parameter-server:1+2, 4, parameter-server:1+2",
    "parameter-server:0+n, 6, parameter-server:0+3",
    "parameter-server:n+n, 6, parameter-server:3+3",
    "parameter-server:n, 6, parameter-server:6",
    "parameter-server:n+2, 6, parameter-server:4+2",
    "parameter-server, 4, parameter-server:2",
    "parameter-server, 1, parameter-server:1",
    "parameter-server:0+2x2, 8, parameter-server:0+2x2",
    "parameter-server:1+2x3/4, 20, parameter-server:1+2x3/4",
    "parameter-server:2/2, 4, parameter-server:2/2"
  })
  void algorithmsAreReadAndWritten(String text, int ranks, String label) {
    AlgorithmChoice choice = new AlgorithmChoice(text);
    assertEquals(text, choice.toString());
    assertEquals(label, choice.label(ranks));
    assertEquals(choice.forRanks(ranks), new AlgorithmChoice(label).forRanks(ranks));
  }

  @Test
  void anAlgorithmIsTheApisOwn() {
    assertEquals(Algorithm.torus(Mesh.torus(4, 2)), new AlgorithmChoice("torus:4x2").forRanks(8));
    assertEquals(
        Algorithm.parameterServer(2), new AlgorithmChoice("parameter-server:2").forRanks(2));
    assertEquals(
        Algorithm.parameterServer(3, 2), new AlgorithmChoice("parameter-server:1+2").forRanks(4));
    assertEquals(
        Algorithm.parameterServer(4, 4, List.of(0, 0, 1, 1, 2, 2, 3, 3)),
        new AlgorithmChoice("parameter-server:0+2x2/2").forRanks(8));
  }

  /** Workers on hosts of two, the proxies of a server on another, as threads of one process. */
  @Test
  void ranksAreSeatedOnHosts() {
    Seating threads = Seating.onHosts(7, 2, 4, 2, true);
    assertEquals(List.of(1, 1, 1, 2, 2), threads.processes());
    assertEquals(
        List.of("host-0", "host-0", "host-1", "host-3", "host-3", "host-4", "host-4"),
        threads.hosts());
    assertEquals(7, threads.ranks());
    assertEquals(List.of(1, 1, 1, 1), Seating.onHosts(4, 1, 2, 2, false).processes());
    assertEquals(new Seating(List.of(1, 1), List.of()), Seating.alone(2));
  }

  @Test
  void serversThatWereLeftOpenAreThoseOfTheOptions() {
    AlgorithmChoice open = new AlgorithmChoice("parameter-server");
    assertEquals("parameter-server:3", open.withServers(3, false, 1, 1).toString());
    assertEquals("parameter-server:0+3", open.withServers(3, true, 1, 1).toString());
    assertEquals("parameter-server:0+3x2/4", open.withServers(3, true, 2, 4).toString());
    assertEquals("parameter-server:3/4", open.withServers(3, false, 1, 4).toString());
    for (String other : new String[] {"ring", "parameter-server:2"}) {
      assertEquals(other, new AlgorithmChoice(other).withServers(3, true, 2, 2).toString());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "ring, 3",
    "parameter-server, 3",
    "parameter-server:2, 3",
    "parameter-server:n, 3",
    "parameter-server:0+2, 5",
    "parameter-server:1+2, 5",
    "parameter-server:0+n, 6"
  })
  void dedicatedServersAreRanksBesidesWorkers(String text, int ranks) {
    assertEquals(ranks, new AlgorithmChoice(text).ranks(3));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "tree",
        "Ring",
        "ring:2",
        "torus:",
        "torus:4",
        "torus:4x",
        "torus:-4x2",
        "torus:9999999999x1",
        "direct:",
        "parameter-server:x",
        "parameter-server:+2",
        "parameter-server:N",
        "parameter-server:2+"
      })
  void whatIsNoAlgorithmIsRefused(String text) {
    assertThrows(IllegalArgumentException.class, () -> new AlgorithmChoice(text));
  }

  @ParameterizedTest
  @CsvSource({
    "torus:4x2, 4",
    "torus:0x4, 4",
    "torus:9999x9999, 4",
    "parameter-server:0, 4",
    "parameter-server:5, 4",
    "parameter-server:0+4, 4",
    "parameter-server:2+3, 4",
    "parameter-server:0+0, 4",
    "parameter-server:0+n, 5",
    "parameter-server:0+9, 4"
  })
  void whatDoesNotFitTheRanksIsRefused(String text, int ranks) {
    AlgorithmChoice choice = new AlgorithmChoice(text);
    assertThrows(IllegalArgumentException.class, () -> choice.forRanks(ranks));
  }

  @Test
  void percentilesAreOfTheSortedTimes() {
    long[] nanos = LongStream.rangeClosed(1, 200).map(i -> 201 - i).toArray();
    assertEquals(result(200, 100, 1, 198, 3), result(nanos, 3));
    assertEquals(result(1, 5, 5, 5, -1), result(new long[] {5}, -1));
    assertEquals(result(3, 2, 1, 9, 0), result(new long[] {9, 1, 2}, 0));
  }

  private static CaseResult result(long[] nanos, long wrong) {
    return new CaseResult(CaseResult.Times.of(nanos), wrong, 0, Optional.empty(), "x");
  }

  private static CaseResult result(int iterations, long median, long min, long p99, long wrong) {
    return new CaseResult(
        new CaseResult.Times(iterations, median, min, p99), wrong, 0, Optional.empty(), "x");
  }

  @Test
  void casesAndResultsPassAsLines() {
    PerfCase work =
        new PerfCase(
            Collective.REDUCE_SCATTER,
            4,
            new AlgorithmChoice("torus:2x2"),
            new PerfCase.Operand(ElementType.INT64, ReduceOp.MAX, 7, -11, Optional.empty()),
            new PerfCase.Buffers(Memory.DIRECT, true),
            true,
            new PerfCase.Method(9, 10, false, false));
    assertEquals(work, PerfCase.parse(work.line()));
    assertEquals("reduce-scatter:persistent", work.title());
    PerfCase fused =
        new PerfCase(
            Collective.ALL_REDUCE,
            8,
            new AlgorithmChoice("auto"),
            new PerfCase.Operand(
                ElementType.FLOAT32,
                ReduceOp.SUM,
                336_226_108,
                -11,
                Optional.of(new ModelTensors(Model.BERT_LARGE, ModelTensors.Way.FUSED, 5, 16, 17))),
            new PerfCase.Buffers(Memory.ARRAY, false),
            false,
            new PerfCase.Method(9, 10, true, true));
    assertEquals(fused, PerfCase.parse(fused.line()));
    assertEquals("bert-large/16:fused:5", fused.title());
    PerfCase onMesh =
        work.on(new AlgorithmChoice("torus:2x1 wrap=none"), List.of(List.of(0, 2), List.of(3, 1)));
    assertEquals(onMesh, PerfCase.parse(onMesh.line()));
    assertEquals(2, onMesh.ranks());
    HostTraffic traffic = new HostTraffic(9, 7, 8, 6);
    CaseResult.Times times = new CaseResult.Times(1, 2, 3, 4);
    for (Optional<HostTraffic> counted :
        List.of(Optional.<HostTraffic>empty(), Optional.of(traffic))) {
      CaseResult result = new CaseResult(times, -1, 5, counted, "torus 2x2");
      assertEquals(result, CaseResult.parse(result.line()));
      CaseResult ofLinks =
          new CaseResult(times, -1, 5, counted, List.of(0L, 5_000_000_000L), "torus 2x2");
      assertEquals(ofLinks, CaseResult.parse(ofLinks.line()));
    }
    assertEquals(
        new CaseResult(times, 0, 0, Optional.empty(), "-"), CaseResult.parse("1 2 3 4 0 -"));
  }

  @ParameterizedTest
  @EnumSource(ElementType.class)
  void exactResultsHoldAndOthersDoNot(ElementType type) {
    for (Memory memory : List.of(Memory.ARRAY, Memory.DIRECT)) {
      for (ReduceOp.Standard op : ReduceOp.Standard.values()) {
        // A single rank's reduction is its own input.
        Elements elements = Elements.allocate(type, 1_000, memory);
        assertEquals(1_000, elements.payload().count());
        assertEquals(type, elements.payload().type());
        elements.fill(5, 0, 0, op);
        assertEquals(0, elements.wrongReduction(5, 1, 0, op), op + " in " + memory);
        elements.put(17, 99);
        assertEquals(1, elements.wrongReduction(5, 1, 0, op), op + " in " + memory);
        assertTrue(
            elements.wrongReduction(6, 1, 0, op) > 500 || op == ReduceOp.PRODUCT, "another seed");
        assertTrue(elements.wrongReduction(5, 3, 0, op) > 100, "more ranks");
        assertEquals(1, elements.wrong(5, 0, 10, op, 10, 50));
        assertTrue(elements.wrong(5, 0, 11, op, 10, 500) > 100, "another place");
      }
    }
  }

  @Test
  void averagesAreRoundedAsTheTypeDoes() {
    Elements floats = Elements.allocate(ElementType.FLOAT32, 1, Memory.ARRAY);
    floats.put(0, 2);
    assertTrue(floats.holds(0, 6, 3));
    Elements integers = Elements.allocate(ElementType.INT32, 1, Memory.ARRAY);
    integers.put(0, -2);
    assertTrue(integers.holds(0, -8, 3), "toward zero");
  }

  @ParameterizedTest
  @CsvSource({
    "20, SMT",
    "35, NEAR",
    "99, NEAR",
    "100, FAR",
    "399, FAR",
    "400, DISTURBED",
    "NaN, DISTURBED"
  })
  void distancesHaveClasses(double nanos, CoreDistance distance) {
    assertEquals(distance, CoreDistance.of(nanos));
  }

  @Test
  void theProbeEnds() {
    double nanos = new CoreProbe().recent();
    assertTrue(Double.isNaN(nanos) || nanos > 1, "core to core " + nanos + " ns");
  }
}
