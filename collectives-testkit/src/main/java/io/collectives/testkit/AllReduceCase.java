package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.testkit.TestPayload.Memory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A test case: one all-reduce of inputs that depend on a seed. */
record AllReduceCase(JobShape job, Size size, Operand operand, Style style, Placement placement) {
  static final int PRIME = 1009;
  private static final int[] FRAME_LENGTHS = {64, 256};
  private static final int[] SLABS_IN_FLIGHT = {1, 3};

  /** More than any of the payloads that are taken from a {@link BufferPool}, with guards. */
  private static final int POOL_COUNT = 1 << 14;

  /** The ways of making a call. */
  enum Style {
    IN_PLACE,
    OUT_OF_PLACE,
    ASYNC
  }

  /** The sizes of a call. */
  enum Size {
    NONE,
    ONE,
    ONE_LESS_THAN_RANKS,
    AS_MANY_AS_RANKS,
    ONE_MORE_THAN_RANKS,
    PRIME,
    MANY_SLABS;

    int count(JobShape job, ElementType type) {
      return switch (this) {
        case NONE -> 0;
        case ONE -> 1;
        case ONE_LESS_THAN_RANKS -> job.ranks() - 1;
        case AS_MANY_AS_RANKS -> job.ranks();
        case ONE_MORE_THAN_RANKS -> job.ranks() + 1;
        case PRIME -> AllReduceCase.PRIME;
        case MANY_SLABS -> 5 * job.ranks() * (job.frameLength() / type.bytes()) + 3;
      };
    }
  }

  int count() {
    return size.count(job, operand.type());
  }

  /** All pairs of choices for a number of ranks. */
  private static List<AllReduceCase> of(int ranks) {
    int[] sizes = {
      FRAME_LENGTHS.length,
      SLABS_IN_FLIGHT.length,
      Size.values().length,
      ElementType.values().length,
      ReduceOp.Standard.values().length,
      Style.values().length,
      Memory.values().length,
      2
    };
    List<AllReduceCase> cases = new ArrayList<>();
    for (int[] c : Pairs.cover(sizes, JobTest.SEED + ranks)) {
      cases.add(
          new AllReduceCase(
              new JobShape(ranks, FRAME_LENGTHS[c[0]], SLABS_IN_FLIGHT[c[1]]),
              Size.values()[c[2]],
              new Operand(
                  ElementType.values()[c[3]],
                  ReduceOp.Standard.values()[c[4]],
                  JobTest.SEED + cases.size()),
              Style.values()[c[5]],
              new Placement(Memory.values()[c[6]], c[7] == 1)));
    }
    return cases;
  }

  /** Makes calls of all pairs of choices in jobs of so many ranks. */
  static void checkAll(JobTest test, int ranks) throws Exception {
    Map<JobShape, List<AllReduceCase>> byJob = new LinkedHashMap<>();
    for (AllReduceCase c : of(ranks)) {
      byJob.computeIfAbsent(c.job, key -> new ArrayList<>()).add(c);
    }
    for (Map.Entry<JobShape, List<AllReduceCase>> job : byJob.entrySet()) {
      List<AllReduceCase> cases = job.getValue();
      List<Communicator> worlds = job.getKey().open(test);
      long[][][] inputs = new long[cases.size()][][];
      for (int i = 0; i < inputs.length; i++) {
        AllReduceCase c = cases.get(i);
        inputs[i] = c.operand.inputs(ranks, c.count());
      }
      long[][][] results = new long[cases.size()][ranks][];
      RankThreads.run(
          worlds,
          world -> {
            BufferPool pool = new BufferPool(world);
            int rank = world.rank();
            for (int i = 0; i < inputs.length; i++) {
              try {
                results[i][rank] = cases.get(i).reduce(world, inputs[i][rank], pool);
              } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(cases.get(i) + ": " + e, e);
              }
            }
          });
      for (int i = 0; i < inputs.length; i++) {
        try {
          Operand operand = cases.get(i).operand;
          Numbers.assertReduced(operand.type(), operand.op(), inputs[i], results[i][0]);
          assertSameOnAllRanks(results[i]);
        } catch (AssertionError e) {
          throw new AssertionError(cases.get(i) + ": " + e.getMessage(), e);
        }
      }
      worlds.forEach(Communicator::close);
    }
  }

  /** Makes the call of a rank. Returns what it got. */
  long[] reduce(Communicator world, long[] input, BufferPool pool) {
    ElementType type = operand.type();
    ReduceOp.Standard op = operand.op();
    pool.prepare(type, 2 * POOL_COUNT);
    TestPayload source = new TestPayload(type, placement.of(world.rank()), input.length, pool);
    source.fill(input);
    TestPayload target = source;
    switch (style) {
      case IN_PLACE -> source.allReduce(world, op);
      case ASYNC -> world.async().allReduce(source.payload(), op).await();
      case OUT_OF_PLACE -> {
        target = new TestPayload(type, placement.of(world.rank() + 1), input.length, pool);
        world.allReduce(source.payload(), target.payload(), op);
        assertArrayEquals(input, source.bits(), "the input was written");
      }
    }
    source.assertGuards();
    target.assertGuards();
    return target.bits();
  }

  static void assertSameOnAllRanks(long[][] results) {
    for (int rank = 1; rank < results.length; rank++) {
      assertArrayEquals(results[0], results[rank], "rank " + rank + " has other bits than rank 0");
    }
  }
}
