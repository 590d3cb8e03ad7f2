package io.collectives.engine.inprocess;

import io.collectives.CallSettings;
import io.collectives.spi.Transport;
import io.collectives.testkit.TransportContractTest;
import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;

class InProcessTransportContractTest extends TransportContractTest {

  @Override
  protected List<Transport> open(int ranks, CallSettings calls) {
    InProcessFabric fabric = new InProcessFabric(ranks);
    return IntStream.range(0, ranks).mapToObj(fabric::transport).toList();
  }

  @Override
  protected void kill(Transport transport) {
    ((InProcessTransport) transport).kill(new IOException("killed by the test"));
  }
}
