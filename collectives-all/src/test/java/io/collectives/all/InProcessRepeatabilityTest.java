package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.testkit.RepeatabilityContractTest;
import java.util.List;

final class InProcessRepeatabilityTest extends RepeatabilityContractTest {
  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) {
    return Collectives.inProcess(ranks, calls);
  }
}
