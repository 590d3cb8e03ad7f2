package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.ReduceOp;
import io.collectives.Statistics;
import io.collectives.testkit.RankThreads;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every call that has ended is counted once, in the row of its kind. */
@Tag("once")
class StatisticsTest {
  private static final CallSettings RING = CallSettings.defaults().withAlgorithm(Algorithm.ring());

  /** Returns calls and bytes by collective and group, of all sizes. */
  private static Map<String, String> counts(Statistics statistics) {
    Map<String, Statistics.Totals> sums =
        statistics.rows().stream()
            .collect(
                Collectors.toMap(
                    row -> row.kind().group() + " " + row.kind().collective(),
                    Statistics.Row::totals,
                    Statistics.Totals::plus,
                    TreeMap::new));
    Map<String, String> counts = new TreeMap<>();
    sums.forEach((kind, sum) -> counts.put(kind, sum.calls() + " of " + sum.bytes()));
    return counts;
  }

  @Test
  void rowsSumUpToTheCallsThatWereMade() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(2, RING);
    RankThreads.run(
        worlds,
        world -> {
          int me = world.rank();
          float[] ten = new float[10];
          float[] five = new float[5];
          for (int i = 0; i < 3; i++) {
            world.allReduce(ten, ReduceOp.SUM);
          }
          world.barrier();
          world.broadcast(ten, 1);
          world.reduce(Payload.of(ten), Payload.of(new float[10]), ReduceOp.MAX, 0);
          world.reduceScatter(ten, five, ReduceOp.SUM);
          world.allGather(five, ten);
          world.gather(Payload.of(five), Payload.of(ten), 0);
          world.scatter(Payload.of(ten), Payload.of(five), 0);
          world.allToAll(Payload.of(ten), Payload.of(new float[10]));
          if (me == 0) {
            world.send(Payload.of(five), 1);
          } else {
            world.receive(Payload.of(five), 0);
          }
          CollectiveHandle sum = world.async().allReduce(Payload.of(new double[100]), ReduceOp.SUM);
          sum.await();
          try (PersistentCall call =
              world.prepared().allReduce(Payload.of(new long[2]), ReduceOp.SUM)) {
            call.run();
            call.run();
          }
          try (Communicator group = world.group(1, 0)) {
            group.allReduce(ten, ReduceOp.SUM);
            assertEquals(
                1,
                group.statistics().rows().stream()
                    .filter(row -> row.kind().group().matches("[0-9a-f]{2,16}"))
                    .filter(row -> row.kind().collective().equals("all-reduce"))
                    .count());
          }
          Map<String, String> counts = counts(world.statistics());
          assertEquals("6 of 952", counts.get("world all-reduce"));
          assertEquals("1 of 40", counts.get("closed all-reduce"));
          assertEquals("1 of 0", counts.get("world barrier"));
          assertEquals("1 of 40", counts.get("world broadcast"));
          assertEquals("1 of 40", counts.get("world reduce-scatter"));
          assertEquals(1, counts.keySet().stream().filter(k -> k.endsWith("send/receive")).count());
          assertEquals(16, world.statistics().total().calls());
          assertEquals(0, world.statistics().total().failedCalls());
          assertEquals(0, world.statistics().brokenGroups());
        });
    Statistics statistics = worlds.get(0).statistics();
    Map<Long, Statistics.Totals> bySize =
        statistics.rows().stream()
            .filter(row -> row.kind().group().equals("world"))
            .filter(row -> row.kind().collective().equals("all-reduce"))
            .collect(Collectors.toMap(row -> row.kind().mostBytes(), Statistics.Row::totals));
    assertEquals(3, bySize.get(64L).calls());
    assertEquals(2, bySize.get(16L).calls());
    assertEquals(1, bySize.get(1024L).calls());
    for (Statistics.Row row : statistics.rows()) {
      Statistics.Totals totals = row.totals();
      assertTrue(totals.longestNanos() >= 0, row.toString());
      assertTrue(totals.nanos() >= totals.longestNanos(), row.toString());
      assertTrue(totals.nanos() <= totals.calls() * totals.longestNanos(), row.toString());
    }
    worlds.forEach(Communicator::close);
    assertEquals(16, worlds.get(0).statistics().total().calls());
  }

  @Test
  void failedCallsCountAsFailed() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(2, RING);
    Communicator first = worlds.get(0);
    CollectiveHandle alone = first.async().allReduce(new float[100], ReduceOp.SUM);
    worlds.get(1).abort("enough");
    assertThrows(AbortedException.class, alone::await);
    assertThrows(AbortedException.class, first::barrier);
    Statistics.Totals total = first.statistics().total();
    assertEquals(2, total.calls());
    assertEquals(2, total.failedCalls());
    assertEquals(400, total.bytes());
    assertEquals(1, first.statistics().brokenGroups());
    assertTrue(first.statistics().toString().contains("all-reduce"), first.statistics().toString());
    worlds.forEach(Communicator::close);
  }

  @Test
  void aCallOfOneRankIsCountedWithATimeThatIsNotNegative() {
    try (Communicator world = Collectives.inProcess(1, CallSettings.defaults()).get(0)) {
      world.allReduce(new float[7], ReduceOp.SUM);
      Statistics.Totals total = world.statistics().total();
      assertEquals(1, total.calls());
      assertEquals(0, total.nanos());
    }
  }
}
