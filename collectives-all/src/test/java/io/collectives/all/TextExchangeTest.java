package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.ReduceOp;
import io.collectives.TextExchange;
import io.collectives.UnavailableException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks meet by an exchange of texts, over every transport, without a port known beforehand. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class TextExchangeTest {
  private static final int RANKS = 4;

  @ParameterizedTest
  @ValueSource(strings = {"auto", "shm", "unix", "tcp"})
  void ranksMeetAndSum(String transport) throws Exception {
    CyclicBarrier given = new CyclicBarrier(RANKS);
    String[] texts = new String[RANKS];
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<float[]>> sums = new ArrayList<>();
      for (int r = 0; r < RANKS; r++) {
        int rank = r;
        TextExchange exchange =
            text -> {
              texts[rank] = text;
              given.await();
              return List.of(texts);
            };
        sums.add(threads.submit(() -> sum(rank, transport, exchange)));
      }
      for (Future<float[]> sum : sums) {
        assertArrayEquals(new float[] {10, 20}, sum.get(50, TimeUnit.SECONDS));
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static float[] sum(int rank, String transport, TextExchange exchange) {
    JobSettings settings = JobSettings.of(rank, RANKS).withTransport(transport);
    try (Communicator world = Collectives.join(settings, exchange)) {
      assertEquals(rank, world.rank());
      float[] values = {rank + 1, 2 * (rank + 1)};
      world.allReduce(values, ReduceOp.SUM);
      UnavailableException e = assertThrows(UnavailableException.class, world::grow);
      assertTrue(e.getMessage().contains("met by an exchange of texts cannot grow"));
      return values;
    }
  }

  @Test
  void settingsOfAnExchangeNeedIt() {
    JoinException e =
        assertThrows(JoinException.class, () -> Collectives.join(JobSettings.of(0, 2)));
    assertTrue(e.getMessage().contains("give the exchange of texts"), e.getMessage());
  }
}
