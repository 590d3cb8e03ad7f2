package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.HaloExchange;
import io.collectives.Mesh;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UnavailableException;
import io.collectives.testkit.RankThreads;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Ranks that are threads of one JVM, or one rank alone, do some things of their own. */
final class InProcessTest {
  @Test
  void threadsCannotGrow() {
    try (Communicator alone = Collectives.inProcess(1, CallSettings.defaults()).get(0)) {
      assertThrows(UnavailableException.class, alone::grow);
    }
  }

  /**
   * A rank alone does as several do: all that is not a number becomes the one NaN, and nothing else
   * changes.
   */
  @Test
  void oneRankAloneHasTheExactSumToo() throws Exception {
    Communicator world = Collectives.inProcess(1, CallSettings.defaults()).get(0);
    try (world) {
      Communicator exact = world.using(Repeatability.EXACT);
      for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE)) {
        for (int count : new int[] {1, 7, 3000}) {
          float[] floats = new float[count];
          for (int i = 0; i < count; i++) {
            floats[i] = i % 3 == 0 ? Float.intBitsToFloat(0xffc0_1234) : i - 0.5f;
          }
          float[] out = new float[count];
          exact.allReduce(Payload.of(floats), Payload.of(out), op);
          exact.allReduce(floats, op);
          double[] doubles = new double[count];
          Arrays.fill(doubles, Double.longBitsToDouble(0x7ff8_0000_0000_0777L));
          exact.reduce(Payload.of(doubles), Payload.of(doubles), op, 0);
          short[] shorts = new short[count];
          Arrays.fill(shorts, (short) 0xffc3);
          short[] part = new short[count];
          Payload narrow = Payload.of(shorts, ElementType.BFLOAT16);
          exact.reduceScatter(narrow, Payload.of(part, ElementType.BFLOAT16), op);
          for (int i = 0; i < count; i++) {
            int expected = Float.floatToRawIntBits(i % 3 == 0 ? Float.NaN : i - 0.5f);
            assertEquals(expected, Float.floatToRawIntBits(out[i]));
            assertEquals(expected, Float.floatToRawIntBits(floats[i]));
            assertEquals(
                Double.doubleToRawLongBits(Double.NaN), Double.doubleToRawLongBits(doubles[i]));
            assertEquals((short) 0x7fc0, part[i]);
          }
        }
      }
      float[] same = {-0.0f, Float.NEGATIVE_INFINITY, Float.MIN_VALUE, Float.MAX_VALUE};
      float[] before = same.clone();
      exact.allReduce(same, ReduceOp.SUM);
      assertTrue(Arrays.equals(before, same));
      int[] integers = {-7};
      exact.allReduce(integers, ReduceOp.SUM);
      assertEquals(-7, integers[0]);
    }
  }

  /** A thread of a container may have a loader that does not see the library. */
  @Test
  void modulesAreFoundByTheLoaderOfTheLibrary() throws Exception {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
    try (Communicator alone = Collectives.inProcess(1).get(0)) {
      assertEquals(2, alone.allReduce(2L, ReduceOp.SUM));
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  /** Nor does it matter who adds the one contribution up. */
  @Test
  void oneWorkerWithAServerHasTheExactSumToo() throws Exception {
    CallSettings served =
        CallSettings.defaults()
            .withAlgorithm(Algorithm.parameterServer(1, 1))
            .withRepeatability(Repeatability.EXACT);
    RankThreads.run(
        Collectives.inProcess(2, served),
        world -> {
          for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE)) {
            float[] values = {Float.intBitsToFloat(0x7fa0_1234), -0.0f, 3.5f};
            world.allReduce(values, op);
            if (world.rank() == 0) {
              assertEquals(0x7fc0_0000, Float.floatToRawIntBits(values[0]));
              assertEquals(0x8000_0000, Float.floatToRawIntBits(values[1]));
              assertEquals(3.5f, values[2]);
            }
          }
        });
  }

  /** A payload that does not fit a number is the caller's error, in words. */
  @Test
  void whatOverflowsIsRefused() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(2, CallSettings.defaults());
    try {
      Communicator world = worlds.get(0);
      Payload some = Payload.of(new float[4]);
      long[] huge = {Long.MAX_VALUE, 1};
      assertRefused("2^63", () -> world.allGather(some, some, huge));
      assertRefused("2^63", () -> world.scatter(some, some, huge, 0));
      assertRefused("2^63", () -> world.allToAll(some, huge, some, huge));
      assertRefused("2^31", () -> Mesh.torus(1 << 20, 1 << 20));
      int most = Integer.MAX_VALUE;
      HaloExchange.Grid grid = HaloExchange.on(world, new int[] {1, 1, 2});
      assertRefused("which has more", () -> grid.tile(some, new int[] {most, most, most}, 0));
      assertRefused(
          "for 2 ranks", () -> HaloExchange.on(world, new int[] {1 << 30, 1 << 30, 1 << 30}));
      assertFalse(worlds.get(1).async().barrier().await(Duration.ZERO));
      assertTrue(world.async().barrier().await(Duration.ofSeconds(Long.MAX_VALUE)));
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  private static void assertRefused(String fact, Runnable call) {
    String message = assertThrows(IllegalArgumentException.class, call::run).getMessage();
    assertTrue(message.contains(fact), message);
  }
}
