package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.testkit.AllReduceContractTest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

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
    return TcpJobs.join(ranks, place(), calls, job -> job);
  }
}
