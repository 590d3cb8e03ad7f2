package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Explanation;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.testkit.FreePort;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** All ranks choose the same, tuned or not, over any transport. */
@Tag("once")
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class AutoTest {
  private static final CallSettings AUTO = CallSettings.defaults().withAlgorithm(Algorithm.auto());
  private static final long[] SIZES = {0, 8, 4096, 100_000, 1 << 20, 1 << 30};

  @TempDir Path directory;

  private interface Rank<T> {
    T run(Communicator world) throws Exception;
  }

  private interface Opener {
    Communicator open(int rank) throws Exception;
  }

  private static <T> List<T> all(int ranks, Opener opener, Rank<T> work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<Future<T>> ends = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        int me = rank;
        ends.add(
            threads.submit(
                () -> {
                  try (Communicator world = opener.open(me)) {
                    return work.run(world);
                  }
                }));
      }
      List<T> results = new ArrayList<>();
      for (Future<T> end : ends) {
        results.add(end.get(100, TimeUnit.SECONDS));
      }
      return results;
    } finally {
      threads.shutdownNow();
    }
  }

  /** Sums of all sizes, before and after tuning, and what was said of them. */
  private static List<Explanation> sums(Communicator world) {
    List<Explanation> said = new ArrayList<>();
    for (int turn = 0; turn < 2; turn++) {
      for (int count : new int[] {1, 1000, 70_000}) {
        int[] values = new int[count];
        Arrays.setAll(values, i -> i + world.rank());
        world.allReduce(values, ReduceOp.SUM);
        int n = world.size();
        for (int i = 0; i < count; i++) {
          assertEquals(n * i + n * (n - 1) / 2, values[i]);
        }
      }
      float[] one = {world.rank()};
      world.broadcast(one, world.size() - 1);
      assertEquals(world.size() - 1, one[0]);
      for (long size : SIZES) {
        said.add(world.explain(size));
      }
      Communicator pair = world.group(world.rank() < 2 ? new int[] {0, 1} : new int[] {2});
      int[] two = {1};
      pair.allReduce(two, ReduceOp.SUM);
      assertEquals(pair.size(), two[0]);
      if (turn == 0) {
        world.tune();
      }
    }
    return said;
  }

  /** Ranks explain alike, whether what was measured beside other tests was believed or not. */
  private static void assertSame(List<List<Explanation>> said) {
    for (List<Explanation> other : said) {
      for (int i = 0; i < other.size(); i++) {
        Explanation one = said.get(0).get(i);
        Explanation another = other.get(i);
        assertEquals(one.bytes(), another.bytes());
        assertEquals(one.ranks(), another.ranks());
        assertEquals(one.chosen(), another.chosen());
        assertEquals(one.reason(), another.reason());
        assertEquals(one.tuned(), another.tuned());
        assertEquals(one.transports(), another.transports());
        // Ranks do not all send as many bytes.
        assertEquals(one.cost().wireType(), another.cost().wireType());
        assertEquals(one.cost().frameLength(), another.cost().frameLength());
        assertEquals(one.cost().libraryBytes(), another.cost().libraryBytes());
      }
    }
    assertFalse(said.get(0).get(0).tuned());
    for (Explanation explanation : said.get(0)) {
      assertTrue(explanation.reason().row().endsWith(": " + explanation.chosen().name()));
      assertTrue(explanation.toString().contains(explanation.reason().row()));
      assertTrue(explanation.toString().contains(explanation.reason().source()));
      assertTrue(
          explanation.toString().contains("is summed by " + explanation.cost().offHeapSums()));
      assertTrue(explanation.cost().libraryBytes() > 0);
    }
  }

  @Test
  @Tag("long")
  void inProcess() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(3, AUTO);
    assertSame(all(3, worlds::get, AutoTest::sums));
  }

  @Test
  void overTcp() throws Exception {
    assertSame(
        all(
            3,
            rank ->
                Collectives.join(
                    JobSettings.of(rank, 3, directory.toUri())
                        .withTransport("tcp")
                        .withCalls(AUTO)),
            AutoTest::sums));
  }

  private JobSettings settings(int rank, int ranks, String rows) {
    return JobSettings.of(rank, ranks, directory.toUri())
        .withCalls(CallSettings.defaults().withAlgorithm(Algorithm.auto(rows)));
  }

  /** The user's go first, whatever a view asks; {@code shipped} is what there is without. */
  @Test
  void rowsOfTheUserGoBeforeAllOthers() throws Exception {
    String rows = "all-reduce: 0-4K: recursive-doubling, 4K-1M: ring";
    all(
        3,
        rank -> Collectives.join(settings(rank, 3, rows).withTransport("tcp")),
        world -> {
          world.allReduce(new float[1000], ReduceOp.SUM);
          world.tune();
          assertChosen("ring", "line 1", world, 5000);
          assertChosen("ring", "line 1", world.using(Algorithm.auto()), 5000);
          assertChosen("ring", "line 1", world.group(0, 1, 2), 5000);
          Communicator shipped = world.using(Algorithm.auto("shipped"));
          assertChosen("direct", "the shipped table", shipped, 1 << 20);
          Communicator own = world.using(Algorithm.auto("all-reduce: 0-8K: swing"));
          assertChosen("swing", "the program, line 1", own, 5000);
          own.allReduce(new float[1250], ReduceOp.SUM);
          Explanation asked = world.using(Algorithm.ring()).explain(8);
          assertEquals(Algorithm.ring(), asked.reason().asked());
          assertEquals(Algorithm.recursiveDoubling(), asked.chosen());
          assertThrows(
              IllegalArgumentException.class, () -> world.using(Algorithm.auto("reduce: all")));
          return 0;
        });
  }

  private static void assertChosen(String name, String source, Communicator by, long bytes) {
    Explanation said = by.explain(bytes);
    assertEquals(name, said.chosen().name());
    assertTrue(said.reason().source().contains(source), said.reason().source());
  }

  /** Ranks with different rows refuse each other as soon as they meet in a directory. */
  @Test
  void ranksWithDifferentRowsDoNotMeetInADirectory() throws Exception {
    assertRefused(directory.toUri(), Duration.ofSeconds(20));
  }

  /** At a port only the one that came is refused: rank 0 goes on waiting for the right one. */
  @Test
  @Tag("long") // Rank 0 waits for as long as it may.
  void ranksWithDifferentRowsDoNotMeetAtAPort() throws Exception {
    assertRefused(URI.create("tcp://127.0.0.1:" + FreePort.find()), Duration.ofSeconds(3));
  }

  private static void assertRefused(URI place, Duration timeout) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    List<Future<String>> errors = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      JobSettings settings =
          JobSettings.of(rank, 2, place)
              .withCalls(
                  CallSettings.defaults()
                      .withAlgorithm(Algorithm.auto("all-reduce: 0-" + rank + "K: ring")))
              .withJoinTimeout(timeout);
      errors.add(
          threads.submit(
              () ->
                  assertThrows(JoinException.class, () -> Collectives.join(settings))
                      .getMessage()));
    }
    for (Future<String> error : errors) {
      String message = error.get(60, TimeUnit.SECONDS);
      assertTrue(message.contains("table of auto "), message);
    }
    threads.shutdownNow();
  }

  /** Ranks that count as on two hosts, though they are threads of one. */
  @Test
  void ranksOfSeveralHostsTakeAHierarchy() throws Exception {
    for (int even = 0; even < 2; even++) {
      String last = even == 0 ? "b" : "a";
      List<String> chosen =
          all(
              4,
              rank ->
                  Collectives.join(
                      JobSettings.of(rank, 4, directory.toUri())
                          .withHost(rank < 2 ? "a" : rank < 3 ? "b" : last)),
              world -> {
                int[] values = new int[100_000];
                Arrays.fill(values, world.rank());
                world.allReduce(values, ReduceOp.SUM);
                assertEquals(6, values[99_999]);
                Communicator pair =
                    world.group(world.rank() < 2 ? new int[] {0, 1} : new int[] {2, 3});
                pair.allReduce(values, ReduceOp.MAX);
                assertEquals(6, values[0]);
                Explanation said = world.explain(400_000);
                assertEquals(
                    "hosts all-reduce", said.reason().row().split(":")[0], said.toString());
                assertTrue(said.transports().contains("tcp"), said.toString());
                return said.chosen().name();
              });
      assertEquals(Set.copyOf(chosen), Set.of(even == 0 ? "hierarchical:2x2" : "ring"));
    }
  }

  /** The hierarchy of hosts, which {@code auto} takes for all of these, also with ragged parts. */
  @Test
  void gradientsAndShardsOfSeveralHostsAreReduced() throws Exception {
    long[] counts = {1, 49_999, 0, 50_000};
    all(
        4,
        rank ->
            Collectives.join(
                JobSettings.of(rank, 4, directory.toUri()).withHost(rank < 2 ? "a" : "b")),
        world -> {
          int rank = world.rank();
          int[] all = new int[100_000];
          for (int i = 0; i < all.length; i++) {
            all[i] = i + rank;
          }
          int[] part = new int[(int) counts[rank]];
          world.reduceScatter(Payload.of(all), Payload.of(part), counts, ReduceOp.SUM);
          int start = (int) (rank == 0 ? 0 : rank == 1 ? 1 : 50_000);
          for (int i = 0; i < part.length; i++) {
            assertEquals(4 * (start + i) + 6, part[i], "element " + (start + i));
          }
          world.allGather(Payload.of(part), Payload.of(all), counts);
          try (GradientReducer reducer =
              GradientReducer.of(world, FusionSettings.defaults().withOp(ReduceOp.SUM))) {
            GradientReducer.Tensor tensor = reducer.register("all", Payload.of(all));
            reducer.ready(tensor);
            reducer.await();
          }
          for (int i = 0; i < all.length; i++) {
            assertEquals(4 * (4 * i + 6), all[i], "element " + i);
          }
          return 0;
        });
  }

  /** Different sizes may mean different algorithms; what the user did wrong is what is told. */
  @Test
  void aDifferenceOfCountsIsToldAsSuch() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(2, AUTO);
    all(
        2,
        worlds::get,
        world -> {
          Payload payload = Payload.of(new float[world.rank() == 0 ? 1 : 1_000_000]);
          MismatchException error =
              assertThrows(MismatchException.class, () -> world.allReduce(payload, ReduceOp.SUM));
          assertTrue(error.getMessage().contains("count"), error.getMessage());
          return 0;
        });
  }

  @Test
  void oneRankNeedsNothing() {
    try (Communicator world = Collectives.inProcess(1, AUTO).get(0)) {
      world.tune();
      assertFalse(world.explain(100).tuned());
      assertThrows(IllegalArgumentException.class, () -> world.explain(-1));
    }
  }
}
