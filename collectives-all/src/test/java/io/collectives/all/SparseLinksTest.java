package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.Algorithm;
import io.collectives.Mesh;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A job opens the TCP connections that its plans need, and no others. */
@Tag("once")
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class SparseLinksTest {

  @TempDir private Path directory;

  @Test
  void aRingHasTwoConnectionsARank() throws Exception {
    int[] connections =
        connections(
            "ring",
            8,
            Algorithm.ring(),
            world -> {
              Payload whole = Payload.of(new float[1000]);
              Payload part = Payload.of(new float[125]);
              world.allReduce(whole, ReduceOp.SUM);
              world.reduceScatter(whole, part, ReduceOp.SUM);
              world.allGather(part, whole);
              world.broadcast(whole, 3);
              world.reduce(whole, whole, ReduceOp.SUM, 5);
              // Messages to a neighbour need no more.
              if (world.rank() == 2) {
                world.send(part, 3);
              } else if (world.rank() == 3) {
                world.receive(part, 2);
              }
            });
    for (int rank = 0; rank < 8; rank++) {
      assertEquals(2, connections[rank], "rank " + rank);
    }
  }

  /** Ranks leave at once, each when its own part is done, which is no harm to the others. */
  @RepeatedTest(5)
  void aTorusHasAConnectionToEachNeighbour() throws Exception {
    int[] connections =
        connections(
            "torus",
            16,
            Algorithm.torus(Mesh.torus(4, 4)),
            world -> {
              world.allReduce(new float[1000], ReduceOp.SUM);
              world.barrier();
            });
    for (int rank = 0; rank < 16; rank++) {
      assertEquals(4, connections[rank], "rank " + rank);
    }
  }

  /** Counts for each rank those whom it, or who linked to it. */
  private int[] connections(String name, int ranks, Algorithm algorithm, CountedTcp.Body body)
      throws Exception {
    CountedTcp.Job job = CountedTcp.run(directory, "sparse-" + name, ranks, algorithm, body);
    return IntStream.range(0, ranks).map(job::peers).toArray();
  }

  /**
   * The kernel sees no more connections: a ring has as many connections as ranks, a torus twice as
   * many.
   */
  @Test
  void theKernelHasNoMoreConnections() throws Exception {
    Path table = Path.of("/proc/self/net/tcp");
    assumeTrue(Files.isReadable(table), "connections are counted on Linux only");
    sockets(8, "kernel-ring", 8, Algorithm.ring());
    sockets(32, "kernel-torus", 16, Algorithm.torus(Mesh.torus(4, 4)));
  }

  private void sockets(int expected, String name, int ranks, Algorithm algorithm) throws Exception {
    CountedTcp.Job job = CountedTcp.job("sparse-" + name, ranks);
    CountedTcp.run(
        directory,
        job,
        algorithm,
        world -> {
          world.allReduce(new float[1000], ReduceOp.SUM);
          if (world.rank() == 0) {
            // Two that connect to each other at once have two connections for a moment.
            Awaitility.await()
                .atMost(90, TimeUnit.SECONDS)
                .untilAsserted(() -> assertEquals(expected, accepted(job.ports())));
          }
          // Nobody leaves before they are counted.
          world.allReduce(new float[1000], ReduceOp.SUM);
        });
  }

  /** The number of established connections that were accepted at one of these ports. */
  private static long accepted(Set<Integer> ports) throws IOException {
    long count = 0;
    for (String table : List.of("/proc/self/net/tcp", "/proc/self/net/tcp6")) {
      if (Files.isReadable(Path.of(table))) {
        for (String line : Files.readAllLines(Path.of(table))) {
          String[] fields = line.strip().split("\\s+");
          boolean established = fields[3].equals("01");
          if (established && ports.contains(Integer.parseInt(fields[1].split(":")[1], 16))) {
            count++;
          }
        }
      }
    }
    return count;
  }
}
