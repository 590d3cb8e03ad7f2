package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.Mesh;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A job opens the TCP connections that its plans need, and no others. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class SparseLinksTest {

  /** Whom each rank asked for a link to, which is what opens a connection, by job and rank. */
  private static final Map<String, Set<Integer>> LINKED = new ConcurrentHashMap<>();

  @TempDir private Path directory;

  /** What a rank does. */
  private interface Body {
    void run(Communicator world);
  }

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
  private int[] connections(String job, int ranks, Algorithm algorithm, Body body)
      throws Exception {
    ClassLoader loader = classLoader();
    ExecutorService threads =
        Executors.newFixedThreadPool(
            ranks,
            task -> {
              Thread thread = new Thread(task, "sparse-links");
              thread.setDaemon(true);
              thread.setContextClassLoader(loader);
              return thread;
            });
    try {
      URI place = Files.createTempDirectory(directory, job).toUri();
      List<Future<?>> ends = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        JobSettings settings =
            JobSettings.of(rank, ranks, place)
                .withTransport("counted-tcp")
                .withCalls(CallSettings.defaults().withAlgorithm(algorithm).withFrameLength(256));
        ends.add(
            threads.submit(
                () -> {
                  try (Communicator world = Collectives.join(settings)) {
                    body.run(world);
                  }
                }));
      }
      for (Future<?> end : ends) {
        end.get(50, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
    int[] counts = new int[ranks];
    for (int rank = 0; rank < ranks; rank++) {
      Set<Integer> peers = new TreeSet<>(LINKED.get(ranks + ":" + rank));
      for (int other = 0; other < ranks; other++) {
        if (LINKED.get(ranks + ":" + other).contains(rank)) {
          peers.add(other);
        }
      }
      counts[rank] = peers.size();
    }
    return counts;
  }

  private ClassLoader classLoader() throws IOException {
    String name = "META-INF/services/" + TransportProvider.class.getName();
    Path file = Files.createTempFile(directory, "provider", "");
    URL url = Files.writeString(file, CountedTcp.class.getName()).toUri().toURL();
    return new ClassLoader(CountedTcp.class.getClassLoader()) {
      @Override
      protected Enumeration<URL> findResources(String wanted) {
        return Collections.enumeration(wanted.equals(name) ? List.of(url) : List.of());
      }
    };
  }

  /** TCP that remembers who asked for which links. */
  public static final class CountedTcp implements TransportProvider {
    /** For {@link ServiceLoader}. */
    public CountedTcp() {}

    @Override
    public String name() {
      return "counted-tcp";
    }

    @Override
    public Endpoint listen(JobSettings settings) {
      Endpoint endpoint =
          ServiceLoader.load(TransportProvider.class, CountedTcp.class.getClassLoader()).stream()
              .map(ServiceLoader.Provider::get)
              .filter(provider -> provider.name().equals("tcp"))
              .findFirst()
              .orElseThrow()
              .listen(settings);
      return new Endpoint() {
        @Override
        public String address() {
          return endpoint.address();
        }

        @Override
        public Transport open(Roster roster) {
          Set<Integer> linked = new ConcurrentSkipListSet<>();
          LINKED.put(settings.size() + ":" + settings.rank(), linked);
          return new Counted(endpoint.open(roster), linked);
        }

        @Override
        public void close() {
          endpoint.close();
        }
      };
    }
  }

  private record Counted(Transport inner, Set<Integer> linked) implements Transport {
    @Override
    public int rank() {
      return inner.rank();
    }

    @Override
    public int size() {
      return inner.size();
    }

    @Override
    public Link link(int peer) {
      linked.add(peer);
      return inner.link(peer);
    }

    @Override
    public int poll(FrameSink sink) {
      return inner.poll(sink);
    }

    @Override
    public void await(long nanos) {
      inner.await(nanos);
    }

    @Override
    public void wakeup() {
      inner.wakeup();
    }

    @Override
    public void close() {
      inner.close();
    }
  }
}
