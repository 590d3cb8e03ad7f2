package io.collectives.training;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ShardLayoutTest {

  /** Every element has one owner, all owners agree on what a bucket is, and shards are alike. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void everyElementHasOneOwner(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 50; round++) {
      int ranks = 1 + random.nextInt(9);
      int[] counts = random.ints(random.nextInt(12), 0, 500).toArray();
      int bucketLength = 1 + random.nextInt(8000);
      int[][] owners = new int[counts.length][];
      long total = 0;
      for (int i = 0; i < counts.length; i++) {
        owners[i] = new int[counts[i]];
        total += (counts[i] + 63) / 64 * 64;
      }
      ShardLayout first = new ShardLayout(counts, bucketLength, ranks, 0);
      for (int rank = 0; rank < ranks; rank++) {
        ShardLayout layout = new ShardLayout(counts, bucketLength, ranks, rank);
        assertEquals(first.shardCount, layout.shardCount);
        int local = 0;
        for (int b = 0; b < layout.buckets.size(); b++) {
          ShardLayout.Bucket bucket = layout.buckets.get(b);
          assertEquals(first.buckets.get(b).pieces(), bucket.pieces());
          assertEquals(local, bucket.local());
          local += bucket.part();
          assertEquals(
              ranks * bucket.part(),
              bucket.pieces().stream().mapToInt(ShardLayout.Piece::count).sum());
          for (ShardLayout.Run run : bucket.runs()) {
            assertEquals(0, run.offset() % 64, "runs begin with blocks");
            assertTrue(
                run.count() % 64 == 0 || run.offset() + run.count() == counts[run.tensor()],
                "runs end with blocks or tensors");
            assertTrue(run.local() >= bucket.local() && run.local() + run.count() <= local);
            for (int i = 0; i < run.count(); i++) {
              owners[run.tensor()][run.offset() + i]++;
            }
          }
        }
        assertTrue(layout.shardCount <= total / ranks + 64, "seed " + seed);
      }
      for (int[] tensor : owners) {
        for (int owned : tensor) {
          assertEquals(1, owned, "seed " + seed + ", round " + round);
        }
      }
    }
  }
}
