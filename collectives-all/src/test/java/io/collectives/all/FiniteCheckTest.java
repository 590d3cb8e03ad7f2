package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.NonFiniteException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.internal.ElementBuffer;
import io.collectives.spi.Algorithms;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Numbers that are not finite are found by any plan and over any kind of transport: all who are to
 * tell of them tell of the same, the result is what it is without a check, and the group is whole.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class FiniteCheckTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_122L);
  private static final double[] WRONG = {
    Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY
  };
  private static final List<ElementType> TYPES =
      Stream.of(ElementType.values()).filter(type -> !type.isInteger()).toList();

  private final List<Communicator> worlds = new ArrayList<>();
  @TempDir private Path directory;

  @AfterEach
  void close() {
    worlds.forEach(Communicator::close);
  }

  /** A job, with its transport and its plans. */
  record Job(String transport, Algorithm algorithm, int ranks) {
    @Override
    public String toString() {
      return transport + ", " + algorithm.name();
    }
  }

  static Stream<Job> jobs() {
    return Stream.concat(
        Algorithms.onClassPath().all().stream()
            .map(
                spec ->
                    new Job(
                        "inprocess",
                        Algorithm.named(spec.name()),
                        IntStream.of(6, 8).filter(spec::suits).findFirst().orElseThrow())),
        Stream.of(
            new Job("inprocess", Algorithm.auto(), 3),
            new Job("tcp", Algorithm.ring(), 4),
            new Job("shm", Algorithm.direct(), 4)));
  }

  @ParameterizedTest
  @MethodSource("jobs")
  void allNameTheSame(Job job) throws Exception {
    CallSettings settings =
        CallSettings.defaults()
            .withAlgorithm(job.algorithm)
            .withFrameLength(256)
            .withTimeout(Duration.ofSeconds(30));
    worlds.addAll(ThreadJobs.open(job.transport, job.ranks, directory, settings));
    ThreadJobs.run(worlds, world -> new Rank(world).run());
  }

  /** The contributor of a number that is not finite; or the rank is -1, and it is a result. */
  private record Culprit(int rank, int index, double value) {}

  /** The program of a rank, which makes the same cases as all others, from the same seed. */
  private static final class Rank {
    private final Communicator world;
    private final int ranks;
    private final int rank;
    private String what = "";

    Rank(Communicator world) {
      this.world = world;
      this.ranks = world.size();
      this.rank = world.rank();
    }

    void run() {
      culprits();
      overflow();
    }

    /** None to three at random places. */
    private void culprits() {
      Random random = new Random(SEED);
      for (int i = 0; i < 12; i++) {
        ElementType type = TYPES.get(i % TYPES.size());
        int count = i % 3 == 0 ? 1 + random.nextInt(ranks + 1) : 500 + random.nextInt(500);
        List<Culprit> culprits = new ArrayList<>();
        for (int k = 0; k < i % 4; k++) {
          double value = WRONG[random.nextInt(WRONG.length)];
          Culprit culprit = new Culprit(random.nextInt(ranks), random.nextInt(count), value);
          culprits.removeIf(c -> c.rank == culprit.rank && c.index == culprit.index);
          culprits.add(culprit);
        }
        Culprit lowest =
            culprits.stream()
                .min(Comparator.comparingInt(Culprit::rank).thenComparingInt(Culprit::index))
                .orElse(null);
        what = "case " + i + " of seed " + SEED + ", " + count + " " + type + ", " + culprits;
        allReduce(world, type, count, culprits, i % 3, lowest);
        reduce(type, count, culprits, lowest);
        reduceScatter(type, count, culprits, lowest);
      }
    }

    /** Results that are not finite come of finite numbers, or of narrow wires. */
    private void overflow() {
      Random random = new Random(SEED);
      int count = 600;
      for (ElementType type : TYPES) {
        double most = type.value(type.bits(Double.POSITIVE_INFINITY) - 1);
        int index = random.nextInt(count - 1);
        List<Culprit> large = new ArrayList<>();
        for (int from = 0; from < ranks; from++) {
          large.add(new Culprit(from, index, -most));
          large.add(new Culprit(from, count - 1, -most));
        }
        what = type + ", index " + index + " of seed " + SEED;
        Culprit sum = new Culprit(-1, index, Double.NEGATIVE_INFINITY);
        allReduce(world, type, count, large, 0, sum);
        reduce(type, count, large, sum);
        reduceScatter(type, count, large, sum);
      }
      int index = random.nextInt(count);
      List<Culprit> large = new ArrayList<>();
      for (int from = 0; from < ranks; from++) {
        large.add(new Culprit(from, index, 1e5));
      }
      what = "wires, index " + index + " of seed " + SEED;
      Culprit onTheWire = new Culprit(-1, index, Double.POSITIVE_INFINITY);
      ElementType type = ElementType.FLOAT32;
      allReduce(world, type, count, large, 0, null);
      allReduce(world.using(WireType.FLOAT16), type, count, large, 0, onTheWire);
      // Infinities that meet; the lower rank is named.
      Culprit up = new Culprit(2, index, Double.POSITIVE_INFINITY);
      Culprit down = new Culprit(0, index, Double.NEGATIVE_INFINITY);
      allReduce(world, type, count, List.of(up, down), 1, down);
      allReduce(world.using(WireType.INT8), type, count, List.of(up, down), 1, down);
    }

    private void allReduce(
        Communicator group,
        ElementType type,
        int count,
        List<Culprit> culprits,
        int memory,
        @Nullable Culprit expected) {
      TestPayload plain = new TestPayload(type, count, 0);
      plain.fill(culprits);
      group.allReduce(plain.payload, ReduceOp.AVERAGE);
      TestPayload source = new TestPayload(type, count, memory);
      source.fill(culprits);
      TestPayload target = memory == 0 ? new TestPayload(type, count, 0) : source;
      Communicator checking = group.checkingFinite();
      assertNamed(
          expected, () -> checking.allReduce(source.payload, target.payload, ReduceOp.AVERAGE));
      for (int i = 0; i < count; i++) {
        assertEquals(plain.get(i), target.get(i), what + ": another result than unchecked");
      }
    }

    /** Only the root tells. */
    private void reduce(
        ElementType type, int count, List<Culprit> culprits, @Nullable Culprit expected) {
      int root = count % ranks;
      TestPayload source = new TestPayload(type, count, 0);
      source.fill(culprits);
      Payload result = rank == root ? new TestPayload(type, count, 0).payload : null;
      assertNamed(
          rank == root ? expected : null,
          () -> world.checkingFinite().reduce(source.payload, result, ReduceOp.SUM, root));
    }

    /** All tell of contributions, only the owner of a part of results in it. */
    private void reduceScatter(
        ElementType type, int count, List<Culprit> culprits, @Nullable Culprit expected) {
      TestPayload source = new TestPayload(type, count, 0);
      source.fill(culprits);
      // Many parts are empty, which keeps nobody from knowing.
      long[] counts = new long[ranks];
      counts[ranks / 2] = count / 2;
      counts[ranks - 1] += count - count / 2;
      for (boolean even : new boolean[] {true, false}) {
        long start = even ? world.partStart(count, rank) : Arrays.stream(counts, 0, rank).sum();
        long length = even ? world.partCount(count, rank) : counts[rank];
        Culprit mine = expected;
        if (expected != null && expected.rank < 0) {
          // The lowest of the results here; the other one is the last of all.
          int last = count - 1;
          int lowest = expected.index >= start ? expected.index : last;
          boolean isHere = lowest >= start && lowest < start + length;
          mine = isHere ? new Culprit(-1, lowest, expected.value) : null;
        }
        Payload part = new TestPayload(type, (int) length, 0).payload;
        Communicator checking = world.checkingFinite();
        assertNamed(
            mine,
            () -> {
              if (even) {
                checking.reduceScatter(source.payload, part, ReduceOp.SUM);
              } else {
                checking.reduceScatter(source.payload, part, counts, ReduceOp.SUM);
              }
            });
      }
    }

    private void assertNamed(@Nullable Culprit expected, Runnable call) {
      Culprit named = null;
      String message = "nothing";
      try {
        call.run();
      } catch (NonFiniteException e) {
        named = new Culprit(e.worldRank(), (int) e.index(), e.value());
        message = e.getMessage();
      }
      assertEquals(expected, named, "rank " + rank + ", " + what + ": " + message);
    }

    /** Numbers in an array, a direct buffer, or one of the communicator. */
    private final class TestPayload {
      final Payload payload;
      private final int count;
      private final ElementBuffer elements;

      TestPayload(ElementType type, int count, int memory) {
        this.count = count;
        payload =
            switch (memory) {
              case 0 -> new Payload.OfArray(type, type.newArray(count), 0, count);
              case 1 ->
                  Payload.of(
                      ByteBuffer.allocateDirect(count * type.bytes())
                          .order(ByteOrder.nativeOrder()),
                      type);
              default -> Payload.of(world.allocate(type, count).bytes(), type);
            };
        elements = new ElementBuffer(payload);
      }

      /** Small whole numbers, and what this rank has of others. */
      void fill(List<Culprit> culprits) {
        for (int i = 0; i < count; i++) {
          set(i, (rank * 7 + i) % 23 - 11);
        }
        for (Culprit culprit : culprits) {
          if (culprit.rank == rank) {
            set(culprit.index, culprit.value);
          }
        }
      }

      private void set(int i, double value) {
        elements.setValue(i, value);
      }

      double get(int i) {
        return elements.value(i);
      }
    }
  }
}
