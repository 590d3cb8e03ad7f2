package io.collectives.engine.auto;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameSink;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.Link;
import io.collectives.spi.MemoryFaults;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.StatusRequests;
import io.collectives.spi.Transport;
import io.collectives.spi.ViewSink;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A rank's end of links that belong to several transports, each of which knows only the peers that
 * it leads to. Links are those of the transports themselves, so frames pass nothing on their way.
 *
 * <p><b>Waiting.</b> A thread can sleep in one place. It sleeps in the last of the transports, one
 * of sockets, because shared memory sleeps whole milliseconds; what arrives there, and {@link
 * #wakeup}, end that at once, and as both are the promise of that transport, none is lost between a
 * poll and the sleep. What arrives by another transport ends nothing; so no sleep is longer than
 * {@link #SLEEP_NANOS}, after which the caller polls them all. That is as long as the engine sleeps
 * at most, and it does so only after 2 ms without anything to do: a mixed rank looks as often as
 * one with sockets alone, and costs a frame through shared memory at most that time once in such a
 * pause.
 *
 * <p><b>Threads.</b> As each of the transports allows: nothing here changes but by them. They are
 * closed one after the other, in the same order at all ranks, so that two that close together go
 * through the same steps; each has a limit of its own for that.
 */
final class MixedTransport implements Transport, InlineExchange, MemoryFaults, MemoryLeases {
  private static final long SLEEP_NANOS = 200_000;

  private final int rank;
  private final @Nullable Transport[] leading;
  private final Transport[] all;
  private final MemoryFaults[] faults;
  private final Transport sleeper;
  private final @Nullable Transport sharing; // Of those one at most shares memory.
  private final @Nullable InlineExchange exchange;

  /**
   * Joins transports.
   *
   * @param names of the transport to each rank
   * @param transports by name, at least one; sockets last
   */
  MixedTransport(int rank, List<@Nullable String> names, Map<String, Transport> transports) {
    this.rank = rank;
    this.all = transports.values().toArray(Transport[]::new);
    this.faults = Arrays.stream(all).map(MemoryFaults::of).toArray(MemoryFaults[]::new);
    this.sleeper = all[all.length - 1];
    this.sharing =
        Arrays.stream(all)
            .filter(part -> part.capability(MemoryLeases.class) != null)
            .findFirst()
            .orElse(null);
    this.exchange = sharing == null ? null : sharing.capability(InlineExchange.class);
    this.leading = new Transport[names.size()];
    for (int peer = 0; peer < leading.length; peer++) {
      String name = names.get(peer);
      leading[peer] = name == null ? null : transports.get(name);
    }
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return leading.length;
  }

  @Override
  public List<String> names() {
    return Arrays.stream(all).map(Transport::names).flatMap(Collection::stream).toList();
  }

  @Override
  public String nameOf(int peer) {
    Transport transport = leading[peer];
    return transport == null ? "" : transport.nameOf(peer);
  }

  @Override
  public long memoryLimit() {
    long limit = 0;
    for (Transport transport : all) {
      limit += transport.memoryLimit();
    }
    return limit;
  }

  /**
   * Returns null for capabilities that all pairs must have, which a mixture has not. Leases and
   * inline exchanges reach those with whom memory is shared. Only TCP, which is the last of all,
   * takes requests for the status.
   */
  @Override
  public <C> @Nullable C capability(Class<C> kind) {
    if (kind == MemoryFaults.class
        || kind == MemoryLeases.class && sharing != null
        || kind == InlineExchange.class && exchange != null) {
      return kind.cast(this);
    }
    return kind == StatusRequests.class ? sleeper.capability(kind) : null;
  }

  private MemoryLeases leases() {
    return Objects.requireNonNull(
        sharing == null ? null : sharing.capability(MemoryLeases.class), "nobody shares memory");
  }

  @Override
  public boolean reaches(int peer) {
    return sharing != null && leading[Objects.checkIndex(peer, leading.length)] == sharing;
  }

  @Override
  public void viewBy(ViewSink sink) {
    leases().viewBy(sink);
  }

  @Override
  public boolean exchangesWith(int peer) {
    return reaches(peer);
  }

  @Override
  public boolean post(int peer, int slot, long number, long[] call, FrameBody body) {
    return Objects.requireNonNull(exchange).post(peer, slot, number, call, body);
  }

  @Override
  public boolean take(int peer, int slot, long number, long[] call, FrameBytes body, int length) {
    return Objects.requireNonNull(exchange).take(peer, slot, number, call, body, length);
  }

  @Override
  public Region createRegion(int length, int[] peers) throws IOException {
    return leases().createRegion(length, Arrays.stream(peers).filter(this::reaches).toArray());
  }

  @Override
  public Link link(int peer) {
    Transport transport = leading[Objects.checkIndex(peer, leading.length)];
    if (transport == null) {
      throw new IllegalArgumentException("rank " + peer + " has no link to itself");
    }
    return transport.link(peer);
  }

  @Override
  public int poll(FrameSink sink) {
    int done = 0;
    for (Transport transport : all) {
      done += transport.poll(sink);
    }
    return done;
  }

  @Override
  public Map<Integer, Throwable> lostMemory() {
    Map<Integer, Throwable> lost = new HashMap<>();
    for (MemoryFaults part : faults) {
      lost.putAll(part.lostMemory());
    }
    return lost;
  }

  @Override
  public boolean settle() {
    boolean settled = true;
    for (MemoryFaults part : faults) {
      settled &= part.settle();
    }
    return settled;
  }

  @Override
  public void await(long nanos) {
    sleeper.await(Math.min(nanos, SLEEP_NANOS));
  }

  @Override
  public void wakeup() {
    sleeper.wakeup();
  }

  @Override
  public void close() {
    List<RuntimeException> failures = new ArrayList<>();
    for (Transport transport : all) {
      try {
        transport.close();
      } catch (RuntimeException e) {
        failures.add(e);
      }
    }
    if (!failures.isEmpty()) {
      RuntimeException first = failures.get(0);
      failures.subList(1, failures.size()).forEach(first::addSuppressed);
      throw first;
    }
  }
}
