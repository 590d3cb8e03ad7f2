package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

@Tag("once")
@Tag("long") // MixedParameterServersTest has links of TCP, too.
final class TcpParameterServersTest extends ParameterServersJobs {
  @TempDir private Path directory;

  @Override
  List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return TcpJobs.join(
        ranks, Files.createTempDirectory(directory, "job").toUri(), calls, job -> job);
  }
}
