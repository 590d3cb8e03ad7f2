package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.Bfloat16;
import io.collectives.BufferReduction;
import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.GradientReducer.Tensor;
import io.collectives.MismatchException;
import io.collectives.NonFiniteGradient;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.testkit.TestPayload.Memory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The contract of {@link GradientReducer}, whatever the transport. Extend this class with a method
 * that opens ranks.
 *
 * <p>Values are small integers, so that sums are exact and averages are divided once. Random models
 * depend on a seed that is part of every message, and that the system property {@code
 * collectives.seed} changes. Every rank has a thread of its own; a test that hangs fails and shows
 * where each rank is. No test waits for a time.
 *
 * <p>One class because it is one contract, whose tests share the random models.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class GradientReducerContractTest extends JobTest {

  /** Kinds of memory of a tensor. */
  private static final Memory[] KINDS = {Memory.RANGE, Memory.DIRECT, Memory.PARTS};

  /** In which the sums of the models are exact. */
  private static final List<ElementType> EXACT =
      Stream.of(ElementType.values()).filter(type -> type.bytes() > 1).toList();

  private static final FusionSettings SMALL =
      FusionSettings.defaults().withBufferLength(4000).withFirstBufferLength(400);

  /** For subclasses. */
  protected GradientReducerContractTest() {}

  @Override
  protected abstract List<Communicator> open(int ranks, CallSettings calls) throws Exception;

  /** Returns the number of random models to train. */
  protected abstract int models();

  private List<Communicator> ranks(int ranks) throws Exception {
    return job(ranks, CallSettings.defaults().withFrameLength(1024).withTimeout(PATIENCE));
  }

  // ------------------------------------------------------------------ random models

  /** A model, what each rank does with it, and how it is fused. */
  private record Model(
      long seed,
      int lanes,
      FusionSettings settings,
      List<ElementType> types,
      int[] counts,
      int[] stepsOfRanks,
      boolean declared) {

    static Model random(long seed) {
      Random random = new Random(seed);
      int ranks = 2 + random.nextInt(4);
      int tensors = 1 + random.nextInt(30);
      int steps = 2 + random.nextInt(3);
      boolean uneven = random.nextInt(3) == 0;
      boolean findUnused = random.nextInt(3) == 0;
      List<ElementType> types = new ArrayList<>();
      boolean mixed = random.nextBoolean();
      for (int i = 0; i < tensors; i++) {
        types.add(mixed ? EXACT.get(random.nextInt(EXACT.size())) : ElementType.FLOAT32);
      }
      return new Model(
          seed,
          1 + random.nextInt(4),
          new FusionSettings(
              random.nextBoolean() ? ReduceOp.SUM : ReduceOp.AVERAGE,
              1 + random.nextInt(3000),
              1 + random.nextInt(500),
              findUnused,
              uneven,
              random.nextBoolean()),
          types,
          IntStream.range(0, tensors)
              .map(i -> random.nextInt(4) == 0 ? random.nextInt(1200) : random.nextInt(40))
              .toArray(),
          IntStream.range(0, ranks).map(i -> uneven ? random.nextInt(steps + 1) : steps).toArray(),
          random.nextInt(3) == 0);
    }

    int ranks() {
      return stepsOfRanks.length;
    }

    boolean hasData(int rank, int step) {
      return step < stepsOfRanks[rank];
    }

    /** Returns whether a rank that has data uses a tensor. */
    boolean uses(int rank, int step, int tensor) {
      boolean always = !declared && !settings.findUnused();
      return always
          || new Random(seed + 31L * rank + 1009L * step + 77_777L * tensor).nextInt(4) > 0;
    }

    private boolean contributes(int rank, int step, int tensor) {
      return hasData(rank, step) && uses(rank, step, tensor);
    }

    int users(int step, int tensor) {
      return (int)
          IntStream.range(0, ranks()).filter(rank -> contributes(rank, step, tensor)).count();
    }

    int contributors(int step) {
      return (int) IntStream.range(0, ranks()).filter(rank -> hasData(rank, step)).count();
    }

    static long value(int rank, int step, int tensor, int index) {
      return (rank * 31L + step * 17L + tensor * 7L + index * 3L) % 101 - 50;
    }

    /** Returns the bits that a rank contributes. */
    long[] input(int rank, int step, int tensor) {
      return IntStream.range(0, counts[tensor])
          .mapToLong(i -> types.get(tensor).bits(value(rank, step, tensor, i)))
          .toArray();
    }

    /** Returns the value that all ranks must have. */
    double expected(int step, int tensor, int index) {
      long sum = 0;
      for (int rank = 0; rank < ranks(); rank++) {
        sum += contributes(rank, step, tensor) ? value(rank, step, tensor, index) : 0;
      }
      if (settings.op() == ReduceOp.SUM) {
        return sum;
      }
      ElementType type = types.get(tensor);
      return type.value(type.bits((double) sum / contributors(step)));
    }

    /** The tensors in an order that depends on the rank and the step. */
    List<Integer> order(int rank, int step) {
      List<Integer> order = new ArrayList<>(IntStream.range(0, counts.length).boxed().toList());
      Collections.reverse(order);
      Random random = new Random(seed * 31 + rank * 7L + step);
      if (random.nextInt(3) > 0) {
        Collections.shuffle(order, random);
      }
      return order;
    }
  }

  /** Random models, random orders on each rank in each step, unused tensors and uneven steps. */
  @Test
  void randomModels() throws Exception {
    for (int i = 0; i < models(); i++) {
      Model model = Model.random(SEED + i);
      try {
        RankThreads.run(ranks(model.ranks()), world -> train(world, model));
      } catch (Throwable e) {
        throw new AssertionError("with -Dcollectives.seed=" + (SEED + i) + ": " + model, e);
      }
      closeAll();
    }
  }

  private static void train(Communicator world, Model model) {
    BufferReduction reduction = BufferReduction.allReduce(world, model.lanes);
    try (GradientReducer reducer = GradientReducer.of(world, model.settings, reduction)) {
      int rank = world.rank();
      List<TestPayload> cells = new ArrayList<>();
      List<Tensor> tensors = new ArrayList<>();
      Random random = new Random(model.seed ^ rank);
      for (int i = 0; i < model.counts.length; i++) {
        Memory kind = KINDS[random.nextInt(KINDS.length)];
        TestPayload cell = new TestPayload(model.types.get(i), kind, model.counts[i]);
        cells.add(cell);
        tensors.add(reducer.register("t" + i, cell.payload()));
      }
      int step = 0;
      for (; step < model.stepsOfRanks[rank]; step++) {
        for (int tensor : model.order(rank, step)) {
          if (model.uses(rank, step, tensor)) {
            cells.get(tensor).fill(model.input(rank, step, tensor));
            reducer.ready(tensors.get(tensor));
          } else if (model.declared) {
            reducer.unused(tensors.get(tensor));
          }
        }
        reducer.await();
        check(model, step, reducer, cells, tensors);
      }
      if (model.settings.uneven()) {
        for (; reducer.join(); step++) {
          check(model, step, reducer, cells, tensors);
        }
      }
      assertEquals(Arrays.stream(model.stepsOfRanks).max().orElseThrow(), step);
      assertEquals(step, reducer.completedSteps());
    }
  }

  private static void check(
      Model model,
      int step,
      GradientReducer reducer,
      List<TestPayload> cells,
      List<Tensor> tensors) {
    assertEquals(model.contributors(step), reducer.contributors());
    for (int tensor = 0; tensor < cells.size(); tensor++) {
      long[] bits = cells.get(tensor).bits();
      for (int i = 0; i < bits.length; i++) {
        double expected = model.expected(step, tensor, i);
        double found = model.types.get(tensor).value(bits[i]);
        if (expected != found) {
          throw new AssertionError(
              "step " + step + ", t" + tensor + "[" + i + "]: " + found + ", not " + expected);
        }
      }
      cells.get(tensor).assertGuards();
      if (model.settings.findUnused()) {
        assertEquals(model.users(step, tensor), reducer.usedBy(tensors.get(tensor)));
      }
    }
  }

  // ------------------------------------------------------------------ overlap and order

  private static final int TENSORS = 8;
  private static final int COUNT = 100;

  /** Eight tensors of 100 floats, a buffer each. */
  private static final class Job {
    final int rank;
    final float[][] gradients = new float[TENSORS][COUNT];
    final List<Tensor> tensors = new ArrayList<>();
    final GradientReducer reducer;

    Job(Communicator world, FusionSettings settings, int lanes) {
      this(world, settings, BufferReduction.allReduce(world, lanes));
    }

    Job(Communicator world, FusionSettings settings, BufferReduction reduction) {
      rank = world.rank();
      reducer = GradientReducer.of(world, settings, reduction);
      for (int i = 0; i < TENSORS; i++) {
        tensors.add(reducer.register("layer" + i, Payload.of(gradients[i])));
      }
    }

    void ready(int tensor) {
      Arrays.fill(gradients[tensor], rank + tensor);
      reducer.ready(tensors.get(tensor));
    }

    /** Makes the tensors ready that a predicate wants. */
    void ready(IntPredicate wanted) {
      IntStream.range(0, TENSORS).filter(wanted).forEach(this::ready);
    }

    void step() {
      ready(tensor -> true);
      reducer.await();
    }

    void awaitReduced(int tensor) {
      long deadline = System.nanoTime() + PATIENCE.toNanos();
      while (!reducer.isReduced(tensors.get(tensor))) {
        assertTrue(System.nanoTime() < deadline, "layer" + tensor + " is never reduced");
        LockSupport.parkNanos(1_000_000);
      }
    }

    void checkSum(int tensor, int ranks) {
      float[] sum = new float[COUNT];
      Arrays.fill(sum, ranks * (ranks - 1) / 2 + ranks * tensor);
      assertArrayEquals(sum, gradients[tensor], "layer" + tensor);
    }

    void checkAllSums(int ranks) {
      for (int i = 0; i < TENSORS; i++) {
        checkSum(i, ranks);
      }
    }
  }

  private static final FusionSettings A_BUFFER_EACH =
      FusionSettings.defaults()
          .withOp(ReduceOp.SUM)
          .withBufferLength(4 * COUNT)
          .withFirstBufferLength(4 * COUNT);

  /** The first buffer is summed while the last tensor is still being computed. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void reductionsRunBesideTheBackwardPass(int lanes) throws Exception {
    RankThreads.run(
        ranks(3),
        world -> {
          Job job = new Job(world, A_BUFFER_EACH, lanes);
          job.step();
          job.ready(tensor -> tensor < TENSORS - 1);
          for (int i = 0; i < TENSORS - 1; i++) {
            job.awaitReduced(i);
            job.checkSum(i, 3);
          }
          assertFalse(job.reducer.isReduced(job.tensors.get(TENSORS - 1)));
          job.ready(TENSORS - 1);
          job.reducer.await();
          job.checkAllSums(3);
          job.reducer.close();
        });
  }

  /** A buffer does not wait for one of another lane. */
  @Test
  void buffersOvertake() throws Exception {
    RankThreads.run(
        ranks(2),
        world -> {
          Job job = new Job(world, A_BUFFER_EACH, 2);
          job.step();
          job.ready(tensor -> tensor % 2 == 1);
          for (int i = 1; i < TENSORS; i += 2) {
            job.awaitReduced(i);
            job.checkSum(i, 2);
          }
          job.ready(tensor -> tensor % 2 == 0);
          job.reducer.await();
          job.checkAllSums(2);
          job.reducer.close();
        });
  }

  /** Rank 0 goes forward, the others backward, so that each has what the other needs later. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8})
  void oppositeOrdersDoNotDeadlock(int lanes) throws Exception {
    RankThreads.run(
        ranks(3),
        world -> {
          Job job = new Job(world, A_BUFFER_EACH, lanes);
          for (int step = 0; step < 5; step++) {
            for (int i = 0; i < TENSORS; i++) {
              job.ready(world.rank() == 0 ? i : TENSORS - 1 - i);
            }
            job.reducer.await();
            job.checkAllSums(3);
          }
          job.reducer.close();
        });
  }

  /**
   * Random culprits and another order on each rank: all ranks name the same gradient, so all skip
   * the same steps and end with the same scale. One that has no data is no exception.
   */
  @Test
  void allRanksSkipTheSameSteps() throws Exception {
    RankThreads.run(
        ranks(3),
        world -> {
          skipSteps(world, A_BUFFER_EACH, 1);
          skipSteps(world, A_BUFFER_EACH.withBufferLength(1200).withUneven(true), 2);
        });
  }

  private static void skipSteps(Communicator world, FusionSettings settings, int lanes) {
    int steps = 8;
    Job job = new Job(world.checkingFinite(), settings, lanes);
    float scale = 1024;
    for (int step = 0; step < steps; step++) {
      Random random = new Random(SEED + step);
      int culprits = step % 3;
      NonFiniteGradient expected = null;
      int contributors = settings.uneven() && step == steps - 1 ? 2 : 3;
      for (int rank = contributors - 1; rank >= contributors - culprits; rank--) {
        int tensor = random.nextInt(TENSORS);
        int index = random.nextInt(COUNT);
        expected = new NonFiniteGradient(rank, "layer" + tensor, index, Double.POSITIVE_INFINITY);
        if (rank == world.rank()) {
          job.gradients[tensor][index] = Float.POSITIVE_INFINITY;
        }
      }
      if (world.rank() < contributors) {
        List<Tensor> order = new ArrayList<>(job.tensors);
        Collections.shuffle(order, new Random(SEED + 31L * world.rank() + step));
        order.forEach(job.reducer::ready);
        job.reducer.await();
      } else {
        assertTrue(job.reducer.join());
      }
      assertEquals(
          Optional.ofNullable(expected),
          job.reducer.nonFinite(),
          "step " + step + ", seed " + SEED);
      if (job.reducer.nonFinite().isPresent()) {
        scale /= 2;
      }
      for (float[] gradient : job.gradients) {
        Arrays.fill(gradient, scale);
      }
    }
    assertEquals(steps, job.reducer.completedSteps());
    float[] scales = {scale};
    world.allReduce(scales, ReduceOp.MAX);
    assertEquals(scale, scales[0]);
    assertEquals(1024f / 32, scale, "5 of 8 steps have a culprit");
    job.reducer.close();
  }

  /** All-reduces in eight lanes that say otherwise, or do not begin at once. */
  private record Lanes(BufferReduction all, int lanes, CountDownLatch mayBegin)
      implements BufferReduction {
    Lanes(Communicator group, int lanes, CountDownLatch mayBegin) {
      this(BufferReduction.allReduce(group, TENSORS), lanes, mayBegin);
    }

    @Override
    public CollectiveHandle reduce(int index, Payload buffer, ReduceOp op) {
      try {
        assertTrue(mayBegin.await(PATIENCE.toSeconds(), TimeUnit.SECONDS));
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      return all.reduce(index, buffer, op);
    }

    @Override
    public void abort(String reason) {
      all.abort(reason);
    }

    @Override
    public void close() {
      all.close();
    }
  }

  /**
   * With int8 on the wires, what rounding takes in one step is added in the next, wherever the
   * gradients lie by then; tensors of other types cross as they are.
   */
  @Test
  void whatIsLostInOneStepIsMadeUpForInTheNext() throws Exception {
    int steps = 40;
    int count = 500;
    int ranks = 2;
    float[][] gradients = new float[ranks][count];
    Random random = new Random(SEED);
    for (float[] of : gradients) {
      for (int i = 0; i < count; i++) {
        of[i] = random.nextFloat() - 0.5f;
      }
    }
    List<Communicator> worlds =
        job(
            ranks,
            CallSettings.defaults()
                .withTimeout(PATIENCE)
                .withAlgorithm(Algorithm.direct())
                .withWireType(WireType.INT8));
    RankThreads.run(
        worlds,
        world -> {
          double[] sums = new double[count];
          short[] others = new short[count];
          try (GradientReducer reducer = GradientReducer.of(world, FusionSettings.defaults())) {
            float[] memory = new float[2 * count];
            Tensor tensor =
                reducer.register("runs", Payload.strided(Payload.of(memory), 0, count, 1, 2));
            Tensor other = reducer.register("narrow", Payload.of(others, ElementType.BFLOAT16));
            for (int step = 0; step < steps; step++) {
              int stride = step < steps / 2 ? 2 : 1;
              for (int i = 0; i < count; i++) {
                memory[stride * i] = gradients[world.rank()][i];
              }
              Arrays.fill(others, Bfloat16.of(3 + 2 * world.rank()));
              if (step == steps / 2) {
                reducer.ready(tensor, Payload.of(memory, 0, count));
              } else {
                reducer.ready(tensor);
              }
              reducer.ready(other);
              reducer.await();
              for (int i = 0; i < count; i++) {
                sums[i] += memory[stride * i];
                assertEquals(Bfloat16.of(4), others[i]);
              }
            }
          }
          double worst = 0;
          for (int i = 0; i < count; i++) {
            double exact = steps * ((double) gradients[0][i] + gradients[1][i]) / 2;
            worst = Math.max(worst, Math.abs(sums[i] - exact));
          }
          // What is still kept: a rounding of each contribution and one of the average. Without
          // error feedback it would be many times as much.
          assertTrue(worst < 3 * 0.5 / 127, "off by " + worst);
        });
  }

  @Test
  void aTensorHasOneType() throws Exception {
    try (GradientReducer reducer = GradientReducer.of(ranks(1).get(0), FusionSettings.defaults())) {
      Payload floats = Payload.of(new float[2]);
      Payload several = Payload.of(List.of(floats, Payload.of(new long[2])));
      String message =
          Kit.message(
              assertThrows(IllegalArgumentException.class, () -> reducer.register("w", several)));
      assertTrue(message.contains("\"w\" of [float32, int64]"), message);
      Tensor tensor = reducer.register("w", floats);
      assertThrows(IllegalArgumentException.class, () -> reducer.ready(tensor, several));
      reducer.ready(tensor);
      reducer.await();
    }
  }

  /** A reduction that takes buffers in any order gets them in any order. */
  @Test
  void withoutLanesNoBufferWaits() throws Exception {
    RankThreads.run(
        ranks(2),
        world -> {
          BufferReduction any = new Lanes(world, Integer.MAX_VALUE, new CountDownLatch(0));
          Job job = new Job(world, A_BUFFER_EACH, any);
          job.step();
          for (int i = TENSORS - 1; i > 0; i--) {
            job.ready(i);
            job.awaitReduced(i);
            job.checkSum(i, 2);
          }
          job.ready(0);
          job.reducer.await();
          job.checkAllSums(2);
          assertThrows(IllegalStateException.class, () -> job.reducer.on(world));
          GradientReducer next =
              job.reducer.on(world, new Lanes(world, Integer.MAX_VALUE, new CountDownLatch(0)));
          assertEquals(2, next.completedSteps());
          assertThrows(
              IllegalStateException.class,
              () -> next.register("late", Payload.of(new int[1])),
              "the order is that of the other tensors");
          job.tensors.forEach(next::ready);
          next.await();
          next.close();
        });
  }

  /** Other calls on the group and two reducers side by side need no common order. */
  @Test
  void otherCallsMayComeBetween() throws Exception {
    RankThreads.run(
        ranks(2),
        world -> {
          Job one = new Job(world, A_BUFFER_EACH, 2);
          Job two = new Job(world, A_BUFFER_EACH, 2);
          for (int step = 0; step < 3; step++) {
            one.ready(world.rank());
            two.ready(5 - world.rank());
            float[] loss = {1};
            world.allReduce(loss, ReduceOp.SUM);
            assertEquals(2, loss[0]);
            one.ready(tensor -> tensor != world.rank());
            two.ready(tensor -> tensor != 5 - world.rank());
            one.reducer.await();
            two.reducer.await();
            one.checkAllSums(2);
            two.checkAllSums(2);
          }
          one.reducer.close();
          two.reducer.close();
        });
  }

  @Test
  void severalThreadsMakeTensorsReady() throws Exception {
    int threads = 4;
    RankThreads.run(
        ranks(2),
        world -> {
          Job job = new Job(world, A_BUFFER_EACH, 2);
          for (int step = 0; step < 20; step++) {
            List<Thread> pass = new ArrayList<>();
            CyclicBarrier start = new CyclicBarrier(threads);
            for (int i = 0; i < threads; i++) {
              int mine = i;
              Thread thread =
                  new Thread(
                      () -> {
                        try {
                          start.await();
                        } catch (Exception e) {
                          throw new AssertionError(e);
                        }
                        job.ready(tensor -> tensor % threads == mine);
                      });
              pass.add(thread);
              thread.start();
            }
            for (Thread thread : pass) {
              thread.join();
            }
            job.reducer.await();
            job.checkAllSums(2);
          }
          job.reducer.close();
        });
  }

  @Test
  void gradientsMayMove() throws Exception {
    RankThreads.run(
        ranks(2),
        world -> {
          float[] small = new float[3];
          try (GradientReducer reducer = GradientReducer.of(world, SMALL)) {
            Tensor moving = reducer.register("moving", Payload.of(new float[10]));
            Tensor fixed = reducer.register("fixed", Payload.of(small));
            for (int step = 0; step < 3; step++) {
              float[] gradients = new float[10];
              Arrays.fill(gradients, world.rank() + step);
              Arrays.fill(small, world.rank());
              reducer.ready(fixed);
              reducer.ready(moving, Payload.of(gradients));
              reducer.await();
              assertEquals(0.5f + step, gradients[9]);
              assertEquals(0.5f, small[2]);
            }
          }
        });
  }

  /** Rank 0's order makes the buffers, whatever order others have. */
  @Test
  void buffersAreInRankZerosOrder() throws Exception {
    String[] layouts = new String[2];
    RankThreads.run(
        ranks(2),
        world -> {
          try (GradientReducer reducer =
              GradientReducer.of(
                  world,
                  FusionSettings.defaults().withBufferLength(100).withFirstBufferLength(40))) {
            Tensor[] tensors = new Tensor[4];
            for (int i = 0; i < 4; i++) {
              tensors[i] = reducer.register("t" + i, Payload.of(new float[i == 1 ? 50 : 8]));
            }
            for (int i : world.rank() == 0 ? new int[] {2, 0, 3, 1} : new int[] {1, 3, 0, 2}) {
              reducer.ready(tensors[i]);
            }
            reducer.await();
            layouts[world.rank()] =
                reducer.toString().replace("rank " + world.rank() + " of", "rank of");
          }
        });
    assertEquals(layouts[0], layouts[1]);
    // t2 alone in the short first one, t0 and t3 together, t1 alone because it is long.
    assertTrue(layouts[0].endsWith("3 buffers of 32 + 64 + 200 bytes"), layouts[0]);
  }

  /** A tensor lies in two balanced buffers, and one buffer is reduced before the tensor is. */
  @Test
  void balancedBuffersCutTensors() throws Exception {
    RankThreads.run(
        ranks(2),
        world -> {
          Job job = new Job(world, A_BUFFER_EACH.withBalanced(true).withBufferLength(600), 2);
          job.step();
          job.checkAllSums(2);
          assertTrue(
              job.reducer
                  .toString()
                  .endsWith("6 buffers of 600 + 600 + 600 + 600 + 600 + 200 bytes"),
              job.reducer.toString());
          // The first buffer has all of layer 0 and half of layer 1; the second one lacks layer 2.
          job.ready(0);
          float[] other = new float[COUNT]; // From now on, in both buffers.
          Arrays.fill(other, job.rank + 1);
          job.reducer.ready(job.tensors.get(1), Payload.of(other));
          job.gradients[1] = other;
          job.awaitReduced(0);
          job.checkSum(0, 2);
          assertFalse(job.reducer.isReduced(job.tensors.get(1)));
          job.ready(tensor -> tensor > 1);
          job.reducer.await();
          job.checkAllSums(2);
          assertEquals(
              "3200 bytes of 8 tensors in 6 balanced buffers of up to 600 bytes: as it was set",
              job.reducer.explain());
          job.reducer.close();
        });
  }

  /**
   * The length of balanced buffers is the one that the reduction prefers, unless the settings have
   * one; a buffer holds at least one element.
   */
  @Test
  void balancedBuffersAreAsLongAsTheReductionSays() throws Exception {
    RankThreads.run(
        ranks(2),
        world -> {
          FusionSettings settings = FusionSettings.balancedBuffers().withOp(ReduceOp.SUM);
          Job job = new Job(world, settings, 2);
          assertEquals("not known before the end of the first step", job.reducer.explain());
          job.step();
          int length = FusionSettings.defaults().bufferLength();
          assertTrue(job.reducer.explain().contains("in 1 balanced buffers of up to " + length));
          job.reducer.close();
          Job tiny = new Job(world, settings.withBufferLength(1), 2);
          tiny.step();
          tiny.checkAllSums(2);
          tiny.reducer.close();
        });
  }

  // ------------------------------------------------------------------ errors

  /** The mistakes of a rank, with the error that all ranks get. */
  enum Mistake {
    NEVER_READY("\"layer5\"", AbortedException.class),
    TWICE("\"layer2\"", AbortedException.class),
    OTHER_SIZE("\"layer3\"", AbortedException.class),
    OTHER_TYPE("\"layer4\"", AbortedException.class),
    JOIN_TOO_LATE("join()", AbortedException.class),
    ABORT("no more disk", AbortedException.class),
    INTERRUPT("interrupted", AbortedException.class);

    private final String names;
    private final Class<? extends CollectiveException> type;

    Mistake(String names, Class<? extends CollectiveException> type) {
      this.names = names;
      this.type = type;
    }

    private void make(Job job) {
      switch (this) {
        case NEVER_READY -> job.ready(tensor -> tensor != 5);
        case TWICE -> {
          job.ready(tensor -> tensor < 6);
          job.ready(2);
        }
        case OTHER_SIZE -> job.reducer.ready(job.tensors.get(3), Payload.of(new float[COUNT + 1]));
        case OTHER_TYPE -> job.reducer.ready(job.tensors.get(4), Payload.of(new int[COUNT]));
        case JOIN_TOO_LATE -> {
          job.ready(1);
          job.reducer.join();
        }
        case ABORT -> {
          job.ready(tensor -> tensor < 3);
          job.reducer.abort("no more disk");
        }
        case INTERRUPT -> {
          job.ready(tensor -> tensor < 3);
          Thread.currentThread().interrupt();
          job.ready(tensor -> tensor >= 3);
        }
      }
      job.reducer.await();
    }
  }

  /**
   * Every rank gets the same error, though the culprit leaves at once; and the group is still
   * whole.
   */
  @ParameterizedTest
  @EnumSource
  void mistakesAreKnownToAll(Mistake mistake) throws Exception {
    int ranks = 4;
    for (int culprit : new int[] {0, ranks - 1}) {
      int steps = culprit == 0 ? 2 : 0;
      String[] messages = new String[ranks];
      CountDownLatch told = new CountDownLatch(1);
      RankThreads.run(
          ranks(ranks),
          world -> {
            Job job = new Job(world, A_BUFFER_EACH.withUneven(mistake == Mistake.JOIN_TOO_LATE), 2);
            CollectiveException error =
                assertThrows(
                    CollectiveException.class,
                    () -> {
                      // It may strike while others are still at the end of the step before.
                      for (int i = 0; i < steps; i++) {
                        job.step();
                      }
                      if (world.rank() == culprit) {
                        try {
                          mistake.make(job);
                        } finally {
                          told.countDown();
                        }
                      } else {
                        job.ready(tensor -> tensor < TENSORS - 1);
                        if (mistake == Mistake.INTERRUPT) {
                          // Or all might be reduced before the culprit has to wait.
                          told.await();
                        }
                        job.ready(TENSORS - 1);
                        job.reducer.await();
                      }
                    });
            Thread.interrupted();
            assertInstanceOf(mistake.type, error);
            messages[world.rank()] = error.getMessage();
            assertEquals(
                error, assertThrows(CollectiveException.class, () -> job.ready(0)), "for good");
            job.reducer.close();
            Job again = new Job(world, A_BUFFER_EACH, 2);
            again.step();
            again.checkAllSums(ranks);
            again.reducer.close();
          });
      for (String message : messages) {
        assertEquals(messages[culprit], message);
        assertTrue(message.contains(mistake.names), message);
        assertTrue(message.contains("rank " + culprit), message);
      }
      closeAll();
    }
  }

  /** Each difference in the tensors of rank 1 is reported. */
  @ParameterizedTest
  @CsvSource({
    "name, \"other\" of 10 elements of float32, \"b\" of 10 elements of float32",
    "type, \"b\" of 10 elements of int32, \"b\" of 10 elements of float32",
    "count, \"b\" of 11 elements of float32, \"b\" of 10 elements of float32",
    "missing, no more tensors, \"b\" of 10 elements of float32",
    "settings, bufferLength=1, bufferLength=4000"
  })
  void differencesAreKnownToAll(String what, String here, String there) throws Exception {
    int ranks = 3;
    String[] messages = new String[ranks];
    CountDownLatch left = new CountDownLatch(1);
    RankThreads.run(
        ranks(ranks),
        world -> {
          boolean other = world.rank() == 1;
          GradientReducer reducer =
              GradientReducer.of(
                  world,
                  other && what.equals("settings") ? SMALL.withBufferLength(1) : SMALL,
                  // Whoever gets as far as this finds the other one gone.
                  new Lanes(world, 2, left));
          List<Tensor> tensors = new ArrayList<>();
          tensors.add(reducer.register("a", Payload.of(new double[3])));
          if (!other || !what.equals("missing")) {
            Payload payload =
                other && what.equals("type")
                    ? Payload.of(new int[10])
                    : Payload.of(new float[other && what.equals("count") ? 11 : 10]);
            tensors.add(reducer.register(other && what.equals("name") ? "other" : "b", payload));
          }
          tensors.forEach(reducer::ready);
          CollectiveException error = assertThrows(CollectiveException.class, reducer::await);
          assertInstanceOf(MismatchException.class, error);
          messages[world.rank()] = error.getMessage();
          reducer.close();
          if (other) {
            left.countDown();
          }
        });
    for (String message : messages) {
      assertEquals(messages[1], message);
      assertTrue(message.contains("rank 1 has ") && message.contains("rank 0 has "), message);
      assertTrue(message.contains(here) && message.contains(there), message);
    }
  }

  @Test
  void misuseIsRefused() throws Exception {
    RankThreads.run(
        ranks(1),
        world -> {
          Job job = new Job(world, A_BUFFER_EACH, 1);
          assertThrows(
              IllegalArgumentException.class,
              () -> job.reducer.register("a\nb", Payload.of(new int[1])));
          assertThrows(IllegalStateException.class, job.reducer::join);
          job.step();
          job.checkAllSums(1);
          assertThrows(
              IllegalStateException.class,
              () -> job.reducer.register("late", Payload.of(new int[1])));
          assertThrows(IllegalStateException.class, () -> job.reducer.usedBy(job.tensors.get(0)));
          Job other = new Job(world, A_BUFFER_EACH, 1);
          assertThrows(
              IllegalArgumentException.class, () -> job.reducer.ready(other.tensors.get(0)));
          assertThrows(IllegalArgumentException.class, () -> BufferReduction.allReduce(world, 0));
          assertThrows(
              IllegalArgumentException.class,
              () -> BufferReduction.allReduce(world, BufferReduction.MOST_LANES + 1));
          job.step();
          job.reducer.close();
          job.reducer.close();
          assertThrows(CollectiveException.class, job::step);
        });
  }

  // ------------------------------------------------------------------ failures

  /**
   * A rank dies in the middle of a step; the others learn that it did, and repeat the step on what
   * is left. The dead one may be rank 0, whose order was known.
   */
  @ParameterizedTest
  @CsvSource({"0, 0", "0, 2", "3, 0", "3, 2"})
  void survivorsGoOn(int victim, int after) throws Exception {
    int ranks = 4;
    int steps = 5;
    RankThreads.run(
        ranks(ranks),
        world -> {
          Job job = new Job(world, A_BUFFER_EACH, 2);
          GradientReducer reducer = job.reducer;
          Communicator group = world;
          for (long step = 0; step < steps; ) {
            try {
              for (int i = 0; i < TENSORS; i++) {
                Arrays.fill(job.gradients[i], job.rank + i + step);
                if (i == 3 && job.rank == victim && step == after) {
                  world.close();
                  return;
                }
                reducer.ready(job.tensors.get(i));
              }
              reducer.await();
              step++;
            } catch (CollectiveException e) {
              RankFailedException failed = assertInstanceOf(RankFailedException.class, e);
              assertEquals(victim, failed.worldRank(), e.getMessage());
              group = group.shrink().group();
              reducer = reducer.on(group);
              long[] agreed = {reducer.completedSteps()};
              group.allReduce(agreed, ReduceOp.MIN);
              step = agreed[0];
              // The others may still have been at the end of the step before.
              assertTrue(step == after || step == after - 1, step + " steps are completed");
            }
          }
          assertEquals(3, group.size());
          int sum = IntStream.range(0, ranks).sum() - victim;
          for (int i = 0; i < TENSORS; i++) {
            assertEquals(sum + 3 * (i + steps - 1), job.gradients[i][COUNT - 1]);
          }
          group.barrier();
          reducer.close();
        });
  }
}
