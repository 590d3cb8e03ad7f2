package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.MismatchException;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.Survivors;
import io.collectives.UserOp;
import io.collectives.testkit.TestPayload.Memory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The contract of {@link UserOp}, whatever the transport. Extend this class with a method that
 * opens ranks. Inputs depend on a seed, which the system property {@code collectives.seed} changes.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
public abstract class UserOpContractTest extends JobTest {
  private static final int RANKS = 4;
  private static final int[] COUNTS = {1, 3, 130, 301};

  /** The leftmost that is not 0; of integers, affine maps one after another. Neither commutes. */
  private static final UserOp CHAIN =
      UserOp.inRankOrder("chain")
          .withFloats((left, right) -> left != 0 ? left : right)
          .withDoubles((left, right) -> left != 0 ? left : right)
          .withInts(
              (result, left, right, from, to) -> {
                for (int i = from; i < to; i++) {
                  result[i] = chain(left[i], right[i]);
                }
              })
          .withLongs(UserOpContractTest::chain);

  /** The larger magnitude. */
  private static final UserOp LARGEST =
      UserOp.commutative("largest")
          .withFloats(
              (result, left, right, from, to) -> {
                for (int i = from; i < to; i++) {
                  result[i] = Math.max(Math.abs(left[i]), Math.abs(right[i]));
                }
              })
          .withDoubles((left, right) -> Math.max(Math.abs(left), Math.abs(right)))
          .withInts((left, right) -> left | right)
          .withLongs((left, right) -> left | right);

  /** For subclasses. */
  protected UserOpContractTest() {}

  @Override
  protected abstract List<Communicator> open(int ranks, CallSettings calls) throws Exception;

  /** Combines two affine maps of 16-bit numbers, factor above; the left one is applied first. */
  private static int chain(int left, int right) {
    int factor = (left >> 16) * (right >> 16);
    int summand = (right >> 16) * (short) left + (short) right;
    return factor << 16 | summand & 0xffff;
  }

  /** Combines two affine maps of 32-bit numbers, factor above, in the same way. */
  private static long chain(long left, long right) {
    long factor = (left >> 32) * (right >> 32);
    long summand = (right >> 32) * (int) left + (int) right;
    return factor << 32 | summand & 0xffff_ffffL;
  }

  /** Many zeros, among which the leftmost number that is none is told. */
  private static long[] input(ElementType type, int rank, int count, long seed) {
    Random random = new Random(seed * RANKS + rank);
    long[] bits = new long[count];
    for (int i = 0; i < count; i++) {
      bits[i] =
          type.isInteger()
              ? Numbers.cut(type, random.nextLong())
              : type.bits(random.nextInt(3) == 0 ? random.nextGaussian() : 0);
    }
    return bits;
  }

  private static long combined(ElementType type, UserOp op, long left, long right) {
    return switch (type.arithmetic()) {
      case INT -> op == CHAIN ? chain((int) left, (int) right) : left | right;
      case LONG -> op == CHAIN ? chain(left, right) : left | right;
      case FLOAT, DOUBLE -> {
        double a = type.value(left);
        double b = type.value(right);
        double result = op == LARGEST ? Math.max(Math.abs(a), Math.abs(b)) : a != 0 ? a : b;
        yield type.bits(result);
      }
    };
  }

  static Stream<ElementType> types() {
    return Stream.of(ElementType.values()).filter(CHAIN::supports);
  }

  /** The op is taken in the order of ranks, or, if that does not matter, by any algorithm. */
  @ParameterizedTest
  @MethodSource("types")
  void reducesEveryType(ElementType type) throws Exception {
    List<Algorithm> inOrder = new ArrayList<>(Kit.algorithms(RANKS, true));
    inOrder.add(Algorithm.auto());
    List<Algorithm> all = new ArrayList<>(inOrder);
    all.addAll(Kit.algorithms(RANKS, false));
    RankThreads.run(
        job(RANKS, 256, 2),
        world -> {
          long seed = SEED;
          for (UserOp op : List.of(CHAIN, LARGEST)) {
            for (Algorithm algorithm : op == CHAIN ? inOrder : all) {
              seed++;
              int count = COUNTS[(int) (seed % COUNTS.length)];
              Communicator caller = world.using(algorithm);
              if (seed % 2 == 0 && inOrder.contains(algorithm)) {
                caller = caller.using(Repeatability.RANK_ORDER);
              }
              Memory kind = Memory.values()[(int) (seed + world.rank()) % Memory.PARTS.ordinal()];
              TestPayload source =
                  new TestPayload(type, kind == Memory.COMMUNICATOR ? Memory.PARTS : kind, count);
              source.fill(input(type, world.rank(), count, seed));
              source.allReduce(caller, op);
              long[] expected = input(type, 0, count, seed);
              for (int rank = 1; rank < RANKS; rank++) {
                long[] next = input(type, rank, count, seed);
                for (int i = 0; i < count; i++) {
                  expected[i] = combined(type, op, expected[i], next[i]);
                }
              }
              assertEquals(
                  Arrays.toString(expected),
                  Arrays.toString(source.bits()),
                  op + " by " + algorithm + ", seed " + seed);
              source.assertGuards();
            }
          }
        });
  }

  /** An exception of an op ends the call of all ranks, which can go on. */
  @ParameterizedTest
  @EnumSource(names = {"RANK_ORDER", "FASTEST"})
  void whatAnOpThrowsAbortsAll(Repeatability level) throws Exception {
    UserOp broken =
        UserOp.commutative("broken")
            .withFloats(
                (float left, float right) -> {
                  if (left == 1000) {
                    throw new IllegalStateException("planted");
                  }
                  return left + right;
                });
    RankThreads.run(
        job(RANKS, 256, 2),
        world -> {
          float[] values = new float[500];
          // The rank that takes this element first sees it on its left.
          Arrays.fill(values, 1000);
          Communicator caller = world.using(Algorithm.direct()).using(level);
          AbortedException error =
              assertThrows(AbortedException.class, () -> caller.allReduce(values, broken));
          assertTrue(Kit.message(error).contains("planted"), error.getMessage());
          Survivors all = world.shrink();
          assertEquals(List.of(), all.lost());
          int[] one = {1};
          all.group().allReduce(one, ReduceOp.SUM);
          assertEquals(RANKS, one[0]);
        });
  }

  /** A rank whose call is invalid sends nothing. */
  @Test
  void whatAnOpIsNotForIsRefused() throws Exception {
    UserOp floats = UserOp.commutative("floats").withFloats(Math::max);
    RankThreads.run(
        job(RANKS, 256, 2),
        world -> {
          String type =
              Kit.message(
                  assertThrows(
                      IllegalArgumentException.class, () -> world.allReduce(new int[3], floats)));
          assertTrue(type.contains("floats") && type.contains("withInts"), type);
          String order =
              Kit.message(
                  assertThrows(
                      IllegalArgumentException.class,
                      () -> world.using(Algorithm.ring()).allReduce(new int[3], CHAIN)));
          assertTrue(order.contains("ring") && order.contains("direct()"), order);
          float[] values = {world.rank()};
          world.using(Algorithm.ring()).allReduce(values, floats);
          assertEquals(RANKS - 1, values[0]);
        });
  }

  /** Ranks that use other ops hear of both names. */
  @Test
  void anotherOpIsNamedOnEveryRank() throws Exception {
    UserOp other = UserOp.commutative("smallest").withFloats(Math::min);
    RankThreads.run(
        job(RANKS, 256, 2),
        world -> {
          UserOp op = world.rank() == 1 ? other : LARGEST;
          String message =
              Kit.message(
                  assertThrows(MismatchException.class, () -> world.allReduce(new float[50], op)));
          assertTrue(message.contains("largest") && message.contains("smallest"), message);
        });
  }
}
