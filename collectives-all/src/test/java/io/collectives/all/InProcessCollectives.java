package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.testkit.CollectivesContractTest;
import java.util.List;

/** Collectives between threads of one JVM. */
abstract class InProcessCollectives extends CollectivesContractTest {
  @Override
  protected final List<Communicator> open(int ranks, CallSettings calls) {
    return Collectives.inProcess(ranks, calls);
  }
}
