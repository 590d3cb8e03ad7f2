package io.collectives.engine.auto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.collectives.CallSettings;
import io.collectives.JobSettings;
import io.collectives.engine.choice.Locality;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import io.collectives.testkit.TransportContractTest;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The contract of transports for a mixture: which of three transports a pair uses depends on the
 * sum of its ranks, and a rank opens all of them, even one that leads to nobody.
 */
@Tag("once")
class MixedTransportContractTest {

  abstract static class Contract extends TransportContractTest {
    @TempDir private Path directory;
    private final List<String> names;
    private final Map<Transport, Collection<Transport>> parts = new HashMap<>();

    /** Between ranks a and b there is the name number a + b. */
    Contract(String... names) {
      this.names = List.of(names);
    }

    @Override
    protected List<Transport> open(int ranks, CallSettings calls) throws Exception {
      Map<String, List<TransportProvider.Endpoint>> endpoints = new LinkedHashMap<>();
      for (String name : Pairing.TRANSPORTS) {
        if (names.contains(name)) {
          endpoints.put(name, listen(name, ranks, calls));
        }
      }
      JobEpoch epoch = JobEpoch.draw();
      List<Transport> opened = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        int me = rank;
        List<@Nullable String> leading = new ArrayList<>();
        for (int peer = 0; peer < ranks; peer++) {
          leading.add(peer == rank ? null : names.get((rank + peer) % names.size()));
        }
        Map<String, Transport> transports = new LinkedHashMap<>();
        endpoints.forEach(
            (name, all) -> {
              List<String> addresses = new ArrayList<>();
              for (int peer = 0; peer < ranks; peer++) {
                boolean leads = peer == me || name.equals(leading.get(peer));
                addresses.add(leads ? all.get(peer).address() : "");
              }
              transports.put(name, all.get(me).open(new Roster(epoch, addresses)));
            });
        MixedTransport mixed = new MixedTransport(rank, leading, transports);
        parts.put(mixed, transports.values());
        opened.add(mixed);
      }
      return opened;
    }

    private List<TransportProvider.Endpoint> listen(String name, int ranks, CallSettings calls) {
      TransportProvider provider =
          ServiceLoader.load(TransportProvider.class).stream()
              .map(ServiceLoader.Provider::get)
              .filter(found -> found.name().equals(name))
              .findFirst()
              .orElseThrow();
      List<TransportProvider.Endpoint> endpoints = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        endpoints.add(
            provider.listen(
                JobSettings.of(rank, ranks, URI.create("tcp://localhost:1"))
                    .withMemoryDirectory(directory)
                    .withCalls(calls)));
      }
      return endpoints;
    }

    /** Damages frames as the tests of these transports do. */
    @Override
    protected void kill(Transport transport) {
      for (Transport part : parts.get(transport)) {
        try {
          Method kill = part.getClass().getDeclaredMethod("kill");
          kill.setAccessible(true);
          kill.invoke(part);
        } catch (ReflectiveOperationException e) {
          throw new AssertionError(e);
        }
      }
    }

    /** Ranks that live clean up after those that were killed. */
    @Override
    @AfterEach
    protected void closeAll() {
      super.closeAll();
      try (Stream<Path> left = Files.list(directory)) {
        assertEquals(List.of(), left.toList());
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
  }

  @Nested
  class SharedMemoryBesideTcp extends Contract {
    SharedMemoryBesideTcp() {
      super("tcp", "shm");
    }

    /** Leases that reach some ranks only do not make a job one of shared memory. */
    @Test
    void isNotTakenForSharedMemory() throws Exception {
      List<Transport> opened = open(3, CallSettings.defaults());
      try {
        for (Transport transport : opened) {
          assertNotNull(transport.capability(MemoryLeases.class));
          assertEquals(transport.rank() == 1, MemoryLeases.ofAll(transport) != null);
        }
        assertEquals(Locality.SOCKETS, Locality.of(opened.get(0)));
      } finally {
        opened.forEach(Transport::close);
      }
    }
  }

  @Nested
  @Tag("long") // The same two, the other way round.
  class TcpBesideSharedMemory extends Contract {
    TcpBesideSharedMemory() {
      super("shm", "tcp");
    }
  }

  @Nested
  @Tag("long") // A third changes nothing for the two that are there.
  class AllThree extends Contract {
    AllThree() {
      super("shm", "unix", "tcp");
    }
  }
}
