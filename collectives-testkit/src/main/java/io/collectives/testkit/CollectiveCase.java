package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.testkit.TestPayload.Memory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A test case: one call of a collective other than the all-reduce, of inputs that depend on a seed.
 */
record CollectiveCase(JobShape job, Call call, Size size, Operand operand, Placement placement) {
  static final int PRIME = 251;
  private static final int[] FRAME_LENGTHS = {128, 384};
  private static final int[] SLABS_IN_FLIGHT = {1, 3};

  /** More than any two of the payloads that are taken from a {@link BufferPool}, with guards. */
  private static final int POOL_COUNT = 1 << 15;

  /** The collective of a call, with equal parts or with counts. */
  enum Kind {
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_COUNTS,
    ALL_GATHER,
    ALL_GATHER_COUNTS,
    GATHER,
    GATHER_COUNTS,
    SCATTER,
    SCATTER_COUNTS,
    ALL_TO_ALL,
    ALL_TO_ALL_COUNTS;

    boolean reduces() {
      return this == REDUCE || this == REDUCE_SCATTER || this == REDUCE_SCATTER_COUNTS;
    }

    boolean byCounts() {
      return name().endsWith("COUNTS");
    }
  }

  /**
   * The call.
   *
   * @param inPlace whether input and output are the same where they may be
   */
  record Call(Kind kind, int root, boolean async, boolean inPlace) {}

  /** About how many elements a payload has. */
  enum Size {
    NONE,
    ONE_LESS_THAN_RANKS,
    AS_MANY_AS_RANKS,
    ONE_MORE_THAN_RANKS,
    PRIME,
    MANY_SLABS;

    int count(JobShape job, ElementType type) {
      return switch (this) {
        case NONE -> 0;
        case ONE_LESS_THAN_RANKS -> job.ranks() - 1;
        case AS_MANY_AS_RANKS -> job.ranks();
        case ONE_MORE_THAN_RANKS -> job.ranks() + 1;
        case PRIME -> CollectiveCase.PRIME;
        case MANY_SLABS -> 3 * job.ranks() * (job.frameLength() / type.bytes()) + 3;
      };
    }
  }

  /** All pairs of choices for a number of ranks. */
  static List<CollectiveCase> of(int ranks) {
    int[] sizes = {
      FRAME_LENGTHS.length,
      SLABS_IN_FLIGHT.length,
      Kind.values().length,
      Math.min(ranks, 5),
      Size.values().length,
      ElementType.values().length,
      ReduceOp.Standard.values().length,
      2,
      2,
      Memory.values().length,
      2
    };
    List<CollectiveCase> cases = new ArrayList<>();
    for (int[] c : Pairs.cover(sizes, JobTest.SEED + ranks)) {
      cases.add(
          new CollectiveCase(
              new JobShape(ranks, FRAME_LENGTHS[c[0]], SLABS_IN_FLIGHT[c[1]]),
              new Call(
                  Kind.values()[c[2]],
                  ranks <= 5 ? c[3] : (c[3] * (ranks - 1)) / 4,
                  c[7] == 1,
                  c[8] == 1),
              Size.values()[c[4]],
              new Operand(
                  ElementType.values()[c[5]],
                  ReduceOp.Standard.values()[c[6]],
                  JobTest.SEED + cases.size()),
              new Placement(Memory.values()[c[9]], c[10] == 1)));
    }
    return cases;
  }

  /** The input of a call at each rank, and the output that it must have. */
  static final class Numbered {
    final CollectiveCase test;

    /** The number of elements of each rank, or from each rank to each in an all-to-all. */
    final long[] counts;

    final long[][] sent;
    final long[][] inputs;
    final long[] @Nullable [] expected;

    Numbered(CollectiveCase test) {
      this.test = test;
      int n = test.job.ranks();
      int total = test.size.count(test.job, test.operand.type());
      SplittableRandom random = new SplittableRandom(test.operand.seed());
      this.counts = deal(total, n, test.call.kind, random);
      this.sent = new long[n][];
      for (int rank = 0; rank < n; rank++) {
        sent[rank] = deal(total / n, n, test.call.kind, random);
      }
      this.inputs = new long[n][];
      this.expected = new long[n][];
      for (int rank = 0; rank < n; rank++) {
        int length =
            switch (test.call.kind) {
              case ALL_GATHER, ALL_GATHER_COUNTS, GATHER, GATHER_COUNTS -> (int) counts[rank];
              case ALL_TO_ALL_COUNTS -> (int) Arrays.stream(sent[rank]).sum();
              default -> (int) Arrays.stream(counts).sum();
            };
        inputs[rank] = test.operand.input(rank, length);
      }
      for (int rank = 0; rank < n; rank++) {
        expected[rank] = expected(rank);
      }
    }

    private static long[] deal(int total, int ranks, Kind kind, SplittableRandom random) {
      long[] counts = new long[ranks];
      for (int rank = 0; rank < ranks; rank++) {
        counts[rank] =
            switch (kind) {
              case GATHER, SCATTER -> total / ranks;
              default -> (long) total * (rank + 1) / ranks - (long) total * rank / ranks;
            };
      }
      if (kind.byCounts()) {
        // Take from some all that they have, and give it to others.
        for (int i = 0; i < ranks; i++) {
          int from = random.nextInt(ranks);
          int to = random.nextInt(ranks);
          long taken = random.nextBoolean() ? counts[from] : counts[from] / 3;
          counts[from] -= taken;
          counts[to] += taken;
        }
      }
      return counts;
    }

    int start(long[] of, int rank) {
      return (int) Arrays.stream(of, 0, rank).sum();
    }

    long[] receives(int rank) {
      return IntStream.range(0, test.job.ranks()).mapToLong(from -> sent[from][rank]).toArray();
    }

    /** Returns the output that a rank must have; null if it has none, or a reduction. */
    private long @Nullable [] expected(int rank) {
      return switch (test.call.kind) {
        case BROADCAST -> inputs[test.call.root];
        case REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_COUNTS -> null;
        case ALL_GATHER, ALL_GATHER_COUNTS -> all();
        case GATHER, GATHER_COUNTS -> rank == test.call.root ? all() : null;
        case SCATTER, SCATTER_COUNTS -> part(inputs[test.call.root], counts, rank);
        case ALL_TO_ALL ->
            concat(Arrays.stream(inputs).map(input -> part(input, counts, rank)).toList());
        case ALL_TO_ALL_COUNTS ->
            concat(
                IntStream.range(0, test.job.ranks())
                    .mapToObj(from -> part(inputs[from], sent[from], rank))
                    .toList());
      };
    }

    private long[] all() {
      return concat(List.of(inputs));
    }

    private long[] part(long[] whole, long[] of, int rank) {
      int start = start(of, rank);
      return Arrays.copyOfRange(whole, start, start + (int) of[rank]);
    }

    private static long[] concat(List<long[]> parts) {
      return parts.stream().flatMapToLong(Arrays::stream).toArray();
    }

    void check(long[] @Nullable [] results) {
      for (int rank = 0; rank < test.job.ranks(); rank++) {
        if (expected[rank] != null) {
          assertArrayEquals(expected[rank], results[rank], test + ", rank " + rank);
        }
        boolean isScatter = test.call.kind != Kind.REDUCE;
        if (test.call.kind.reduces() && (isScatter || rank == test.call.root)) {
          int from = isScatter ? start(counts, rank) : 0;
          int to = isScatter ? from + (int) counts[rank] : inputs[0].length;
          long[][] slices =
              Arrays.stream(inputs)
                  .map(input -> Arrays.copyOfRange(input, from, to))
                  .toArray(long[][]::new);
          long[] result = results[rank];
          assertEquals(to - from, result.length);
          try {
            Numbers.assertReduced(test.operand.type(), test.operand.op(), slices, result);
          } catch (AssertionError e) {
            throw new AssertionError(test + ", rank " + rank + ": " + e.getMessage(), e);
          }
        }
      }
    }
  }

  /** Makes calls of all pairs of choices in jobs of so many ranks. */
  static void checkAll(JobTest test, int ranks) throws Exception {
    Map<JobShape, List<Numbered>> byJob = new LinkedHashMap<>();
    for (CollectiveCase c : of(ranks)) {
      byJob.computeIfAbsent(c.job, key -> new ArrayList<>()).add(new Numbered(c));
    }
    for (Map.Entry<JobShape, List<Numbered>> job : byJob.entrySet()) {
      List<Numbered> cases = job.getValue();
      List<Communicator> worlds = job.getKey().open(test);
      long[][][] results = new long[cases.size()][ranks][];
      RankThreads.run(
          worlds,
          world -> {
            BufferPool pool = new BufferPool(world);
            for (int i = 0; i < cases.size(); i++) {
              try {
                results[i][world.rank()] = call(world, cases.get(i), pool);
              } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(cases.get(i).test + ": " + e, e);
              }
            }
          });
      for (int i = 0; i < cases.size(); i++) {
        cases.get(i).check(results[i]);
      }
      worlds.forEach(Communicator::close);
    }
  }

  /** Makes the call of a rank. Returns what it got, if anything. */
  static long @Nullable [] call(Communicator world, Numbered numbers, BufferPool pool) {
    CollectiveCase c = numbers.test;
    Call call = c.call;
    ElementType type = c.operand.type();
    pool.prepare(type, POOL_COUNT);
    int rank = world.rank();
    boolean isRoot = rank == call.root;
    long[] input = numbers.inputs[rank];
    long[] counts = numbers.counts;
    TestPayload source = new TestPayload(type, c.placement.of(rank), input.length, pool);
    source.fill(input);
    int outputCount =
        switch (call.kind) {
          case BROADCAST -> -1;
          case REDUCE -> isRoot && !call.inPlace ? input.length : -1;
          case REDUCE_SCATTER, REDUCE_SCATTER_COUNTS, SCATTER, SCATTER_COUNTS -> (int) counts[rank];
          case ALL_GATHER, ALL_GATHER_COUNTS -> (int) Arrays.stream(counts).sum();
          case GATHER, GATHER_COUNTS -> isRoot ? (int) Arrays.stream(counts).sum() : -1;
          case ALL_TO_ALL -> c.job.ranks() * (int) counts[rank];
          case ALL_TO_ALL_COUNTS -> (int) Arrays.stream(numbers.receives(rank)).sum();
        };
    TestPayload target =
        outputCount < 0
            ? source
            : new TestPayload(type, c.placement.of(rank + 1), outputCount, pool);
    Payload in = source.payload();
    Payload out = outputCount < 0 ? in : target.payload();
    if (call.async) {
      startCall(world, numbers, in, out).await();
    } else {
      makeCall(world, numbers, in, out);
    }
    source.assertGuards();
    target.assertGuards();
    if (target != source) {
      assertArrayEquals(input, source.bits(), "the input was written");
    } else if (call.kind != Kind.BROADCAST && !isRoot) {
      assertArrayEquals(input, source.bits(), "the input was written");
      return null;
    }
    return target.bits();
  }

  private static void makeCall(Communicator world, Numbered numbers, Payload in, Payload out) {
    Call call = numbers.test.call;
    ReduceOp.Standard op = numbers.test.operand.op();
    long[] counts = numbers.counts;
    int rank = world.rank();
    Payload atRoot = rank == call.root ? out : null;
    switch (call.kind) {
      case BROADCAST -> world.broadcast(in, call.root);
      case REDUCE -> world.reduce(in, atRoot, op, call.root);
      case REDUCE_SCATTER -> world.reduceScatter(in, out, op);
      case REDUCE_SCATTER_COUNTS -> world.reduceScatter(in, out, counts, op);
      case ALL_GATHER -> world.allGather(in, out);
      case ALL_GATHER_COUNTS -> world.allGather(in, out, counts);
      case GATHER -> world.gather(in, atRoot, call.root);
      case GATHER_COUNTS -> world.gather(in, atRoot, counts, call.root);
      case SCATTER -> world.scatter(rank == call.root ? in : null, out, call.root);
      case SCATTER_COUNTS -> world.scatter(rank == call.root ? in : null, out, counts, call.root);
      case ALL_TO_ALL -> world.allToAll(in, out);
      case ALL_TO_ALL_COUNTS -> world.allToAll(in, numbers.sent[rank], out, numbers.receives(rank));
    }
  }

  private static CollectiveHandle startCall(
      Communicator world, Numbered numbers, Payload in, Payload out) {
    Call call = numbers.test.call;
    ReduceOp.Standard op = numbers.test.operand.op();
    long[] counts = numbers.counts;
    int rank = world.rank();
    Payload atRoot = rank == call.root ? out : null;
    return switch (call.kind) {
      case BROADCAST -> world.async().broadcast(in, call.root);
      case REDUCE -> world.async().reduce(in, atRoot, op, call.root);
      case REDUCE_SCATTER -> world.async().reduceScatter(in, out, op);
      case REDUCE_SCATTER_COUNTS -> world.async().reduceScatter(in, out, counts, op);
      case ALL_GATHER -> world.async().allGather(in, out);
      case ALL_GATHER_COUNTS -> world.async().allGather(in, out, counts);
      case GATHER -> world.async().gather(in, atRoot, call.root);
      case GATHER_COUNTS -> world.async().gather(in, atRoot, counts, call.root);
      case SCATTER -> world.async().scatter(rank == call.root ? in : null, out, call.root);
      case SCATTER_COUNTS ->
          world.async().scatter(rank == call.root ? in : null, out, counts, call.root);
      case ALL_TO_ALL -> world.async().allToAll(in, out);
      case ALL_TO_ALL_COUNTS ->
          world.async().allToAll(in, numbers.sent[rank], out, numbers.receives(rank));
    };
  }
}
