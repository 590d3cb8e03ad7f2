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
import io.collectives.JobSettings;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** All ranks choose the same, tuned or not, over any transport. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class AutoTest {
  private static final CallSettings AUTO = CallSettings.defaults().withAlgorithm(Algorithm.auto());
  private static final long[] SIZES = {0, 8, 4096, 100_000, 1 << 20, 1 << 30};

  @TempDir Path directory;

  private interface Rank<T> {
    T run(Communicator world) throws Exception;
  }

  private interface Seat {
    Communicator take(int rank) throws Exception;
  }

  private static <T> List<T> all(int ranks, Seat seat, Rank<T> work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<Future<T>> ends = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        int me = rank;
        ends.add(
            threads.submit(
                () -> {
                  try (Communicator world = seat.take(me)) {
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
      world.tune();
    }
    return said;
  }

  /** The same, of a rank that sends another number of bytes. */
  private static Explanation ofRank(long sentBytes, Explanation said) {
    return new Explanation(
        said.bytes(),
        said.wireType(),
        sentBytes,
        said.ranks(),
        said.chosen(),
        said.frameLength(),
        said.predictions(),
        said.costs(),
        said.libraryBytes(),
        said.transports());
  }

  /** Whether what was measured beside other tests was believed or not. */
  private static void assertSame(List<List<Explanation>> said) {
    for (List<Explanation> other : said) {
      for (int i = 0; i < other.size(); i++) {
        assertEquals(ofRank(0, said.get(0).get(i)), ofRank(0, other.get(i)));
      }
    }
    assertFalse(said.get(0).get(0).costs().measured());
    for (Explanation explanation : said.get(0)) {
      assertEquals(
          explanation.predictions().get(0).micros(),
          explanation.predictions().stream()
              .mapToDouble(Explanation.Prediction::micros)
              .min()
              .orElseThrow());
      assertTrue(explanation.toString().contains(explanation.chosen().name()));
      assertTrue(explanation.libraryBytes() > 0);
    }
  }

  @Test
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
      assertEquals(0, world.explain(100).predictions().get(0).micros());
      assertThrows(IllegalArgumentException.class, () -> world.explain(-1));
    }
  }
}
