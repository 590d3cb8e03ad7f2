package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Communicator;
import io.collectives.Explanation;
import io.collectives.Mesh;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Transfer;
import io.collectives.spi.Algorithms;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each TCP connection carries each way what the plan says, to the byte; and the plan's numbers are
 * the documented numbers, which the tests of the plans assert.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class LinkBytesTest {
  /** Of any plan here all chunks are equal. */
  private static final int COUNT = 5040;

  private static final List<Collective> COLLECTIVES =
      List.of(Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.BROADCAST);
  private static final List<WireType> NARROW =
      List.of(WireType.BFLOAT16, WireType.FLOAT16, WireType.INT8);

  @TempDir private Path directory;

  /** An algorithm for a number of ranks, of which the first so many have something to sum. */
  record Job(Algorithm algorithm, int ranks, int workers) {
    Job(Algorithm algorithm, int ranks) {
      this(algorithm, ranks, ranks);
    }

    String id() {
      return toString().replaceAll("[^a-z0-9]", "-");
    }

    @Override
    public String toString() {
      return algorithm.name() + " of " + ranks;
    }
  }

  static Stream<Job> jobs() {
    return Stream.concat(
        Algorithms.onClassPath().all().stream()
            .flatMap(
                spec ->
                    IntStream.of(4, 5)
                        .filter(spec::suits)
                        .mapToObj(ranks -> new Job(Algorithm.named(spec.name()), ranks))),
        Stream.of(
            new Job(Algorithm.parameterServer(2, 2), 5, 3),
            new Job(Algorithm.parameterServer(3, 2), 5, 3),
            new Job(Algorithm.parameterServer(4, 4, List.of(0, 1, 0, 1, 2, 2, 3, 3)), 8, 4),
            new Job(Algorithm.torus(Mesh.torus(3, 2)), 6),
            new Job(Algorithm.torus(Mesh.torus(3, 3)), 9),
            new Job(Algorithm.torus(new Mesh(4, 2, false, true)), 8)));
  }

  @ParameterizedTest
  @MethodSource("jobs")
  void linksCarryWhatThePlanSays(Job job) throws Exception {
    CountedTcp.Job counted =
        CountedTcp.run(
            directory,
            "bytes-" + job.id(),
            job.ranks(),
            job.algorithm(),
            world -> {
              for (Collective collective : COLLECTIVES) {
                call(world, collective, job.workers());
              }
            });
    for (int call = 0; call < COLLECTIVES.size(); call++) {
      assertSent(job, counted, call, WireType.AS_IN_MEMORY);
    }
  }

  /** A call has sent what the plan says: they are of all collectives, again and again. */
  private static void assertSent(Job job, CountedTcp.Job counted, int call, WireType wire) {
    Collective collective = COLLECTIVES.get(call % COLLECTIVES.size());
    long[][] expected = expected(job.algorithm(), collective, job.ranks());
    for (int from = 0; from < job.ranks(); from++) {
      for (int to = 0; to < job.ranks(); to++) {
        if (from != to) {
          long bytes = expected[from][to];
          assertEquals(
              collective == Collective.BROADCAST ? bytes : narrow(wire, bytes),
              counted.bytesSent(from, to, call),
              wire + ", " + collective + " from " + from + " to " + to);
        }
      }
    }
  }

  private static long narrow(WireType wire, long bytes) {
    return switch (wire) {
      case AS_IN_MEMORY -> bytes;
      case BFLOAT16, FLOAT16 -> bytes / 2;
      case INT8 -> bytes / 4 / 252 * 256; // Here 252 numbers of 8 bits fill a frame of 256 bytes.
    };
  }

  static Stream<Job> narrowJobs() {
    return Stream.of(
        new Job(Algorithm.ring(), 4),
        new Job(Algorithm.direct(), 4),
        new Job(Algorithm.direct(), 5),
        new Job(Algorithm.exchange(), 4));
  }

  /**
   * Narrow wire types take half the bytes of reductions, or a quarter and four bytes for each
   * frame, and of nothing else as much as before.
   */
  @ParameterizedTest
  @MethodSource("narrowJobs")
  void narrowNumbersTakeFewerBytes(Job job) throws Exception {
    CountedTcp.Job counted =
        CountedTcp.run(
            directory,
            "narrow-" + job.id(),
            job.ranks(),
            job.algorithm(),
            world -> {
              for (WireType wire : NARROW) {
                for (Collective collective : COLLECTIVES) {
                  call(world.using(wire), collective, job.workers());
                }
              }
            });
    for (int call = 0; call < NARROW.size() * COLLECTIVES.size(); call++) {
      assertSent(job, counted, call, NARROW.get(call / COLLECTIVES.size()));
    }
  }

  /** An explanation says how many bytes a rank sends. */
  @ParameterizedTest
  @EnumSource
  void explanationsTellWhatIsSent(WireType wire) throws Exception {
    int ranks = 3;
    AtomicLongArray said = new AtomicLongArray(ranks);
    CountedTcp.Job counted =
        CountedTcp.run(
            directory,
            "explained-" + wire,
            ranks,
            Algorithm.auto(),
            world -> {
              Communicator caller = world.using(wire);
              Explanation explanation = caller.explain((long) COUNT * Float.BYTES);
              assertEquals(wire, explanation.cost().wireType());
              said.set(world.rank(), explanation.cost().sentBytes());
              call(caller, Collective.ALL_REDUCE, ranks);
            });
    for (int from = 0; from < ranks; from++) {
      long bytes = 0;
      for (int to = 0; to < ranks; to++) {
        bytes += from == to ? 0 : counted.bytesSent(from, to);
      }
      assertEquals(bytes, said.get(from), "of rank " + from);
    }
  }

  private static void call(Communicator world, Collective collective, int workers) {
    float[] whole = new float[COUNT];
    Arrays.fill(whole, world.rank() + 1);
    float[] result =
        collective == Collective.REDUCE_SCATTER
            ? new float[(int) world.partCount(COUNT, world.rank())]
            : whole;
    switch (collective) {
      case ALL_REDUCE -> world.allReduce(whole, ReduceOp.SUM);
      case REDUCE_SCATTER -> world.reduceScatter(whole, result, ReduceOp.SUM);
      default -> world.broadcast(whole, 1);
    }
    // Dedicated servers have no part in what they sum; they only do so in all-reduces.
    int summed = collective == Collective.ALL_REDUCE ? workers : world.size();
    if (world.rank() >= summed) {
      return;
    }
    float[] expected = new float[result.length];
    int sum = summed * (summed + 1) / 2;
    Arrays.fill(expected, collective == Collective.BROADCAST ? 2 : sum);
    assertArrayEquals(expected, result, collective + " of rank " + world.rank());
  }

  private static long[][] expected(Algorithm algorithm, Collective collective, int ranks) {
    int root = collective == Collective.BROADCAST ? 1 : 0;
    Plan plan = Algorithms.onClassPath().plan(algorithm, new PlanRequest(collective, ranks, root));
    assertEquals(0, COUNT % plan.chunks(), "chunks are not equal");
    long bytesOfChunk = COUNT / plan.chunks() * (long) Float.BYTES;
    long[][] bytes = new long[ranks][ranks];
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        plan.transfers(
            lane,
            round,
            new Transfer.Sink() {
              @Override
              public void transfer(int from, int to, int first, int count, Effect effect) {
                bytes[from][to] += count * bytesOfChunk;
              }

              @Override
              public void relayed(int from, int by, int to, int first, int count, Effect effect) {
                transfer(from, by, first, count, effect);
                transfer(by, to, first, count, effect);
              }
            });
      }
    }
    return bytes;
  }
}
