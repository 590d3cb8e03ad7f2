package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import io.collectives.testkit.ForwardingLink;
import io.collectives.testkit.ForwardingTransport;
import io.collectives.testkit.RankThreads;
import io.collectives.testkit.WrappedJobs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Exchanges without frames in groups of some ranks of a job that share memory. */
@Timeout(120)
class InlineGroupsTest {
  private static final int RANKS = 4;
  private static final int ROUNDS = 60;
  private static final CallSettings CALLS =
      CallSettings.defaults().withAlgorithm(Algorithm.exchange());

  @TempDir Path directory;

  /**
   * Groups that are split off the job, shrunk without a loss, and closed by each rank when it
   * likes; more of them than there are slots for.
   */
  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm", "mixed"})
  void messagesOfGroupsThatComeAndGoAreToldApart(String transport) throws Exception {
    long seed = System.nanoTime();
    System.out.println("seed " + seed);
    List<Communicator> worlds = ThreadJobs.open(transport, RANKS, directory, CALLS);
    RankThreads.run(worlds, world -> comeAndGo(world, seed));
    worlds.forEach(Communicator::close);
  }

  private static void comeAndGo(Communicator world, long seed) {
    Random common = new Random(seed);
    Random own = new Random(seed + 1 + world.rank());
    List<Communicator> groups = new ArrayList<>();
    List<Communicator> over = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      int[] colors = common.ints(RANKS, 0, 2).toArray();
      groups.add(world.split(colors[world.rank()], 0));
      List<long[]> sums = new ArrayList<>();
      List<long[]> expected = new ArrayList<>();
      List<CollectiveHandle> handles = new ArrayList<>();
      for (int call = 0; call < 6; call++) {
        int at = common.nextInt(groups.size() + 1);
        Communicator group = at == groups.size() ? world : groups.get(at);
        int salt = common.nextInt(1000);
        long[] array = new long[common.nextInt(3) > 0 ? 1 + common.nextInt(3) : length(common)];
        Arrays.fill(array, salt + 1000L * world.rank());
        long[] sum = new long[array.length];
        for (int rank = 0; rank < group.size(); rank++) {
          int worldRank = group.worldRank(rank);
          Arrays.setAll(sum, i -> sum[i] + salt + 1000L * worldRank);
        }
        sums.add(array);
        expected.add(sum);
        handles.add(group.async().allReduce(Payload.of(array), ReduceOp.SUM));
      }
      handles.forEach(CollectiveHandle::await);
      for (int i = 0; i < sums.size(); i++) {
        assertArrayEquals(expected.get(i), sums.get(i), "seed " + seed + ", round " + round);
      }
      if (common.nextInt(4) == 0) {
        world.barrier(); // Who shrinks a group aborts its calls.
        int at = common.nextInt(groups.size());
        over.add(groups.set(at, groups.get(at).shrink().group()));
      }
      if (common.nextInt(5) > 0) {
        over.add(groups.remove(common.nextInt(groups.size())));
      }
      if (!over.isEmpty() && own.nextBoolean()) {
        over.remove(own.nextInt(over.size())).close();
      }
    }
    world.barrier();
  }

  /** Returns a number of elements that is too long for slots. */
  private static int length(Random random) {
    return 1 + InlineExchange.CAPACITY / Long.BYTES + random.nextInt(16_000);
  }

  /**
   * A group of one color, and later those who are left of it; and a group that nobody announced.
   */
  @Test
  void groupsThatAreSplitSendNoFrames() throws Exception {
    AtomicInteger[] frames = new AtomicInteger[RANKS];
    List<Communicator> worlds = WrappedJobs.inProcess(RANKS, CALLS, counting(frames));
    RankThreads.run(
        worlds,
        world -> {
          AtomicInteger sent = frames[world.rank()];
          Communicator half = world.split(world.rank() % 2, 0);
          world.barrier();
          int before = sent.get();
          assertSum(half);
          assertParts(half);
          world.barrier();
          assertEquals(before, sent.get(), "of a split");
          Communicator left = half.shrink().group();
          world.barrier();
          before = sent.get();
          assertSum(left);
          world.barrier();
          assertEquals(before, sent.get(), "of survivors");
          assertSum(world.group(0, 1, 2, 3));
          world.barrier();
          assertNotEquals(before, sent.get(), "of a group that is made without a word");
        });
    worlds.forEach(Communicator::close);
  }

  @Test
  void groupsOfOneHostOfSeveralSendNoFrames() throws Exception {
    AtomicInteger[] frames = new AtomicInteger[RANKS];
    Path memory = Files.createDirectories(directory.resolve("memory"));
    List<Communicator> worlds =
        TcpJobs.join(
            RANKS,
            Files.createTempDirectory(directory, "job").toUri(),
            CALLS,
            job ->
                job.withTransport("auto")
                    .withMemoryDirectory(memory)
                    .withHost(MixedJobs.host(job.rank())),
            settings -> WrappedJobs.join(settings, counting(frames)));
    RankThreads.run(
        worlds,
        world -> {
          AtomicInteger sent = frames[world.rank()];
          Communicator host = world.split(world.rank() / 2, 0);
          Communicator across = world.split(world.rank() % 2, 0);
          world.barrier();
          int before = sent.get();
          assertSum(host);
          assertParts(host);
          long[] many = new long[10_000];
          Arrays.fill(many, 3);
          host.allReduce(many, ReduceOp.SUM);
          assertEquals(6, Arrays.stream(many).min().orElseThrow());
          assertEquals(6, Arrays.stream(many).max().orElseThrow());
          assertEquals(before, sent.get(), "of a host");
          world.barrier();
          before = sent.get();
          assertSum(across);
          assertNotEquals(before, sent.get(), "from host to host");
          world.barrier();
        });
    worlds.forEach(Communicator::close);
  }

  private static UnaryOperator<Transport> counting(AtomicInteger[] frames) {
    return inner -> new Counting(inner, frames[inner.rank()] = new AtomicInteger());
  }

  private static void assertSum(Communicator group) {
    for (int i = 0; i < 5; i++) {
      long[] one = {1, i};
      group.allReduce(one, ReduceOp.SUM);
      assertArrayEquals(new long[] {group.size(), (long) i * group.size()}, one);
    }
  }

  private static void assertParts(Communicator group) {
    float[] part = new float[InlineExchange.CAPACITY / Float.BYTES];
    Arrays.fill(part, group.rank() + 1);
    float[] all = new float[group.size() * part.length];
    group.allGather(part, all);
    for (int i = 0; i < all.length; i++) {
      assertEquals(1 + i / part.length, all[i]);
    }
    group.reduceScatter(all, part, ReduceOp.SUM);
    for (float sum : part) {
      assertEquals((group.rank() + 1) * group.size(), sum);
    }
  }

  /** Counts frames of calls. */
  private static final class Counting extends ForwardingTransport {
    private final AtomicInteger frames;

    Counting(Transport inner, AtomicInteger frames) {
      super(inner);
      this.frames = frames;
    }

    @Override
    public <C> @Nullable C capability(Class<C> kind) {
      return inner.capability(kind);
    }

    @Override
    public Link link(int peer) {
      return new ForwardingLink(inner.link(peer)) {
        @Override
        public boolean trySend(FrameHeader header, FrameBody body) {
          boolean taken = inner.trySend(header, body);
          if (taken && header.kind == FrameHeader.Kind.DATA) {
            frames.incrementAndGet();
          }
          return taken;
        }
      };
    }
  }
}
