package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CollectiveHandle;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.ps.ParameterServers;
import io.collectives.ps.Roles;
import io.collectives.spi.FrameHeader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two hosts of two workers, and two servers of two proxies: who speaks with whom, and when. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class HierarchyTest {
  private static final int WORKERS = 4;
  private static final int COUNT = 2048;

  /** In a lane of the plan; the first is the reduce-scatter of a host. */
  private static final int ALL_GATHER = 5;

  @TempDir private Path directory;

  /**
   * The reduce-scatter of the next buffer does not wait for the all-gather of the one before, which
   * here waits for a worker of the other host that reduces the next buffer first.
   */
  @Test
  void theNextReduceScatterDoesNotWaitForTheAllGather() throws Exception {
    Roles roles = Roles.dedicated(8, 2, 2).withHosts(List.of("a", "a", "b", "b", "", "", "", ""));
    CountedTcp.Job job =
        CountedTcp.run(
            directory,
            "hierarchy",
            8,
            Algorithm.ring(),
            world -> {
              try (ParameterServers servers = ParameterServers.of(world, roles)) {
                if (!servers.isWorker()) {
                  servers.serve();
                  return;
                }
                float[][] buffers = new float[2][COUNT];
                for (float[] buffer : buffers) {
                  Arrays.fill(buffer, world.rank() + 1);
                }
                var reduction = servers.reduction();
                int first = world.rank() == WORKERS - 1 ? 1 : 0;
                CollectiveHandle one =
                    reduction.reduce(first, Payload.of(buffers[first]), ReduceOp.SUM);
                if (first == 1) {
                  one.await();
                }
                CollectiveHandle other =
                    reduction.reduce(1 - first, Payload.of(buffers[1 - first]), ReduceOp.SUM);
                one.await();
                other.await();
                float[] sums = new float[COUNT];
                Arrays.fill(sums, 1 + 2 + 3 + 4);
                assertArrayEquals(sums, buffers[0]);
                assertArrayEquals(sums, buffers[1]);
                reduction.close();
              }
            });
    List<FrameHeader> sent =
        job.sent(0).stream().filter(head -> head.sequence == 1 && head.length > 0).toList();
    List<Long> groups = sent.stream().map(head -> head.group).distinct().toList();
    assertEquals(2, groups.size());
    int lastAllGather = last(sent, head -> head.group == groups.get(0) && head.round == ALL_GATHER);
    int firstReduceScatter = first(sent, head -> head.group == groups.get(1) && head.round == 0);
    int lastReduceScatter = last(sent, head -> head.group == groups.get(1) && head.round == 0);
    assertTrue(firstReduceScatter >= 0 && lastReduceScatter < lastAllGather, "" + sent);
    // So do segments of one buffer: the next one's reduce-scatter precedes the all-gather.
    int second = first(sent, head -> head.group == groups.get(0) && head.slab == 1);
    assertTrue(
        second < first(sent, head -> head.group == groups.get(0) && head.round == ALL_GATHER));
    // A worker speaks with its neighbour and, of the server of its half, with one proxy; a proxy
    // with one worker of each two, and with the other. The rest is the ring of the world.
    assertEquals(List.of(1, 1, 1, 1), proxiesOfWorkers(job));
  }

  /** Returns how many of the ranks that serve each worker has sent transfers to. */
  private static List<Integer> proxiesOfWorkers(CountedTcp.Job job) {
    return IntStream.range(0, WORKERS)
        .mapToObj(
            worker ->
                (int)
                    IntStream.range(WORKERS, 8).filter(to -> job.bytesSent(worker, to) > 0).count())
        .toList();
  }

  private static int first(List<FrameHeader> sent, Predicate<FrameHeader> wanted) {
    return IntStream.range(0, sent.size())
        .filter(i -> wanted.test(sent.get(i)))
        .findFirst()
        .orElse(-1);
  }

  private static int last(List<FrameHeader> sent, Predicate<FrameHeader> wanted) {
    return IntStream.range(0, sent.size()).filter(i -> wanted.test(sent.get(i))).max().orElse(-1);
  }
}
