package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.BufferReduction;
import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.ps.ParameterServers;
import io.collectives.ps.Roles;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.Transport;
import io.collectives.spi.ViewSink;
import io.collectives.testkit.ForwardingSink;
import io.collectives.testkit.ForwardingTransport;
import io.collectives.testkit.RankThreads;
import io.collectives.testkit.WrappedJobs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A server of two proxies on one host, and workers on others: what a proxy passes on to the other
 * one comes by TCP, and is read where it lands (Herring, section III-3).
 */
@Timeout(120)
class ProxiesLandingTest {
  private static final int WORKERS = 4;
  private static final int RANKS = WORKERS + 2;
  private static final int CALLS = 40;

  /** The last calls are longer, so that they need more room. */
  private static final int[] COUNTS = {20_000, 60_000};

  private static final long SEED = Long.getLong("collectives.seed", 20_261_127L);

  @TempDir Path directory;

  @ParameterizedTest
  @EnumSource(
      value = Repeatability.class,
      names = {"FASTEST", "EXACT"})
  void whatAProxyPassesOnIsReadWhereItLands(Repeatability repeatability) throws Exception {
    Job plain = run(repeatability, false);
    Job leased = run(repeatability, true);
    for (int call = 0; call < CALLS; call++) {
      for (int worker = 0; worker < WORKERS; worker++) {
        String where = "seed " + SEED + ", call " + call + ", worker " + worker;
        assertArrayEquals(plain.sums[call][0], plain.sums[call][worker], where);
        assertArrayEquals(plain.sums[call][0], leased.sums[call][worker], where);
      }
    }
    // Of each call: what two workers contribute to a half, and the sums of a half.
    long passedOn = 0;
    for (int call = 0; call < CALLS; call++) {
      passedOn += 2L * count(call) / 2 * Float.BYTES;
    }
    for (int proxy = WORKERS; proxy < RANKS; proxy++) {
      Counting of = plain.transports.get(proxy);
      assertEquals(0, of.leasedBytes, "leases that were not asked for");
      assertEquals(passedOn + passedOn / 2, of.copiedBytes);
      of = leased.transports.get(proxy);
      assertEquals(passedOn + passedOn / 2, of.leasedBytes + of.copiedBytes);
      // Until the other one has mapped it, what has landed is copied.
      assertTrue(of.leasedBytes > passedOn / 2, of.leasedBytes + " of " + passedOn);
      assertTrue(of.copiedBytes >= passedOn / 2, "sums are copied");
      // Eight calls are under way at most, of two sizes.
      assertTrue(of.regions > 0 && of.regions <= 16, of.regions + " regions");
    }
    for (int worker = 0; worker < WORKERS; worker++) {
      assertEquals(0, leased.transports.get(worker).leasedBytes);
      assertEquals(0, leased.transports.get(worker).regions);
    }
  }

  private static int count(int call) {
    return COUNTS[call * COUNTS.length / CALLS];
  }

  /** The results of a job, and what its ranks have counted. */
  private record Job(float[][][] sums, List<Counting> transports) {}

  private Job run(Repeatability repeatability, boolean leases) throws Exception {
    float[][][] sums = new float[CALLS][WORKERS][];
    Path memory = Files.createDirectories(directory.resolve("memory" + leases));
    Path place = Files.createTempDirectory(directory, "job");
    CallSettings calls =
        CallSettings.defaults()
            .withFrameLength(8 << 10)
            .withRepeatability(repeatability)
            .withTimeout(Duration.ofSeconds(60));
    List<Counting> transports = new ArrayList<>();
    List<Communicator> worlds = new ArrayList<>();
    ExecutorService joining = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<Communicator>> joined = new ArrayList<>();
      for (int rank = 0; rank < RANKS; rank++) {
        JobSettings settings =
            JobSettings.of(rank, RANKS, place.toUri())
                .withTransport("auto")
                .withMemoryDirectory(memory)
                .withHost(rank < WORKERS ? "worker-" + rank : "server")
                .withCalls(calls);
        joined.add(
            joining.submit(
                () ->
                    WrappedJobs.join(
                        settings,
                        transport -> {
                          Counting counting = new Counting(transport, leases);
                          synchronized (transports) {
                            transports.add(counting);
                          }
                          return counting;
                        })));
      }
      for (Future<Communicator> world : joined) {
        worlds.add(world.get(60, TimeUnit.SECONDS));
      }
      RankThreads.run(worlds, world -> take(world, sums));
    } finally {
      worlds.forEach(Communicator::close);
      joining.shutdown();
    }
    try (Stream<Path> left = Files.list(memory)) {
      assertEquals(List.of(), left.toList());
    }
    transports.sort((one, other) -> one.rank() - other.rank());
    return new Job(sums, transports);
  }

  /** Takes part in the calls, of which two are under way at a time. */
  private static void take(Communicator world, float[][][] sums) throws Exception {
    try (ParameterServers servers = ParameterServers.of(world, Roles.dedicated(RANKS, 1, 2))) {
      if (!servers.isWorker()) {
        servers.serve();
        return;
      }
      try (BufferReduction reduction = servers.reduction()) {
        CollectiveHandle before = null;
        for (int call = 0; call < CALLS; call++) {
          Random random = new Random(SEED + 31L * call + world.rank());
          float[] values = new float[count(call)];
          for (int i = 0; i < values.length; i++) {
            values[i] = random.nextFloat() - 0.5f;
          }
          sums[call][world.rank()] = values;
          CollectiveHandle handle = reduction.reduce(call, Payload.of(values), ReduceOp.SUM);
          if (before != null) {
            before.await();
          }
          before = handle;
        }
        Objects.requireNonNull(before).await();
      }
    }
  }

  /**
   * Counts the bytes of transfers between proxies: those that are leased, and those that are
   * copied.
   */
  private static final class Counting extends ForwardingTransport implements MemoryLeases {
    private final boolean leases;
    private @Nullable FrameSink sink;
    private @Nullable FrameSink counting;
    private long leasedBytes;
    private long copiedBytes;
    private int regions;

    Counting(Transport inner, boolean leases) {
      super(inner);
      this.leases = leases;
    }

    private MemoryLeases of() {
      return Objects.requireNonNull(inner.capability(MemoryLeases.class));
    }

    @Override
    public <C> @Nullable C capability(Class<C> kind) {
      if (kind != MemoryLeases.class) {
        return inner.capability(kind);
      }
      return leases && inner.capability(kind) != null ? kind.cast(this) : null;
    }

    @Override
    public boolean reaches(int peer) {
      return of().reaches(peer);
    }

    @Override
    public Region createRegion(int length, int[] peers) throws IOException {
      regions++;
      return of().createRegion(length, peers);
    }

    @Override
    public void viewBy(ViewSink to) {
      of().viewBy(
              (Link link, FrameHeader header, FrameBody body) -> {
                leasedBytes += header.length;
                to.view(link, header, body);
              });
    }

    @Override
    public int poll(FrameSink to) {
      if (to != sink) {
        sink = to;
        counting =
            new ForwardingSink(to) {
              @Override
              public void header(Link link, FrameHeader header) {
                if (header.kind == FrameHeader.Kind.DATA
                    && rank() >= WORKERS
                    && link.peer() >= WORKERS) {
                  copiedBytes += header.length;
                }
                super.header(link, header);
              }
            };
      }
      return inner.poll(Objects.requireNonNull(counting));
    }
  }
}
