package io.collectives.pipes;

import io.collectives.CallSettings;
import io.collectives.spi.Transport;
import io.collectives.testkit.TransportContractTest;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;

/**
 * A transport that was written from the javadoc of {@code io.collectives.spi} alone does what every
 * transport must. It lives here, and not beside the kit, because its jobs need an engine.
 */
@Tag("once")
class PipeTransportContractTest extends TransportContractTest {

  @Override
  protected List<Transport> open(int ranks, CallSettings calls) {
    PipeTransport[] job = new PipeTransport[ranks];
    return IntStream.range(0, ranks)
        .<Transport>mapToObj(rank -> PipeTransport.of(job, rank))
        .toList();
  }

  @Override
  protected void kill(Transport transport) {
    ((PipeTransport) transport).end(false);
  }
}
