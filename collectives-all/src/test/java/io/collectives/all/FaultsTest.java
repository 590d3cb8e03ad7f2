package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.engine.inprocess.InProcessFabric;
import io.collectives.spi.Transport;
import io.collectives.testkit.Faults;
import io.collectives.testkit.TransportContractTest;
import io.collectives.testkit.WrappedJobs;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each fault of the testkit does what its javadoc says, and a seed does it again. */
@Tag("once")
final class FaultsTest {
  private static final int RANKS = 4;
  private static final int CALLS = 20;
  private static final CallSettings RING = CallSettings.defaults().withAlgorithm(Algorithm.ring());

  @TempDir private Path directory;

  /** The first error of each rank, and the number of its call. */
  private static final class Errors {
    final AtomicReferenceArray<CollectiveException> first = new AtomicReferenceArray<>(RANKS);
    final long[] calls = new long[RANKS];

    /** A loss may be heard of before the last frames of the call before. */
    void assertFailedAt(long call, int rank) {
      assertTrue(calls[rank] == call || calls[rank] == call - 1, "call " + calls[rank]);
    }

    /** Sums, and goes on with the survivors. */
    void sum(Communicator world) {
      Communicator group = world;
      long call = 0;
      while (call < CALLS) {
        float[] values = new float[100];
        Arrays.fill(values, 3);
        try {
          group.allReduce(values, ReduceOp.SUM);
          assertEquals(3f * group.size(), values[99]);
          call++;
        } catch (CollectiveException e) {
          if (first.compareAndSet(world.rank(), null, e)) {
            calls[world.rank()] = call;
          }
          group = group.shrink().group();
          call = 0;
        }
      }
    }
  }

  @Test
  void whoIsKilledAtACallDoesNotTakePartInIt() throws Exception {
    Errors errors = new Errors();
    Faults.Report report = Faults.seed(1).killAtCall(3, 7).run(RANKS, RING, errors::sum);
    assertEquals(List.of(3), report.lost());
    assertEquals(1, report.hits().size());
    assertTrue(report.hits().get(0).startsWith("rank 3 is killed before transfer "));
    for (int rank = 0; rank < RANKS; rank++) {
      errors.assertFailedAt(7, rank);
      RankFailedException error =
          assertInstanceOf(RankFailedException.class, errors.first.get(rank));
      assertEquals(3, error.worldRank(), error.toString());
    }
  }

  @Test
  void whoIsKilledInTheMiddleIsLost() throws Exception {
    Errors errors = new Errors();
    Faults.Report report = Faults.seed(1).kill(1, 2, 10).run(RANKS, RING, errors::sum);
    assertEquals(List.of(1), report.lost());
    assertEquals(
        List.of("rank 1 is killed before transfer 10 from rank 1 to rank 2"), report.hits());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theHigherRankOfACutLinkGivesWay(boolean fromHigher) throws Exception {
    Errors errors = new Errors();
    Faults faults = fromHigher ? Faults.seed(1).cut(3, 0, 5) : Faults.seed(1).cut(0, 1, 5);
    Faults.Report report = faults.run(RANKS, RING, errors::sum);
    assertEquals(List.of(fromHigher ? 3 : 1), report.lost());
  }

  @Test
  void whoseTransferIsDamagedIsNamedAndLeftOut() throws Exception {
    Errors errors = new Errors();
    Faults.Report report = Faults.seed(1).corrupt(0, 1, 5).run(RANKS, RING, errors::sum);
    assertEquals(List.of(0), report.lost());
    assertEquals(List.of("transfer 5 from rank 0 to rank 1 is damaged"), report.hits());
    CollectiveException error = errors.first.get(1);
    // Which of the two ends is heard first is open; both name the sender.
    assertTrue(
        error.getMessage().contains("a frame from rank 0 to rank 1 was damaged")
            || error.getMessage().contains("rank 0 gives way: rank 1 got a damaged frame"),
        error.getMessage());
  }

  @Test
  void whatIsLateIsRight() throws Exception {
    Errors errors = new Errors();
    Faults.Report report =
        Faults.seed(1)
            .delays(0.2, Duration.ofMillis(3))
            .stall(2, 3, 4, Duration.ofMillis(100))
            .run(RANKS, RING, errors::sum);
    assertEquals(List.of(), report.lost());
    assertEquals(1, report.hits().size());
    assertTrue(report.hits().get(0).endsWith(" transfers were delayed"), report.toString());
    assertTrue(IntStream.range(0, RANKS).allMatch(rank -> errors.first.get(rank) == null));
  }

  /** A message that a rank sends before it leaves arrives, even if it is late. */
  @Test
  void whoLeavesLeavesNothingBehind() throws Exception {
    Faults.seed(1)
        .stall(0, 1, 0, Duration.ofHours(1))
        .run(
            2,
            world -> {
              float[] values = {world.rank()};
              if (world.rank() == 0) {
                world.async().send(Payload.of(values), 1);
              } else {
                world.receive(Payload.of(values), 0);
                assertEquals(0, values[0]);
              }
            });
  }

  /** Nor does a receiver that begins when its sender has left miss anything. */
  @Test
  void whatASenderHasSentBeforeItLeftIsReceived() {
    Faults faults = Faults.seed(1).stall(0, 1, 0, Duration.ofHours(1));
    List<Communicator> worlds = WrappedJobs.inProcess(2, CallSettings.defaults(), faults.around(2));
    float[] values = {7};
    worlds.get(0).async().send(Payload.of(values), 1);
    worlds.get(0).close();
    float[] received = new float[1];
    try (Communicator world = worlds.get(1)) {
      world.receive(Payload.of(received), 0);
    }
    assertEquals(7, received[0]);
  }

  @Test
  @Tag("long") // It lasts as long as the limit.
  void aStallThatIsTooLongIsALoss() throws Exception {
    Errors errors = new Errors();
    Faults.Report report =
        Faults.seed(1)
            .stall(0, 1, 5, Duration.ofHours(1))
            .run(RANKS, RING.withSilenceLimit(Duration.ofSeconds(2)), errors::sum);
    assertEquals(List.of(0), report.lost());
  }

  /** A fault of one kind comes at a random moment, for many seeds. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void theSameSeedHitsTheSameTransfers(int kind) throws Exception {
    for (long seed = 0; seed < 10; seed++) {
      Faults faults = Faults.seed(seed).delays(0.05, Duration.ofMillis(1));
      Faults random =
          switch (kind) {
            case 0 -> faults.kills(0.01, 1);
            case 1 -> faults.cuts(0.01, 1);
            default -> faults.corruptions(0.01, 1);
          };
      List<String> hits = fatal(random.run(2, RING, new Errors()::sum));
      assertEquals(hits, fatal(random.run(2, RING, new Errors()::sum)), "seed " + seed);
    }
  }

  private static List<String> fatal(Faults.Report report) {
    assertTrue(report.lost().size() <= 1, report.toString());
    return report.hits().stream().filter(hit -> !hit.endsWith("delayed")).toList();
  }

  @Test
  void anyTransportCanHaveFaults() throws Exception {
    String place = Files.createDirectory(directory.resolve("rendezvous")).toUri().toString();
    for (String transport : List.of("tcp", "shm", "auto")) {
      List<JobSettings> ranks = new ArrayList<>();
      for (int rank = 0; rank < RANKS; rank++) {
        ranks.add(
            JobSettings.of(rank, RANKS, URI.create(place))
                .withJob(transport)
                .withTransport(transport)
                .withCalls(RING));
      }
      Errors errors = new Errors();
      Faults.Report report =
          Faults.seed(1).delays(0.1, Duration.ofMillis(1)).killAtCall(2, 5).run(ranks, errors::sum);
      assertEquals(List.of(2), report.lost(), transport);
      errors.assertFailedAt(5, 0);
    }
  }

  @Test
  void anErrorOfARankNamesTheSeed() {
    AssertionError error =
        assertThrows(
            AssertionError.class,
            () ->
                Faults.seed(77)
                    .delays(1, Duration.ofMillis(1))
                    .run(
                        2,
                        world -> {
                          world.allReduce(new float[10], ReduceOp.SUM);
                          if (world.rank() == 1) {
                            throw new IllegalStateException("planted");
                          }
                        }));
    assertTrue(error.getMessage().contains("rank 1: java.lang.IllegalStateException: planted"));
    assertTrue(error.getMessage().contains("faults of seed 77: ["), error.getMessage());
  }

  /** The page shows the test that runs beside this one, as it is. */
  /** All others fail because of it, and rank 0 is one of them. */
  @Test
  void theErrorOfARankComesBeforeWhatFollowsFromIt() {
    AssertionError error =
        assertThrows(
            AssertionError.class,
            () ->
                Faults.seed(1)
                    .run(
                        3,
                        world -> {
                          if (world.rank() == 2) {
                            throw new ArithmeticException("mine");
                          }
                          world.allReduce(new float[1], ReduceOp.SUM);
                        }));
    assertInstanceOf(ArithmeticException.class, error.getCause());
    assertTrue(error.getMessage().startsWith("rank 2: "), error.getMessage());
  }

  @Test
  void theExampleOfThePageIsATestThatPasses() throws Exception {
    List<String> page = Files.readAllLines(Path.of("..", "docs", "TESTING.md"));
    int marker = page.indexOf("<!-- example: TrainingLoopTest.java -->");
    assertEquals("```java", page.get(marker + 1));
    List<String> source = new ArrayList<>(List.of("package io.collectives.all;", ""));
    page.stream().skip(marker + 2).takeWhile(line -> !line.equals("```")).forEach(source::add);
    assertEquals(
        source,
        Files.readAllLines(
            Path.of(
                "src/test/java", TrainingLoopTest.class.getName().replace('.', '/') + ".java")));
  }

  @Test
  void whatCannotBeIsRefused() {
    Faults none = Faults.seed(1);
    assertThrows(IllegalArgumentException.class, () -> none.delays(1.5, Duration.ofMillis(1)));
    assertThrows(IllegalArgumentException.class, () -> none.delays(Double.NaN, Duration.ZERO));
    assertThrows(IllegalArgumentException.class, () -> none.delays(0.5, Duration.ZERO));
    assertThrows(IllegalArgumentException.class, () -> none.kills(0.5, 0));
    assertThrows(IllegalArgumentException.class, () -> none.cut(1, 1, 0));
    assertThrows(IllegalArgumentException.class, () -> none.corrupt(0, 1, -1));
    assertThrows(IllegalArgumentException.class, () -> none.killAtCall(2, 0).run(2, world -> {}));
    assertThrows(IllegalArgumentException.class, () -> none.run(0, world -> {}));
    assertThrows(IllegalArgumentException.class, () -> none.run(List.of(), world -> {}));
    assertThrows(NullPointerException.class, () -> none.run(2, null));
  }

  /** Without faults it is a transport as any other. */
  @Nested
  class Contract extends TransportContractTest {
    @Override
    protected List<Transport> open(int ranks, CallSettings calls) {
      InProcessFabric fabric = new InProcessFabric(ranks);
      UnaryOperator<Transport> around = Faults.seed(1).around(ranks);
      return IntStream.range(0, ranks).mapToObj(fabric::transport).map(around).toList();
    }
  }
}
