package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import java.util.List;

final class InProcessParameterServersTest extends ParameterServersJobs {
  @Override
  List<Communicator> open(int ranks, CallSettings calls) {
    return Collectives.inProcess(ranks, calls);
  }
}
