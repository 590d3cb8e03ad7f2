package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.GradientReducerContractTest;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Gradients over threads and over sockets. Whatever moves the frames, a reducer sees a
 * communicator, whose calls are tried over every transport by {@link EveryTransportCallTest}.
 */
@ParameterizedClass
@ValueSource(strings = {"inprocess", "tcp"})
@Tag("once")
final class EveryTransportGradientReducerTest extends GradientReducerContractTest {
  private final String transport;

  @TempDir private Path directory;

  EveryTransportGradientReducerTest(String transport) {
    this.transport = transport;
  }

  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return ThreadJobs.open(transport, ranks, directory, calls);
  }

  /** Many where they take little time. */
  @Override
  protected int models() {
    return transport.equals("inprocess") ? 16 : 4;
  }
}
