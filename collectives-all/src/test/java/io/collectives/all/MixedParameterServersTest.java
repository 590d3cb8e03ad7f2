package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** Some proxies of a server reach each other's memory here, and others do not. */
@Tag("once")
final class MixedParameterServersTest extends ParameterServersJobs {
  @TempDir private Path directory;

  @Override
  List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return MixedJobs.join(ranks, directory, calls);
  }
}
