package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.testkit.AllReduceContractTest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** All-reduce over sockets, between threads of one JVM that join a job. */
abstract class TcpAllReduce extends AllReduceContractTest {

  /** A place to meet that no other job knows. */
  abstract URI place() throws IOException;

  /**
   * A port that nobody listens on now, below those that systems give to outgoing connections: one
   * of these could take it before rank 0 does.
   */
  static int freePort() {
    while (true) {
      int port = ThreadLocalRandom.current().nextInt(15_000, 30_000);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return socket.getLocalPort();
      } catch (IOException e) {
        // Taken; try another.
      }
    }
  }

  @Override
  protected final List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    URI place = place();
    List<CompletableFuture<Communicator>> joining = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      JobSettings settings = JobSettings.of(rank, ranks, place).withCalls(calls);
      CompletableFuture<Communicator> joined = new CompletableFuture<>();
      joining.add(joined);
      new Thread(
              () -> {
                try {
                  joined.complete(Collectives.join(settings));
                } catch (Throwable e) {
                  joined.completeExceptionally(e);
                }
              },
              "contract-join" + rank)
          .start();
    }
    List<Communicator> worlds = new ArrayList<>();
    for (CompletableFuture<Communicator> joined : joining) {
      worlds.add(joined.get(70, TimeUnit.SECONDS));
    }
    return worlds;
  }
}
