package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.testkit.UserOpContractTest;
import java.util.List;

final class InProcessUserOpTest extends UserOpContractTest {
  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) {
    return Collectives.inProcess(ranks, calls);
  }
}
