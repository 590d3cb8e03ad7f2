package io.collectives.engine.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.CallSettings;
import io.collectives.Security;
import io.collectives.spi.Transport;
import io.collectives.testkit.TransportContractTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.io.TempDir;

/** The contract of transports, with and without checksums of bodies. */
class SharedMemoryTransportContractTest {

  abstract static class Contract extends TransportContractTest {
    @TempDir private Path directory;

    abstract Security security();

    @Override
    protected List<Transport> open(int ranks, CallSettings calls) {
      return List.copyOf(
          SharedMemoryJob.open(
              ranks,
              rank ->
                  SharedMemoryJob.settings(rank, ranks, directory)
                      .withCalls(calls)
                      .withSecurity(security())));
    }

    @Override
    protected void kill(Transport transport) {
      ((SharedMemoryTransport) transport).kill();
    }

    /** Ranks that live clean up after those that were killed. */
    @Override
    @AfterEach
    protected void closeAll() {
      super.closeAll();
      try (Stream<Path> left = Files.list(directory)) {
        assertEquals(List.of(), left.toList());
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
  }

  @Nested
  class Plain extends Contract {
    @Override
    Security security() {
      return Security.none();
    }
  }

  @Nested
  class WithChecksums extends Contract {
    @Override
    Security security() {
      return Security.none().withChecksums(true);
    }

    @Override
    protected boolean copiesAllBodies() {
      return true;
    }
  }
}
