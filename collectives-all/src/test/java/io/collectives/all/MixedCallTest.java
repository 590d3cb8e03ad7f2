package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.CallContractTest;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** Calls by a plan whose links are of several transports, each of which passes these tests. */
@Tag("once")
@Tag("long")
final class MixedCallTest extends CallContractTest {
  @TempDir private Path directory;

  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return MixedJobs.join(ranks, directory, calls);
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }
}
