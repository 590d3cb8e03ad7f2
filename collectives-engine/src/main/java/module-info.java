import io.collectives.engine.EngineRuntime;
import io.collectives.engine.auto.AutoTransportProvider;
import io.collectives.engine.join.DirectoryRendezvousProvider;
import io.collectives.engine.sharedmemory.SharedMemoryTransportProvider;

/**
 * The runtime, with the transports between threads and between processes of a host. It exports
 * nothing: programs reach it by {@code io.collectives.Collectives}.
 */
@SuppressWarnings("requires-automatic") // Agrona has a name and no descriptor.
module io.collectives.engine {
  requires io.collectives.api;
  requires java.management;
  requires static jdk.jfr;
  requires jdk.unsupported;
  requires org.agrona.core;

  provides io.collectives.spi.CollectivesRuntime with
      EngineRuntime;
  provides io.collectives.spi.RendezvousProvider with
      DirectoryRendezvousProvider;
  provides io.collectives.spi.TransportProvider with
      AutoTransportProvider,
      SharedMemoryTransportProvider;
}
