package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.GradientReducerContractTest;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

@Tag("once")
final class UnixGradientReducerTest extends GradientReducerContractTest {
  @TempDir private Path directory;

  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return UnixJobs.join(ranks, directory, calls);
  }

  @Override
  protected int models() {
    return 6;
  }
}
