package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.testkit.GradientReducerContractTest;
import java.util.List;

final class InProcessGradientReducerTest extends GradientReducerContractTest {
  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) {
    return Collectives.inProcess(ranks, calls);
  }

  @Override
  protected int models() {
    return 40;
  }
}
