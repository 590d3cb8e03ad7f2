package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Link;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import io.collectives.testkit.ForwardingLink;
import io.collectives.testkit.ForwardingTransport;
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
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Jobs of threads over TCP whose links are counted. */
public final class CountedTcp implements TransportProvider {
  private static final String NAME = "counted-tcp";

  /** By job and rank. */
  private static final Map<String, Counted> TRANSPORTS = new ConcurrentHashMap<>();

  /** For {@link ServiceLoader}. */
  public CountedTcp() {}

  /** The body of a rank. */
  interface Body {
    void run(Communicator world) throws Exception;
  }

  /** A job, with what its links have carried. */
  static final class Job {
    private final String name;
    private final int ranks;

    private Job(String name, int ranks) {
      this.name = name;
      this.ranks = ranks;
    }

    private Counted transport(int rank) {
      return TRANSPORTS.get(name + ":" + rank);
    }

    /** Returns how many ranks have linked to a rank, or it to them. */
    int peers(int rank) {
      Set<Integer> peers = new TreeSet<>(transport(rank).linked.keySet());
      for (int other = 0; other < ranks; other++) {
        if (transport(other).linked.containsKey(rank)) {
          peers.add(other);
        }
      }
      return peers.size();
    }

    /**
     * Returns how many bytes of payload have gone from a rank to another, without what ranks tell
     * each other beside, as when one of them is late on a busy machine.
     */
    long bytesSent(int from, int to) {
      CountedLink link = transport(from).linked.get(to);
      return link == null ? 0 : link.payload.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Returns how many of them have gone in a call. */
    long bytesSent(int from, int to, long sequence) {
      CountedLink link = transport(from).linked.get(to);
      return link == null ? 0 : link.payload.getOrDefault(sequence, 0L);
    }

    /** The transfers that a rank has sent, in their order. */
    List<FrameHeader> sent(int rank) {
      return transport(rank).sent;
    }

    /** The ports on which the ranks listen. */
    Set<Integer> ports() {
      Set<Integer> ports = new TreeSet<>();
      for (int rank = 0; rank < ranks; rank++) {
        String address = transport(rank).address;
        ports.add(Integer.valueOf(address.substring(address.lastIndexOf(':') + 1)));
      }
      return ports;
    }
  }

  /**
   * Runs a job.
   *
   * @param directory for what it takes
   */
  static Job run(Path directory, String name, int ranks, Algorithm algorithm, Body body)
      throws Exception {
    Job job = new Job(name, ranks);
    run(directory, job, algorithm, body);
    return job;
  }

  /** A job that is yet to run. */
  static Job job(String name, int ranks) {
    return new Job(name, ranks);
  }

  /** Runs a job. */
  static void run(Path directory, Job job, Algorithm algorithm, Body body) throws Exception {
    ClassLoader loader = classLoader(directory);
    ExecutorService threads =
        Executors.newFixedThreadPool(
            job.ranks,
            task -> {
              Thread thread = new Thread(task, NAME);
              thread.setDaemon(true);
              thread.setContextClassLoader(loader);
              return thread;
            });
    try {
      URI place = Files.createTempDirectory(directory, "rendezvous").toUri();
      List<Future<?>> ends = new ArrayList<>();
      for (int rank = 0; rank < job.ranks; rank++) {
        JobSettings settings =
            JobSettings.of(rank, job.ranks, place)
                .withJob(job.name)
                .withTransport(NAME)
                .withCalls(CallSettings.defaults().withAlgorithm(algorithm).withFrameLength(256));
        ends.add(
            threads.submit(
                () -> {
                  try (Communicator world = Collectives.join(settings)) {
                    body.run(world);
                  }
                  return null;
                }));
      }
      for (Future<?> end : ends) {
        end.get(50, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static ClassLoader classLoader(Path directory) throws IOException {
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

  @Override
  public String name() {
    return NAME;
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
        Counted counted = new Counted(endpoint.open(roster), endpoint.address());
        TRANSPORTS.put(settings.job() + ":" + settings.rank(), counted);
        return counted;
      }

      @Override
      public void close() {
        endpoint.close();
      }
    };
  }

  /** A link, how many bytes of payload it has carried, and what its rank sends. */
  private static final class CountedLink extends ForwardingLink {
    /** By call. */
    private final Map<Long, Long> payload = new ConcurrentHashMap<>();

    private final List<FrameHeader> sent;

    CountedLink(Link inner, List<FrameHeader> sent) {
      super(inner);
      this.sent = sent;
    }

    @Override
    public boolean trySend(FrameHeader header, FrameBody body) {
      boolean accepted = inner.trySend(header, body);
      if (accepted && header.kind == FrameHeader.Kind.DATA) {
        payload.merge(header.sequence, (long) header.length, Long::sum);
        FrameHeader copy = new FrameHeader();
        copy.copyFrom(header);
        sent.add(copy);
      }
      return accepted;
    }
  }

  private static final class Counted extends ForwardingTransport {
    private final String address;
    private final Map<Integer, CountedLink> linked = new ConcurrentHashMap<>();
    private final List<FrameHeader> sent = Collections.synchronizedList(new ArrayList<>());

    Counted(Transport inner, String address) {
      super(inner);
      this.address = address;
    }

    @Override
    public Link link(int peer) {
      return linked.computeIfAbsent(peer, other -> new CountedLink(inner.link(other), sent));
    }
  }
}
