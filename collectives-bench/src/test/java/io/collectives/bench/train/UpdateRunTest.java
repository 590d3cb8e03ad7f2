package io.collectives.bench.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.bench.train.UpdateRun.Times;
import org.junit.jupiter.api.Test;

class UpdateRunTest {
  @Test
  void theUpdateOfShardsIsWhatAStepTakesMoreThanItsExchange() {
    Times times = new Times(10, 40, 30, 45);
    assertEquals(15, times.shardedUpdate());
    assertEquals(0.9, times.ratioOfSteps());
    assertEquals(0, new Times(10, 40, 45, 30).shardedUpdate(), "no less than nothing");
  }

  @Test
  void eachTimeIsTheLeastOfItsRounds() {
    assertEquals(new Times(1, 6, 3, 8), new Times(1, 7, 3, 9).least(new Times(5, 6, 4, 8)));
  }
}
