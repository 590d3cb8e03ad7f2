package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;

/**
 * TCP whose inner figures tests can see, and whose ranks can be told other addresses than the true
 * ones. It is not registered: only threads with {@link #classLoader} find it.
 */
public final class WatchedTcp implements TransportProvider {
  /**
   * The most direct memory that a transport for one peer may hold, beside that for connections not
   * admitted yet.
   */
  public static final long MEMORY_LIMIT = TcpTransport.RECEIVE_LENGTH + 64 * 1024;

  /** The most connections that may wait for their admission. */
  public static final int UNADMITTED_LIMIT = TcpTransport.UNADMITTED_LIMIT;

  private static final Map<Integer, TcpTransport> OPENED = new ConcurrentHashMap<>();
  private static final AtomicReference<UnaryOperator<String>> TOLD =
      new AtomicReference<>(UnaryOperator.identity());

  private final TransportProvider tcp = new TcpTransportProvider();

  /** For {@link java.util.ServiceLoader}. */
  public WatchedTcp() {}

  /** From now on others are told that a rank listens where this function says. */
  public static void tell(UnaryOperator<String> address) {
    TOLD.set(address);
  }

  /** The context class loader of threads that may use transport {@code watched-tcp}. */
  public static ClassLoader classLoader(Path directory) throws IOException {
    String name = "META-INF/services/" + TransportProvider.class.getName();
    Path file = Files.writeString(directory.resolve("providers"), WatchedTcp.class.getName());
    URL url = file.toUri().toURL();
    return new ClassLoader(WatchedTcp.class.getClassLoader()) {
      @Override
      protected Enumeration<URL> findResources(String wanted) {
        return Collections.enumeration(wanted.equals(name) ? List.of(url) : List.of());
      }
    };
  }

  /** Returns how many bytes of direct memory a rank's transport holds. */
  public static long directMemoryLength(int rank) {
    return OPENED.get(rank).directMemoryLength();
  }

  /** Returns how many connections to a rank wait for their admission. */
  public static int unadmitted(int rank) {
    TcpTransport transport = OPENED.get(rank);
    transport.loop().enter();
    try {
      return transport.unadmittedCount();
    } finally {
      transport.loop().leave();
    }
  }

  /**
   * Returns what a rank says when it connects to another, as somebody knows who has listened to it.
   */
  public static byte[] hello(int from, int to) {
    return OPENED.get(from).hello(to).bytes().array();
  }

  @Override
  public String name() {
    return "watched-tcp";
  }

  @Override
  public Endpoint listen(JobSettings settings) {
    Endpoint endpoint = tcp.listen(settings);
    String told = TOLD.get().apply(endpoint.address());
    return new Endpoint() {
      @Override
      public String address() {
        return told;
      }

      @Override
      public Transport open(Roster roster) {
        TcpTransport transport = (TcpTransport) endpoint.open(roster);
        OPENED.put(settings.rank(), transport);
        return transport;
      }

      @Override
      public void close() {
        endpoint.close();
      }
    };
  }
}
