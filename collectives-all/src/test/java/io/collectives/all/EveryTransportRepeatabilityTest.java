package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.RepeatabilityContractTest;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Bits over every transport that moves them in a way of its own. */
@ParameterizedClass
@ValueSource(strings = {"inprocess", "shm", "tcp"})
@Tag("once")
final class EveryTransportRepeatabilityTest extends RepeatabilityContractTest {
  private final String transport;

  @TempDir private Path directory;

  EveryTransportRepeatabilityTest(String transport) {
    this.transport = transport;
  }

  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return ThreadJobs.open(transport, ranks, directory, calls);
  }
}
