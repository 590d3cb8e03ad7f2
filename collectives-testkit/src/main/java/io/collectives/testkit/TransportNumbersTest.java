package io.collectives.testkit;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Numbers over a transport: each pair of an element type, an op, a kind of memory, a length and so
 * on. Extend it and say how ranks are opened, and by which algorithm they reduce. {@link
 * AllReduceNumbersTest} and {@link CollectivesNumbersTest} try more, for an algorithm.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class TransportNumbersTest extends JobTest {
  /** For subclasses. */
  protected TransportNumbersTest() {}

  @Override
  protected abstract List<Communicator> open(int ranks, CallSettings calls) throws Exception;

  @Test
  void everyRankGetsTheReduction() throws Exception {
    AllReduceCase.checkAll(this, 5);
  }

  @Test
  void everyRankGetsItsResult() throws Exception {
    CollectiveCase.checkAll(this, 4);
  }
}
