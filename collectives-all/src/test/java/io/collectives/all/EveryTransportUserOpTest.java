package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.UserOpContractTest;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Users' ops over every transport that hands over memory in a way of its own. */
@ParameterizedClass
@ValueSource(strings = {"inprocess", "shm", "tcp"})
@Tag("once")
final class EveryTransportUserOpTest extends UserOpContractTest {
  private final String transport;

  @TempDir private Path directory;

  EveryTransportUserOpTest(String transport) {
    this.transport = transport;
  }

  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return ThreadJobs.open(transport, ranks, directory, calls);
  }
}
