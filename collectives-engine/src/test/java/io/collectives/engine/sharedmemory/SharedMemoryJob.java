package io.collectives.engine.sharedmemory;

import io.collectives.CallSettings;
import io.collectives.JobSettings;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Roster;
import io.collectives.spi.TransportProvider;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/** Opens the transports of all ranks of a job in this process. */
final class SharedMemoryJob {
  private SharedMemoryJob() {}

  /** Settings with frames of 16 KiB, so that rings are full soon. */
  static JobSettings settings(int rank, int size, Path directory) {
    return JobSettings.of(rank, size, URI.create("tcp://localhost:1"))
        .withCalls(CallSettings.defaults().withFrameLength(16 * 1024))
        .withMemoryDirectory(directory);
  }

  static List<SharedMemoryTransport> open(int ranks, IntFunction<JobSettings> settings) {
    TransportProvider provider = new SharedMemoryTransportProvider();
    List<TransportProvider.Endpoint> endpoints = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      endpoints.add(provider.listen(settings.apply(rank)));
    }
    Roster roster =
        new Roster(
            JobEpoch.draw(), endpoints.stream().map(TransportProvider.Endpoint::address).toList());
    return endpoints.stream()
        .map(endpoint -> (SharedMemoryTransport) endpoint.open(roster))
        .toList();
  }
}
