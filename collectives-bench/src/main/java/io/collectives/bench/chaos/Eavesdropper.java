package io.collectives.bench.chaos;

import io.collectives.JobSettings;
import io.collectives.UnavailableException;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.RendezvousProvider;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import io.collectives.spi.TransportProvider.Endpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Learns where the ranks of a job listen and what a rank sends when it connects to them, as an
 * eavesdropper on their network would: it joins as the last rank of the job, which no call of the
 * others needs, and connects to a port of its own in place of each of them.
 */
final class Eavesdropper {
  /** Not the others' host, so that they do not share its processors with one rank more. */
  private static final String NOWHERE = "127.0.0.2:9";

  private static final int MOST_HELLO = 512;
  private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final JobSettings place;

  /**
   * Makes an eavesdropper that has not joined yet.
   *
   * @param place the settings of the last rank of a job on loopback
   */
  Eavesdropper(JobSettings place) {
    this.place = place;
  }

  /**
   * Meets the ranks.
   *
   * @return how to talk to each of them
   * @throws io.collectives.JoinException if they do not come
   */
  List<Intruder.Victim> listen() throws IOException {
    Roster roster = meet();
    List<Intruder.Victim> victims = new ArrayList<>();
    for (int rank = 0; rank < place.rank(); rank++) {
      String address = roster.addresses().get(rank);
      int port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
      victims.add(new Intruder.Victim(port, hello(roster, rank)));
    }
    return victims;
  }

  private Roster meet() {
    try (Rendezvous rendezvous = find(RendezvousProvider.class, provider -> provider.open(place))) {
      return rendezvous.meet(
          new Rendezvous.Announcement(
              place.job(),
              place.rank(),
              place.size(),
              Rendezvous.PROTOCOL_VERSION,
              place.transport(),
              NOWHERE,
              "the source of unauthenticated peers"),
          place.joinTimeout());
    }
  }

  /** Returns the first bytes that this rank sends when it connects to another. */
  private byte[] hello(Roster roster, int rank) throws IOException {
    TransportProvider tcp =
        find(
            TransportProvider.class,
            provider ->
                provider.name().equals(place.transport())
                    ? Optional.of(provider)
                    : Optional.empty());
    try (ServerSocket here = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Endpoint endpoint = tcp.listen(place)) {
      here.setSoTimeout((int) TimeUnit.NANOSECONDS.toMillis(LONGEST_NANOS));
      List<String> addresses = new ArrayList<>(roster.addresses());
      addresses.set(rank, "127.0.0.1:" + here.getLocalPort());
      CompletableFuture<byte[]> heard = CompletableFuture.supplyAsync(() -> first(here));
      try (Transport transport = endpoint.open(new Roster(roster.epoch(), addresses))) {
        transport.link(rank);
        while (!heard.isDone()) {
          transport.poll(Deaf.INSTANCE);
          transport.await(TimeUnit.MILLISECONDS.toNanos(1));
        }
      }
      return heard.join();
    } catch (CompletionException e) {
      throw new IOException(
          "rank " + place.rank() + " did not say its hello: " + e.getMessage(), e);
    }
  }

  private static byte[] first(ServerSocket here) {
    try (Socket socket = here.accept()) {
      byte[] bytes = new byte[MOST_HELLO];
      int length = socket.getInputStream().read(bytes);
      return Arrays.copyOf(bytes, Math.max(0, length));
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  private static <P, T> T find(Class<P> type, Function<P, Optional<? extends T>> use) {
    return ServiceLoader.load(type).stream()
        .map(provider -> use.apply(provider.get()))
        .flatMap(Optional::stream)
        .findFirst()
        .orElseThrow(() -> new UnavailableException("nothing on the class path knows tcp"));
  }

  /** Hears nothing that a peer says. */
  private static final class Deaf implements FrameSink {
    private static final Deaf INSTANCE = new Deaf();

    @Override
    public void header(Link link, FrameHeader header) {}

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {}

    @Override
    public void lost(Link link, @Nullable Throwable cause) {}
  }
}
