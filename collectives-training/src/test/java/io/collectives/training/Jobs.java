package io.collectives.training;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.testkit.RankThreads;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Jobs whose ranks are threads of this JVM, for all tests of training. */
public final class Jobs {
  public static final CallSettings CALLS =
      CallSettings.defaults().withTimeout(Duration.ofSeconds(30)).withFrameLength(512);

  private Jobs() {}

  /** Runs a body on all ranks, all of which must end well; whoever does not aborts. */
  public static void run(int ranks, RankThreads.Body body) throws Exception {
    run(ranks, CALLS, body);
  }

  public static void run(int ranks, CallSettings calls, RankThreads.Body body) throws Exception {
    run(Collectives.inProcess(ranks, calls), body);
  }

  /** Runs a job over a transport by its name. */
  public static void run(String transport, Path directory, int ranks, RankThreads.Body body)
      throws Exception {
    if (transport.equals("inprocess")) {
      run(ranks, body);
      return;
    }
    Path memory = Files.createDirectories(directory.resolve("memory"));
    Path place = Files.createTempDirectory(directory, "job");
    List<CompletableFuture<Communicator>> joining = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      JobSettings settings =
          JobSettings.of(rank, ranks, place.toUri()).withTransport(transport).withCalls(CALLS);
      JobSettings job = transport.equals("shm") ? settings.withMemoryDirectory(memory) : settings;
      joining.add(CompletableFuture.supplyAsync(() -> Collectives.join(job), Jobs::inThread));
    }
    List<Communicator> worlds = new ArrayList<>();
    for (CompletableFuture<Communicator> joined : joining) {
      worlds.add(joined.get(50, TimeUnit.SECONDS));
    }
    run(worlds, body);
  }

  private static void inThread(Runnable task) {
    new Thread(task, "join").start();
  }

  private static void run(List<Communicator> worlds, RankThreads.Body body) throws Exception {
    try {
      RankThreads.run(
          worlds,
          world -> {
            try {
              body.run(world);
            } catch (Throwable e) {
              world.abort(e.toString()); // Else the others wait for the deadline.
              throw e;
            }
          });
    } finally {
      worlds.forEach(Communicator::close);
    }
  }
}
