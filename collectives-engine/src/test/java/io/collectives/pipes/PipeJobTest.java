package io.collectives.pipes;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.testkit.CallContractTest;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** Jobs run over a transport that knows nothing of the engine, which knows nothing of it. */
@Tag("once")
class PipeJobTest extends CallContractTest {
  @TempDir Path directory;
  private int jobs;

  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) throws IOException {
    URI place = Files.createDirectory(directory.resolve("rendezvous" + jobs++)).toUri();
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<CompletableFuture<Communicator>> joining = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        JobSettings settings =
            JobSettings.of(rank, ranks, place).withTransport("pipe").withCalls(calls);
        joining.add(CompletableFuture.supplyAsync(() -> Collectives.join(settings), threads));
      }
      return joining.stream().map(CompletableFuture::join).toList();
    } finally {
      threads.shutdown();
    }
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }
}
