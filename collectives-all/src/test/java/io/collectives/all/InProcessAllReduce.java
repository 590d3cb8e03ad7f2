package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.testkit.AllReduceContractTest;
import java.util.List;

/** All-reduce between threads of one JVM. */
abstract class InProcessAllReduce extends AllReduceContractTest {
  @Override
  protected final List<Communicator> open(int ranks, CallSettings calls) {
    return Collectives.inProcess(ranks, calls);
  }
}
